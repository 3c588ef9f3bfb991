import { createHash, hash } from 'node:crypto';
import type { Sha256 } from '../../ports/blobs.ts';

interface Measured {
  sha256: Sha256;
  /** Bytes. */
  size: number;
}

/** Hashes a stream, handing each chunk on as it passes. */
export async function measureStream(
  content: AsyncIterable<Uint8Array>,
  pass?: (chunk: Uint8Array) => Promise<unknown>,
): Promise<Measured> {
  const running = createHash('sha256');
  let size = 0;
  for await (const chunk of content) {
    running.update(chunk);
    size += chunk.length;
    await pass?.(chunk);
  }
  return { sha256: running.digest('hex'), size };
}

export const measure = (content: Uint8Array): Measured => ({
  sha256: hash('sha256', content, 'hex'),
  size: content.length,
});
