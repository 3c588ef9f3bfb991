import { PassThrough, Readable } from 'node:stream';
import { DomainError } from '../../../kernel/errors.ts';
import { Tally } from '../../../lib/fair-queue.ts';
import type { GitServeRequest } from '../../../ports/git-transfer.ts';
import type { Spools } from '../../../ports/spool.ts';

interface BodyBounds {
  /** Most bytes, unpacked. */
  size: number;
  /** Milliseconds within which all of it must have come, however much comes in between; null: as long as it takes. */
  time: number | null;
  /** Milliseconds without a byte after which the client counts as gone. */
  silence: number;
  /** Where large bodies of all clients are counted. */
  room: BodyRoom;
}

const mebibyte = 1024 * 1024;
/** So much of each body is not counted, bytes: usual requests come in, however much large ones hold. Room is taken in steps of the same size. */
const step = 16 * mebibyte;
/** What large bodies leave free of the disk, which they share with repositories and mostly with the database; bytes. */
const reserve = 1024 * mebibyte;

/**
 * Disk that large bodies hold until git has read them. A compressed one takes a thousand times what its client sends, and may take its time. One
 * client has half of all, so that others get through.
 */
export class BodyRoom {
  readonly #all: number;
  readonly #free: () => Promise<number>;
  readonly #held = new Tally();

  /**
   * @param all bytes of all bodies together
   * @param free how many bytes the disk has left
   */
  constructor(all: number, free: () => Promise<number>) {
    this.#all = all;
    this.#free = free;
  }

  /** @throws DomainError `unavailable` when others hold too much, `storage_full` when the disk has too little; nothing is taken then */
  async take(client: string, bytes: number): Promise<void> {
    if (this.#held.all + bytes > this.#all || this.#held.of(client) + bytes > this.#all / 2)
      throw new DomainError(
        'unavailable',
        'Too much is on its way here at the moment; push again later, or fewer commits at a time',
      );
    this.#held.add(bytes, client);
    const isNearlyFull = await this.#free().then(
      (free) => free < reserve,
      () => false,
    );
    if (!isNearlyFull) return;
    this.giveBack(client, bytes);
    throw new DomainError(
      'storage_full',
      `The disk of the server is nearly full: requests of more than ${step / mebibyte} MiB are not taken in; try again later`,
    );
  }

  giveBack(client: string, bytes: number): void {
    this.#held.add(-bytes, client);
  }
}

/**
 * Runs the job once all of a request's body is on the disk: a client that sends slowly, or stops, takes nothing but that space. What comes
 * of a body that is refused is read and dropped: to close the connection would cut off the answer.
 *
 * @param job may read the body from its beginning as often as it opens it; gets its first 64 KiB or all of a shorter one
 * @throws DomainError `too_large`; `unavailable` or `storage_full` when there is no room; `request_timeout` when the client fell silent, took too
 *   long or went away; the signal's reason
 */
export async function withBody<T>(
  spools: Spools,
  { input, signal, client }: Pick<GitServeRequest, 'input' | 'signal' | 'client'>,
  { size, time, silence, room }: BodyBounds,
  job: (open: () => Readable, beginning: Buffer) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  // Stopped before it is read, it has no other listener yet.
  const body = new PassThrough().on('error', () => {});
  const stop = (reason: unknown) => body.destroy(reason instanceof Error ? reason : new Error(String(reason)));
  const late = (message: string) => () => stop(new DomainError('request_timeout', message));
  const onAbort = () => stop(signal.reason);
  const onClose = () => {
    if (!input.readableEnded) stop(new DomainError('request_timeout', 'The client went away'));
  };
  const watchdog = setTimeout(late('The connection was silent for too long'), silence);
  const deadline = time === null ? undefined : setTimeout(late('The request took too long to arrive'), time);
  const spool = spools.open();
  let beginning = Buffer.alloc(0);
  let taken = 0;
  const bounded = async function* () {
    let received = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      watchdog.refresh();
      received += chunk.length;
      if (received > size)
        throw new DomainError('too_large', `The request is larger than ${Math.floor(size / mebibyte)} MiB`);
      for (; received > step + taken; taken += step) await room.take(client, step);
      if (beginning.length < 65_536) beginning = Buffer.concat([beginning, chunk]).subarray(0, 65_536);
      yield chunk;
    }
  };
  try {
    signal.addEventListener('abort', onAbort, { once: true });
    input.on('error', stop);
    input.on('close', onClose);
    if (input.closed) onClose();
    input.pipe(body);
    try {
      const spooled = await spool.add(bounded(), Number.POSITIVE_INFINITY);
      clearTimeout(watchdog);
      clearTimeout(deadline);
      return await job(() => Readable.from(spooled.read(), { objectMode: false }), beginning);
    } finally {
      clearTimeout(watchdog);
      clearTimeout(deadline);
      signal.removeEventListener('abort', onAbort);
      input.off('close', onClose);
      input.unpipe(body);
      input.resume();
    }
  } finally {
    await spool.close().finally(() => room.giveBack(client, taken));
  }
}
