import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Sha256 } from '../../../ports/blobs.ts';

/**
 * Blobs that hold bodies of deliveries.
 * @param prefix first digits of their names, at least one; hexadecimal, lower-case
 */
export async function deliveryBlobs(em: EntityManager, prefix: string): Promise<Set<Sha256>> {
  // Every hexadecimal digit sorts before `g`.
  const sql = 'select body_sha256 as sha256 from delivery where body_sha256 >= ? and body_sha256 < ?';
  const rows = await em.execute<{ sha256: Sha256 }[]>(sql, [prefix, `${prefix}g`]);
  return new Set(rows.map(({ sha256 }) => sha256));
}

/** Below so many bytes PostgreSQL would not compress a value either. */
const least = 2 * 1024;
/** A small table, which stays in the processor's cache: it is filled anew for each body. */
const params = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_hashLog]: 12 };

/**
 * A body as its row keeps it: a zstd frame (RFC 8878) when that is shorter, else the bytes themselves, so the size of the body shows which it
 * is. PostgreSQL's own compression takes twice as long for half as much.
 */
export function packBody(body: Uint8Array): Uint8Array {
  const size = body.length;
  if (size < least) return body;
  // What a frame is written to is thrown away with it; at its usual size that alone keeps the collector of garbage busy.
  const frame = zstdCompressSync(body, { params, pledgedSrcSize: size, chunkSize: size });
  return frame.length < size ? frame : body;
}

/** The body a row keeps. @param size of the body, bytes @throws Error when it is broken */
export function unpackBody(kept: Uint8Array, size: number): Buffer {
  if (kept.length === size) return Buffer.from(kept);
  const body = zstdDecompressSync(kept, { maxOutputLength: size });
  if (body.length !== size) throw new Error('a delivery holds another number of bytes than it should');
  return body;
}
