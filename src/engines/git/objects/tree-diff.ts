import type { FileChange, FileSide, Oid, TreeEntry } from '../../../ports/git-records.ts';
import { rawLength } from './object-id.ts';
import type { ObjectSource } from './object-source.ts';
import { modes, Tree } from './tree-codec.ts';

/** Ends a walk that has found more than its caller can use. */
class TooMany extends Error {}

/**
 * Files by which a tree differs from another, without a git process. Only directories that differ are read, and within them runs of equal
 * entries are compared as bytes: the time depends on what changed, not on how large the trees are.
 *
 * @param from null: the empty tree, as with `to`
 * @returns in git's order; null when more than `limit` files and directories differ
 */
export async function changedFiles(
  source: ObjectSource,
  from: Oid | null,
  to: Oid | null,
  limit: number,
): Promise<FileChange[] | null> {
  const found: FileChange[] = [];
  let left = limit;
  const spend = () => {
    left -= 1;
    if (left < 0) throw new TooMany();
  };
  const read = (oid: Oid | null) => (oid === null ? Tree.empty(rawLength[source.format]) : source.tree(oid));
  const walk = async (before: Oid | null, after: Oid | null, prefix: string): Promise<void> => {
    if (before === after) return;
    const [old, now] = await Promise.all([read(before), read(after)]);
    for (const change of now.changesFrom(old)) {
      spend();
      const path = `${prefix}${change.name}`;
      const sides = { before: fileOf(change.old), after: fileOf(change.new) };
      if (sides.before !== null || sides.after !== null) found.push({ path, ...sides });
      const directories = [change.old, change.new].map((entry) => (entry?.mode === modes.tree ? entry.oid : null));
      await walk(directories[0] ?? null, directories[1] ?? null, `${path}/`);
    }
  };
  try {
    await walk(from, to, '');
    return found;
  } catch (error) {
    if (error instanceof TooMany) return null;
    throw error;
  }
}

const fileOf = (entry: TreeEntry | null): FileSide | null =>
  entry === null || entry.mode === modes.tree ? null : { oid: entry.oid, mode: entry.mode };
