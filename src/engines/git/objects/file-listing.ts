import { DomainError } from '../../../kernel/errors.ts';
import { forEachConcurrently, forEachYielding, Pace } from '../../../lib/concurrency.ts';
import type { Oid, TreeFile } from '../../../ports/git-records.ts';
import { tally } from '../../../ports/tally.ts';
import { defaultLimits } from '../incoming/limits.ts';
import type { ObjectSource } from './object-source.ts';
import { modes, type Tree } from './tree-codec.ts';

/** With more directories below one tree than this, and most of them unknown, one `ls-tree -r` is cheaper than a question for each. */
const worthProcess = 8;
/** Directories of one tree that are read at the same time. */
const together = 64;
/** Entries one listing may have: as many as a tree. */
const mostEntries = defaultLimits.entries;
/** Characters all their paths may have: what is taken in has half as many at most. */
const mostCharacters = 128 * 1024 * 1024;

/**
 * What is left for one listing. A few small trees that contain each other many times unfold to more paths than any memory holds, so
 * entries are counted while they are found.
 */
export interface ListingBudget {
  left: number;
  /** Of paths. */
  characters: number;
  /** Of all trees of the listing together: thousands of small ones hold the event loop as a large one would. */
  readonly pace: Pace;
  over?: DomainError;
}

export function newBudget(): ListingBudget {
  return { left: mostEntries, characters: mostCharacters, pace: new Pace() };
}

/**
 * @param characters of paths that are made for the entries
 * @throws DomainError `too_large` when the budget is used up
 */
export function spend(budget: ListingBudget, entries: number, characters: number): void {
  budget.left -= entries;
  budget.characters -= characters;
  if (budget.left >= 0 && budget.characters >= 0) return;
  const much = budget.left < 0 ? `${mostEntries} entries` : '128 MiB of paths';
  // One error for all that were waiting: there may be very many.
  budget.over ??= new DomainError('too_large', `The directory holds more than ${much}`);
  throw budget.over;
}

/** The listings of a tree's directories in its order; some are read at the same time. */
async function listDirectories(
  source: ObjectSource,
  tree: Tree,
  prefix: string,
  budget: ListingBudget,
): Promise<(readonly TreeFile[])[]> {
  const found: (readonly TreeFile[])[] = [];
  await forEachConcurrently(tree.directories(), together, async ({ name, oid }, at) => {
    if (budget.pace.isDue) await budget.pace.yield();
    found[at] = await source.listing(oid, `${prefix}${name}/`, budget);
  });
  return found;
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
  spend(budget, tree.size, tree.raw.length + tree.size * prefix.length);
  if (shortcut !== undefined) {
    let [directories, unknown] = [0, 0];
    await forEachYielding(tree.directories(), ({ name, oid }) => {
      directories += 1;
      if (!shortcut.known(oid, `${prefix}${name}/`)) unknown += 1;
    });
    if (unknown > worthProcess && unknown > directories / 2) return shortcut.readAll();
  }
  const below = await listDirectories(source, tree, prefix, budget);
  const files: TreeFile[] = [];
  let next = 0;
  for (const { name, mode, oid } of tree.entries()) {
    if (mode !== modes.tree) files.push({ path: `${prefix}${name}`, mode, oid });
    else for (const file of below[next++] ?? []) files.push(file);
    if (budget.pace.isDue) await budget.pace.yield();
  }
  return files;
}
