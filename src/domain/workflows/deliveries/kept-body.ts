import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** Smaller ones are left to PostgreSQL's LZ4: to set zstd up takes longer than its work on them. */
const least = 16 * 1024;
const params = { [constants.ZSTD_c_compressionLevel]: 1 };

/**
 * A body as its row keeps it: a zstd frame (RFC 8878) when that is shorter, else the bytes themselves, so the size of the body tells which it
 * is. Of what LZ4 leaves of a large JSON text it leaves half.
 */
export function packBody(body: Uint8Array): Uint8Array {
  const size = body.length;
  if (size < least) return body;
  const frame = zstdCompressSync(body, { params, pledgedSrcSize: size });
  return frame.length < size ? frame : body;
}

/** The body a row keeps. @param size of the body, bytes @throws Error when it is broken */
export function unpackBody(kept: Uint8Array, size: number): Buffer {
  if (kept.length === size) return Buffer.from(kept);
  const body = zstdDecompressSync(kept, { maxOutputLength: size });
  if (body.length !== size) throw new Error('a delivery holds another number of bytes than it should');
  return body;
}
