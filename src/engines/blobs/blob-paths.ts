import path from 'node:path';
import type { BlobEncoding, Sha256 } from '../../domain/ports/blobs.ts';

const suffixes: Record<BlobEncoding, string> = { br: '.br', gzip: '.gz' };

export const encodings = Object.keys(suffixes) as BlobEncoding[];

/** Where the files of a store lie: `<root>/<2 hex>/<62 hex>`, its codings beside it, what is on its way in or out in folders of its own. */
export interface BlobPaths {
  of(sha256: Sha256, encoding?: BlobEncoding): string;
  /** Files that are being written; nothing in here is a blob yet. */
  incoming: string;
  /** Files that a sweep has taken aside and not yet decided on, named by their whole hash. */
  leaving: string;
}

/** @throws Error when the name is not a hash: it must never become part of a path. */
function checked(sha256: Sha256): Sha256 {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Error('a blob is named by 64 hexadecimal digits');
  return sha256;
}

export function blobPaths(root: string): BlobPaths {
  return {
    of(sha256, encoding) {
      const name = checked(sha256);
      return path.join(root, name.slice(0, 2), name.slice(2) + (encoding ? suffixes[encoding] : ''));
    },
    incoming: path.join(root, 'incoming'),
    leaving: path.join(root, 'leaving'),
  };
}
