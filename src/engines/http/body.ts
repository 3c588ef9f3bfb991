import type { Readable } from 'node:stream';
import { asHttpFailure, httpFailure } from './failures.ts';

export interface BodyOptions {
  host: string;
  maxBytes: number;
  /** Signal of the whole call; its reason is what the reader gets once it is aborted. */
  signal: AbortSignal;
  /** Called once, when the body has ended in whatever way. */
  done: () => void;
}

/** The body of a response under its caps: at most `maxBytes`, ended by the call's signal, errors in the port's terms. */
export async function* readBody(
  stream: Readable,
  { host, maxBytes, signal, done }: BodyOptions,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  try {
    for await (const chunk of stream) {
      const bytes = chunk as Buffer;
      size += bytes.length;
      if (size > maxBytes) throw httpFailure('body_too_large', `${host}: the answer is larger than ${maxBytes} bytes`);
      yield bytes;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw asHttpFailure(error, host, true);
  } finally {
    stream.destroy();
    done();
  }
}

/** All chunks as one array. */
export async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}
