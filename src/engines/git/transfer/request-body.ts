import { PassThrough, Readable } from 'node:stream';
import { DomainError } from '../../../kernel/errors.ts';
import type { GitServeRequest } from '../../../ports/git-transfer.ts';
import type { Spools } from '../../../ports/spool.ts';

interface BodyBounds {
  /** Most bytes, unpacked. */
  size: number;
  /** Milliseconds within which all of it must have come, however much comes in between; null: as long as it takes. */
  time: number | null;
  /** Milliseconds without a byte after which the client counts as gone. */
  silence: number;
}

const mebibyte = 1024 * 1024;

/**
 * Runs the job once all of a request's body is on the disk: a client that sends slowly, or stops, takes nothing but that space. What comes
 * of a body that is refused is read and dropped: to close the connection would cut off the answer.
 *
 * @param job may read the body from its beginning as often as it opens it; gets its first 64 KiB or all of a shorter one
 * @throws DomainError `too_large`; `request_timeout` when the client fell silent, took too long or went away; the signal's reason
 */
export async function withBody<T>(
  spools: Spools,
  { input, signal }: Pick<GitServeRequest, 'input' | 'signal'>,
  { size, time, silence }: BodyBounds,
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
  const bounded = async function* () {
    let received = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      watchdog.refresh();
      received += chunk.length;
      if (received > size)
        throw new DomainError('too_large', `The request is larger than ${Math.floor(size / mebibyte)} MiB`);
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
    await spool.close();
  }
}
