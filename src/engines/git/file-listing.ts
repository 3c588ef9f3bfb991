import type { Oid, TreeFile } from '../../domain/ports/git.ts';
import type { ObjectSource } from './object-source.ts';
import { modes } from './tree-codec.ts';

/** With more unknown directories than this below one tree, a single `ls-tree -r` is cheaper than a question for each. */
const worthProcess = 8;

/**
 * All files below a tree in git's order, made of its own entries and the listings of its directories, so that after a commit only
 * the directories it changed are read.
 *
 * @param prefix leads every path: '' or a directory with a slash at its end
 */
export async function listTree(
  source: ObjectSource,
  oid: Oid,
  prefix: string,
  shortcut?: { known(oid: Oid, prefix: string): boolean; readAll(): Promise<TreeFile[]> },
): Promise<TreeFile[]> {
  const entries = (await source.tree(oid)).entries();
  if (shortcut !== undefined) {
    const unknown = entries.filter(
      (entry) => entry.mode === modes.tree && !shortcut.known(entry.oid, `${prefix}${entry.name}/`),
    );
    if (unknown.length > worthProcess) return shortcut.readAll();
  }
  const parts = await Promise.all(
    entries.map(({ name, mode, oid: entry }) =>
      mode === modes.tree ? source.listing(entry, `${prefix}${name}/`) : { path: `${prefix}${name}`, mode, oid: entry },
    ),
  );
  return parts.flat();
}
