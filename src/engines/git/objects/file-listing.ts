import { DomainError } from '../../../kernel/errors.ts';
import { tally } from '../../../lib/tally.ts';
import type { Oid, TreeFile } from '../../../ports/git-records.ts';
import type { ObjectSource } from './object-source.ts';
import { modes } from './tree-codec.ts';

/** With more directories below one tree than this, and most of them unknown, one `ls-tree -r` is cheaper than a question for each. */
const worthProcess = 8;
/** Entries one listing may have: the 200,000 files a repository is served with, and their directories. */
const mostEntries = 300_000;

/**
 * What is left for one listing. A few small trees that contain each other many times unfold to more paths than any memory holds, so
 * entries are counted while they are found.
 */
export interface ListingBudget {
  left: number;
  over?: DomainError;
}

export function newBudget(): ListingBudget {
  return { left: mostEntries };
}

/** @throws DomainError `too_large` when the budget is used up */
export function spend(budget: ListingBudget, entries: number): void {
  budget.left -= entries;
  if (budget.left >= 0) return;
  // One error for all that were waiting: there may be very many.
  budget.over ??= new DomainError('too_large', `The directory holds more than ${mostEntries} entries`);
  throw budget.over;
}

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
  budget: ListingBudget,
  shortcut?: { known(oid: Oid, prefix: string): boolean; readAll(): Promise<TreeFile[]> },
): Promise<TreeFile[]> {
  const tree = await source.tree(oid);
  tally.pass.publish(tree.size);
  spend(budget, tree.size);
  const entries = tree.entries();
  if (shortcut !== undefined) {
    const directories = entries.filter(({ mode }) => mode === modes.tree);
    const unknown = directories.filter(({ name, oid }) => !shortcut.known(oid, `${prefix}${name}/`));
    if (unknown.length > worthProcess && unknown.length > directories.length / 2) return shortcut.readAll();
  }
  const parts = await Promise.all(
    entries.map(({ name, mode, oid: entry }) =>
      mode === modes.tree
        ? source.listing(entry, `${prefix}${name}/`, budget)
        : { path: `${prefix}${name}`, mode, oid: entry },
    ),
  );
  return parts.flat();
}
