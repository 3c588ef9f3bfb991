import { promisify } from 'node:util';
import {
  brotliDecompress,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  gunzip,
  inflate,
  inflateRaw,
  zstdDecompress,
} from 'node:zlib';
import { crawlFault } from './faults.ts';

/** Content codings that are accepted and decoded (RFC 9110 section 8.4.1, RFC 7932, RFC 8878). */
export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd';

export const acceptEncoding = 'gzip, br, zstd, deflate';

const names: Record<string, Coding> = { gzip: 'gzip', 'x-gzip': 'gzip', deflate: 'deflate', br: 'br', zstd: 'zstd' };
/** No serious server applies three codings. */
const mostCodings = 2;

/** Windows of up to 8 MiB (RFC 9659): a larger one is a claim on our memory. */
const zstdOptions = { params: { [constants.ZSTD_d_windowLogMax]: 23 } };

/**
 * The codings of a body in the order in which they are undone.
 * @throws DomainError (`decode`) for one that was not accepted
 */
export function codingsOf(header: string | string[] | undefined): Coding[] {
  const listed = (Array.isArray(header) ? header.join(',') : (header ?? ''))
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');
  const codings = listed.map((name) => (Object.hasOwn(names, name) ? names[name] : undefined));
  const known = codings.filter((coding) => coding !== undefined);
  if (known.length < codings.length || known.length > mostCodings) {
    throw crawlFault('decode', `Content-Encoding "${listed.join(', ').slice(0, 100)}" is not supported`);
  }
  return known.reverse();
}

/** `deflate` is the zlib format, and from some servers the bare one: only the former's first two bytes divide by 31 (RFC 1950). */
const isZlib = (first: Uint8Array): boolean =>
  first.length >= 2 && ((first[0] ?? 0) & 0x0f) === 8 && (((first[0] ?? 0) << 8) | (first[1] ?? 0)) % 31 === 0;

/** A stream that undoes one coding; `first` are the body's first bytes. */
export function decoderOf(coding: Coding, first: Uint8Array) {
  if (coding === 'br') return createBrotliDecompress();
  if (coding === 'zstd') return createZstdDecompress(zstdOptions);
  if (coding === 'gzip') return createGunzip();
  return isZlib(first) ? createInflate() : createInflateRaw();
}

/** Undoes one coding of a whole body off the main thread. @throws RangeError ERR_BUFFER_TOO_LARGE beyond `most` bytes */
export function decodeOne(coding: Coding, body: Buffer, most: number): Promise<Buffer> {
  const options = { maxOutputLength: most };
  if (coding === 'br') return promisify(brotliDecompress)(body, options);
  if (coding === 'zstd') return promisify(zstdDecompress)(body, { ...options, ...zstdOptions });
  if (coding === 'gzip') return promisify(gunzip)(body, options);
  return isZlib(body) ? promisify(inflate)(body, options) : promisify(inflateRaw)(body, options);
}

const beginnings: Record<Coding, (first: Uint8Array) => boolean> = {
  gzip: (first) => first[0] === 0x1f && first[1] === 0x8b,
  zstd: (first) => first.length >= 4 && (first[0] ?? 0) >> 4 <= 5 && first[1] === 0xb5 && first[2] === 0x2f,
  // Brotli has no mark, and bare deflate neither.
  br: () => false,
  deflate: isZlib,
};

/** Classifies a decoder's error: a body that never had the declared coding (`decode`), or one that was damaged or cut in transit. */
export function decodeFault(error: unknown, coding: Coding, first: Uint8Array): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (!/^(Z_|ERR_|BROTLI|ZSTD)/i.test(code)) return error;
  const wasCut = code === 'Z_BUF_ERROR';
  if (!wasCut && !beginnings[coding](first))
    return crawlFault('decode', `the body is not ${coding}, though its Content-Encoding says so`, error);
  return crawlFault('body_truncated', `the ${coding} body is ${wasCut ? 'cut short' : 'damaged'}`, error);
}
