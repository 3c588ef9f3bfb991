import type { CommitChanges } from '../../../ports/content-cache.ts';
import type { Repository } from '../../../ports/git.ts';
import type { LineCommit, Oid } from '../../../ports/git-records.ts';

/** With more commits between two, a walk of the whole history is as good. */
const mostCommits = 1_000;

/** The line of a commit down to another one's history, and the commit it comes out at; null: it is too long, or nothing joins them. */
async function lineDownTo(git: Repository, head: Oid, base: Oid): Promise<{ line: LineCommit[]; fork: Oid } | null> {
  const line: LineCommit[] = [];
  for await (const commit of git.line(head, base)) if (line.push(commit) > mostCommits) return null;
  const fork = line.length === 0 ? head : line.at(-1)?.parents[0];
  return fork === undefined ? null : { line, fork };
}

/**
 * Paths whose last commit at `to` is not the one at `from`, found on the first-parent lines on which both come from one commit. What a commit
 * with one parent changed, it changed last. A path that a merge changed may come from any of its parents, and one that only `from` has seen
 * change has the commit it had before: neither is known (null).
 * @returns null when the lines do not meet, or are long
 */
export async function changesBetween(git: Repository, from: Oid, to: Oid): Promise<CommitChanges | null> {
  const ours = await lineDownTo(git, to, from);
  if (!ours) return null;
  const theirs = ours.fork === from ? { line: [], fork: from } : await lineDownTo(git, from, ours.fork);
  if (theirs?.fork !== ours.fork) return null;
  const changes = new Map<string, Oid | null>();
  for (const { paths } of theirs.line) for (const path of paths) changes.set(path, null);
  for (const { oid, parents, paths } of ours.line.toReversed()) {
    for (const path of paths) changes.set(path, parents.length > 1 ? null : oid);
  }
  return changes;
}

/** The last commits of all files at a commit, as far as its first-parent line tells; null: a merge brought the file. */
export async function changesUpTo(git: Repository, to: Oid, paths: readonly string[]): Promise<CommitChanges> {
  const wanted = new Set(paths);
  const changes = new Map<string, Oid | null>();
  for await (const commit of git.line(to, null)) {
    for (const path of commit.paths) {
      if (wanted.delete(path)) changes.set(path, commit.parents.length > 1 ? null : commit.oid);
    }
    if (wanted.size === 0) break;
  }
  return changes;
}
