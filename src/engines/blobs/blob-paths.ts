import path from 'node:path';
import type { Sha256 } from '../../ports/blobs.ts';

/** Paths of a store's files: `<root>/<2 hex>/<62 hex>`; files being written or deleted are in folders of their own. */
export interface BlobPaths {
  root: string;
  of(sha256: Sha256): string;
  /** The codings of a blob, beside it. */
  codingsOf(sha256: Sha256): string;
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
  const base = path.join(root, path.sep);
  const of = (sha256: Sha256) => base + checked(sha256).slice(0, 2) + path.sep + sha256.slice(2);
  return {
    root,
    of,
    codingsOf: (sha256) => `${of(sha256)}.codings`,
    incoming: path.join(root, 'incoming'),
    leaving: path.join(root, 'leaving'),
  };
}
