import type { BlobStore } from '../../../ports/blobs.ts';
import type { RawBody } from './read-body.ts';

/** Bodies up to so many bytes are in the delivery's row. */
export const inRow = 64 * 1024;

/** Larger ones are on the disk before a row names them. */
export async function keepLarge(blobs: Pick<BlobStore, 'put'>, { chunks, size, sha256 }: RawBody): Promise<void> {
  if (size <= inRow) return;
  const pieces = (async function* () {
    yield* chunks;
  })();
  const kept = await blobs.put(pieces);
  if (kept.sha256 !== sha256) throw new Error('a body changed on its way to the disk');
}
