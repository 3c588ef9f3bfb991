import { DomainError } from '../../../domain/errors.ts';
import type { Oid } from '../../../domain/ports/git-records.ts';
import { CatFile } from '../objects/cat-file.ts';
import { findLargeBlob, type ObjectPlace, type Reach } from './large-blobs.ts';
import { type IncomingLimits, type Tip, tooDeep, tooLarge, tooManyFiles } from './limits.ts';
import { TreeExtents } from './tree-extents.ts';

/**
 * Holds what has come in against the limits before a ref leads to it: the tree of every tip, and the size of every blob in reach.
 *
 * @throws DomainError `too_large` naming what is over a limit
 */
export async function checkIncoming(
  place: ObjectPlace,
  tips: readonly Tip[],
  reach: Reach,
  limits: IncomingLimits,
): Promise<void> {
  await checkTrees(place, tips, limits);
  const large = await findLargeBlob(place, tips, reach, limits);
  if (large !== null) throw tooLarge(large, limits);
}

async function checkTrees(place: ObjectPlace, tips: readonly Tip[], limits: IncomingLimits): Promise<void> {
  const { processes, gitDir, env, signal } = place;
  const objects = new CatFile(processes, gitDir, { env, signal });
  try {
    const extents = new TreeExtents(gitDir, objects, limits.depth);
    for (const tip of tips) {
      const tree = await treeOf(objects, tip.oid);
      if (tree === null) continue;
      const { files, depth } = await extents.of(tree);
      if (depth > limits.depth) throw tooDeep(tip, limits);
      if (files > limits.files) throw tooManyFiles(tip, limits);
    }
  } finally {
    await objects.close();
  }
}

/** The tree a commit or tag leads to; null when it leads to a file. */
async function treeOf(objects: CatFile, oid: Oid): Promise<Oid | null> {
  for (let at = oid; ; ) {
    const type = (await objects.ask(at, false))?.type;
    if (type === 'tree') return at;
    if (type === 'blob') return null;
    const head = (await objects.ask(at, true))?.content?.toString('latin1', 0, 80) ?? '';
    const next = /^(?:tree|object) ([0-9a-f]+)\n/.exec(head)?.[1];
    if (next === undefined) throw new DomainError('too_large', `${at} is larger than any commit this service reads`);
    at = next;
  }
}
