import { FairQueue, Tally } from '../lib/fair-queue.ts';
import { DomainError } from './errors.ts';

const mebibyte = 1024 * 1024;
/** Answers of so many bytes are not counted. */
const small = 256 * 1024;
/** Bytes of all answers together, and of the answers to one caller: none is longer. */
const allAnswers = 256 * mebibyte;
export const longestAnswer = allAnswers / 2;
/** How long a client may leave a large answer unread, milliseconds. */
const unread = 60_000;

interface Options {
  /** Bytes of all answers together; default 256 MiB. */
  all?: number;
  /** Bytes of the answers to one caller; default half of all. */
  caller?: number;
  /** How long an answer waits for room, milliseconds. */
  patience?: number;
}

const noRoom = () =>
  new DomainError('unavailable', 'Too much is being sent at the moment; read what was requested first');

/** The refusal of an answer that would be longer than so many bytes. */
export const tooLong = (most: number) =>
  new DomainError('too_large', `One answer has at most ${most} bytes; request less, or a shorter page`);

/** An answer on its way to a client: a response of Node. */
interface Sent {
  readonly closed: boolean;
  once(event: 'close', listener: () => void): unknown;
  off(event: 'close', listener: () => void): unknown;
  /** Calls back when the connection has moved no byte for so long. */
  setTimeout(milliseconds: number, callback: () => void): unknown;
  destroy(): unknown;
}

/** Who reads an answer: the caller, or without one the address. */
export const ownerOf = (actor: { id: string } | null, { ip }: { ip?: string | undefined }): string =>
  actor?.id ?? ip ?? '';

interface Waiting {
  caller: string;
  bytes: number;
  begin(): void;
}

/**
 * Memory that large answers hold until their clients have read them: one that never reads takes nothing but its own share, of which what it
 * requests further waits for. Answers take their room before they are read; callers alternate.
 */
export class AnswerMemory {
  readonly #most: Required<Options>;
  readonly #held = new Tally();
  /** What single answers hold. */
  readonly #kept = new WeakMap<Sent, { bytes: number }>();
  readonly #waiting = new FairQueue<Waiting>();

  constructor({ all = allAnswers, caller = all / 2, patience = 30_000 }: Options = {}) {
    this.#most = { all, caller, patience };
  }

  /**
   * Takes room for an answer, or for more of it, as soon as there is some. It is given back when the connection has taken the answer, or is closed.
   * @throws DomainError `unavailable` when room is missing for long, or the client is gone; `too_large` when several parts have become more than the
   * share of a caller: it would wait for its own room
   */
  async take(caller: string, size: number, response: Sent): Promise<void> {
    if (size <= small) return;
    const taken = this.#takenBy(response);
    if (taken > 0 && taken + size > this.#most.caller) throw tooLong(this.#most.caller);
    const bytes = Math.min(size, this.#most.caller);
    const isNext = this.#waiting.sizeOf(caller) === 0;
    if (isNext && this.#fits(caller, bytes)) this.#held.add(bytes, caller);
    else await this.#wait(caller, bytes, response);
    this.#keep(caller, bytes, response);
  }

  /**
   * Counts an answer that is in memory already, beyond what was taken for it. Room is taken by estimates; this is the size itself, so what is
   * larger than the share of a caller does not pass as that.
   * @throws DomainError `too_large`, or `unavailable` where there is no room for it: it is to be dropped
   */
  add(caller: string, size: number, response: Sent): void {
    if (size > this.#most.caller) throw tooLong(this.#most.caller);
    const taken = this.#takenBy(response);
    if (size - taken <= small) return;
    const bytes = size - taken;
    if (!this.#fits(caller, bytes)) throw noRoom();
    this.#held.add(bytes, caller);
    this.#keep(caller, bytes, response);
  }

  #takenBy(response: Sent): number {
    return this.#kept.get(response)?.bytes ?? 0;
  }

  #keep(caller: string, bytes: number, response: Sent): void {
    const known = this.#kept.get(response);
    const kept = known ?? { bytes: 0 };
    kept.bytes += bytes;
    const giveBack = () => {
      this.#held.add(-kept.bytes, caller);
      kept.bytes = 0;
      this.#admit();
    };
    if (response.closed) return void giveBack();
    if (known) return;
    this.#kept.set(response, kept);
    response.once('close', giveBack);
    response.setTimeout(unread, () => response.destroy());
  }

  #fits(caller: string, bytes: number): boolean {
    return this.#held.all + bytes <= this.#most.all && this.#fitsShare(caller, bytes);
  }

  #fitsShare(caller: string, bytes: number): boolean {
    return this.#held.of(caller) + bytes <= this.#most.caller;
  }

  async #wait(caller: string, bytes: number, response: Sent): Promise<void> {
    if (response.closed) throw noRoom();
    let timer: NodeJS.Timeout | undefined;
    let onClose = () => {};
    try {
      await new Promise<void>((resolve, reject) => {
        const waiting = { caller, bytes, begin: resolve };
        const leave = () => {
          this.#waiting.delete(waiting);
          reject(noRoom());
          this.#admit();
        };
        onClose = leave;
        response.once('close', leave);
        timer = setTimeout(leave, this.#most.patience);
        this.#waiting.add(caller, waiting);
      });
    } finally {
      clearTimeout(timer);
      response.off('close', onClose);
    }
  }

  /** Lets in what there is room for: none before another of its caller, nor past one that waits for others to read. */
  #admit(): void {
    let isBlocked = false;
    const mayBegin = ({ caller, bytes }: Waiting) => {
      if (isBlocked) return false;
      const fits = this.#fits(caller, bytes);
      isBlocked = !fits && this.#fitsShare(caller, bytes);
      return fits;
    };
    for (const next of this.#waiting.takeAll(mayBegin)) {
      this.#held.add(next.bytes, next.caller);
      next.begin();
    }
  }
}

/** Of all protocols of this process together. */
export const answerMemory = new AnswerMemory();
