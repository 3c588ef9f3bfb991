import { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';

export type BodyCoding = 'gzip' | 'deflate' | 'br';

/** The content coding of a body (RFC 9110 8.4): null for none; undefined for one, or several, that are not understood. */
export function codingOf(header: string | undefined): BodyCoding | null | undefined {
  const name = header?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return null;
  if (name === 'x-gzip') return 'gzip';
  return name === 'gzip' || name === 'deflate' || name === 'br' ? name : undefined;
}

/** `deflate` is zlib's format (RFC 9110 8.4.1.2), and some senders leave its two bytes out. */
const hasZlibHead = (first: number, second: number) => (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;

function decoderOf(coding: BodyCoding, first: Uint8Array) {
  if (coding === 'gzip') return createGunzip();
  if (coding === 'br') return createBrotliDecompress();
  return first.length === 0 || hasZlibHead(first[0] ?? 0, first[1] ?? 0) ? createInflate() : createInflateRaw();
}

/** What a coded body holds; `head` is its beginning, `take` gets each piece. @returns whether it was whole, corrupt, or more than `limit` bytes */
export async function inflate(
  { head, chunks }: { head: Uint8Array; chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array> },
  coding: BodyCoding,
  limit: number,
  take: (chunk: Uint8Array) => void = () => {},
): Promise<'whole' | 'corrupt' | 'too_large'> {
  const decoder = decoderOf(coding, head);
  const source = Readable.from(chunks, { objectMode: false });
  source.pipe(decoder);
  let size = 0;
  try {
    for await (const chunk of decoder) {
      size += (chunk as Buffer).length;
      if (size > limit) return 'too_large';
      take(chunk as Buffer);
    }
    return 'whole';
  } catch (error) {
    if (String((error as NodeJS.ErrnoException).code).match(/^(?:Z_|ERR_|ERR__)/)) return 'corrupt';
    throw error;
  } finally {
    source.destroy();
    decoder.destroy();
  }
}
