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
/** How long a client that holds more than its share may take to read while another waits for room, milliseconds. */
const grace = 5_000;

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
  /** Whether all of it was written. */
  readonly writableEnded: boolean;
  /** Whether so much of it was written that more is to wait. */
  readonly writableNeedDrain: boolean;
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

/** What an answer holds until its client has read it. */
interface Kept {
  caller: string;
  bytes: number;
  giveBack(): void;
}

/**
 * Memory that large answers hold until their clients have read them. Answers take their room before they are read; callers alternate. A caller
 * that never reads takes nothing but its own share: half of all as long as no other waits, and what all have alike when another does.
 */
export class AnswerMemory {
  readonly #most: Required<Options>;
  readonly #held = new Tally();
  /** What single answers hold, the oldest first. */
  readonly #kept = new Map<Sent, Kept>();
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

  /**
   * Counts the answer of a command, beyond what was taken for it: what was done is answered in any case. Where there is no room for it, answers that
   * are unread are ended: first of this caller, then of the callers that hold most.
   */
  addOfCommand(caller: string, size: number, response: Sent): void {
    const bytes = size - this.#takenBy(response);
    if (bytes <= small) return;
    const { all, caller: share } = this.#most;
    const others = this.#unread().filter((sent) => sent !== response);
    const own = others.filter((sent) => this.#kept.get(sent)?.caller === caller);
    this.#end(this.#largest(own, this.#held.of(caller) + bytes - share));
    this.#end(this.#largest(others, this.#held.all + bytes - all));
    this.#held.add(bytes, caller);
    this.#keep(caller, bytes, response);
  }

  #takenBy(response: Sent): number {
    return this.#kept.get(response)?.bytes ?? 0;
  }

  #keep(caller: string, bytes: number, response: Sent): void {
    const known = this.#kept.get(response);
    const kept = known ?? {
      ...{ caller, bytes: 0 },
      giveBack: () => {
        this.#kept.delete(response);
        this.#held.add(-kept.bytes, caller);
        kept.bytes = 0;
        this.#admit();
      },
    };
    kept.bytes += bytes;
    if (response.closed) return void kept.giveBack();
    if (known) return;
    this.#kept.set(response, kept);
    response.once('close', kept.giveBack);
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
    const unread = this.#unread();
    let timer: NodeJS.Timeout | undefined;
    const early = setTimeout(() => this.#makeRoom(caller, bytes, unread), grace);
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
      clearTimeout(early);
      clearTimeout(timer);
      response.off('close', onClose);
    }
  }

  /** What only clients keep from going on, the oldest first. */
  #unread(): Sent[] {
    return [...this.#kept.keys()].filter((sent) => sent.writableEnded || sent.writableNeedDrain);
  }

  /**
   * Ends answers that have been unread since one began to wait, until there is room for it: those of other callers that hold more than all have
   * alike. Nothing is ended for an answer that goes beyond that share itself, unless its caller holds nothing.
   */
  #makeRoom(caller: string, bytes: number, since: readonly Sent[]): void {
    const share = this.#most.all / new Set([...this.#kept.values()].map((kept) => kept.caller)).add(caller).size;
    const own = this.#held.of(caller);
    if (!this.#fitsShare(caller, bytes) || (own > 0 && own + bytes > share)) return;
    const others = this.#unread().filter((sent) => since.includes(sent) && this.#kept.get(sent)?.caller !== caller);
    this.#end(this.#largest(others, this.#held.all + bytes - this.#most.all, share));
  }

  /** Some of the answers, with so many bytes as are missing: those of the caller that holds most first, and of none that holds no more than a share. */
  #largest(answers: readonly Sent[], missing: number, share = 0): Sent[] {
    const callers = [...Map.groupBy(answers, (sent) => this.#kept.get(sent)?.caller ?? '')]
      .map(([caller, sent]) => ({ held: this.#held.of(caller), sent }))
      .sort((a, b) => b.held - a.held);
    const found: Sent[] = [];
    let left = missing;
    for (let { held, sent } of callers) {
      for (const one of sent) {
        if (left <= 0 || held <= share) break;
        const bytes = this.#takenBy(one);
        held -= bytes;
        left -= bytes;
        found.push(one);
      }
    }
    return found;
  }

  #end(answers: readonly Sent[]): void {
    for (const sent of answers) {
      this.#kept.get(sent)?.giveBack();
      sent.destroy();
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
