import type { BlobStore } from '../../domain/ports/blobs.ts';

export interface StoredBody {
  /** Null when it was not to be kept. */
  kept: { sha256: string; size: number } | null;
  /** The beginning of the body, up to the cap. */
  bytes: Buffer;
  /** There was more. */
  isCut: boolean;
}

/**
 * Stores a decoded body and keeps its beginning. A body that is only read is not fetched beyond that.
 * @param blobs null when nothing is to be stored
 * @throws what the body throws; DomainError `unavailable` when the disk is full. Nothing is left then
 */
export async function storeBody(
  content: Buffer | AsyncIterable<Buffer>,
  blobs: BlobStore | null,
  most: number,
): Promise<StoredBody> {
  if (Buffer.isBuffer(content)) {
    const kept = blobs && (await blobs.put(content));
    return { kept: kept && named(kept), bytes: content.subarray(0, most), isCut: content.length > most };
  }
  const beginning: Buffer[] = [];
  let size = 0;
  const tapped = async function* () {
    for await (const chunk of content) {
      if (size < most) beginning.push(chunk.subarray(0, most - size));
      size += chunk.length;
      yield chunk;
    }
  };
  const kept = blobs && (await blobs.put(tapped()));
  if (blobs === null) for await (const _chunk of tapped()) if (size > most) break;
  return { kept: kept && named(kept), bytes: Buffer.concat(beginning), isCut: size > most };
}

const named = ({ sha256, size }: { sha256: string; size: number }) => ({ sha256, size });
