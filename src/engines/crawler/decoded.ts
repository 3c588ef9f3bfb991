import { pipeline, Readable } from 'node:stream';
import { type Coding, decodeFault, decodeOne, decoderOf } from './codings.ts';
import { crawlFault } from './faults.ts';
import { decodedAllowance, type Tally } from './receive.ts';

/** A small body decodes at once up to this size, beyond it piece by piece; bytes. */
const atOnce = 4 * 1024 * 1024;

interface Caps {
  /** Most decoded bytes. */
  most: number;
  /** What has come over the wire so far. */
  tally: Tally;
}

const tooLarge = (most: number): Error => crawlFault('body_too_large', `the body is larger than ${most} bytes`);

/** Checks the sizes of a decoded body against its caps. */
function checkSize(size: number, { most, tally }: Caps): void {
  if (size > most) throw tooLarge(most);
  if (size > decodedAllowance(tally.wire)) {
    throw crawlFault('body_too_large', `the body decodes to more than a hundred times of the ${tally.wire} bytes sent`);
  }
}

/** The decoded body: in memory when it came so and stays small, else as a stream under the same caps. */
export async function decoded(
  body: Buffer | Readable,
  codings: readonly Coding[],
  caps: Caps,
): Promise<Buffer | AsyncIterable<Buffer>> {
  if (!Buffer.isBuffer(body)) return flowing(body, codings, caps);
  // Some servers label the empty body of an error, too.
  if (body.length === 0) return body;
  let bytes = body;
  for (const coding of codings) {
    try {
      bytes = await decodeOne(coding, bytes, atOnce);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
        return flowing(Readable.from([body]), codings, caps);
      throw decodeFault(error, coding, bytes.subarray(0, 4));
    }
  }
  checkSize(bytes.length, caps);
  return bytes;
}

async function* flowing(body: Readable, codings: readonly Coding[], caps: Caps): AsyncGenerator<Buffer> {
  let stream: AsyncIterable<Buffer> = body;
  for (const coding of codings) stream = undone(stream, coding);
  let size = 0;
  try {
    for await (const chunk of stream) {
      size += chunk.length;
      checkSize(size, caps);
      yield chunk;
    }
  } finally {
    body.destroy();
  }
}

/** Undoes one coding of a flowing body. */
async function* undone(source: AsyncIterable<Buffer>, coding: Coding): AsyncGenerator<Buffer> {
  const chunks = source[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done) return;
  const rest = { [Symbol.asyncIterator]: () => chunks };
  let fault: unknown;
  async function* whole() {
    try {
      yield first.value;
      yield* rest;
    } catch (error) {
      fault = error;
      throw error;
    }
  }
  const decoder = decoderOf(coding, first.value);
  pipeline(Readable.from(whole(), { objectMode: false }), decoder, () => {});
  try {
    yield* decoder as AsyncIterable<Buffer>;
  } catch (error) {
    throw fault ?? decodeFault(error, coding, first.value.subarray(0, 4));
  } finally {
    decoder.destroy();
  }
}
