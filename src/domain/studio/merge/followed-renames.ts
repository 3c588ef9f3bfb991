/**
 * git follows a file that one side has renamed by likeness alone: one that is gone there and a new one much like it are the same file to it, and
 * what the other side has changed in the old one goes into the new one. With the right to change content one could have a file of media count as the
 * former name of a file of code, and change the code by changing the media. So a merge that may have followed content into code is made without
 * that: code stays as the side has it that has it, and a file that only the other side has kept, and changed, is a conflict.
 */
import { DomainError } from '../../../kernel/errors.ts';
import { filterYielding, forEachYielding } from '../../../lib/concurrency.ts';
import type { FileChange, FileSide, MergeConflict, Snapshot } from '../../../ports/git-records.ts';
import type { Change } from '../../../ports/git-writes.ts';
import { type Sides, sideAt } from './merge-sides.ts';

/** What a merge is made of where git's is not to be followed. */
export interface Unfollowed {
  /** On top of git's tree: code as the sides have it. */
  changes: Change[];
  /** Paths of `changes` and of conflicts that are about such code. */
  code: ReadonlySet<string>;
  /** About files that are gone on one side only. */
  conflicts: MergeConflict[];
}

/** Files and directories that are compared with each side. */
const mostChanges = 1_000_000;

const isSame = (one: FileSide | null, other: FileSide | null) => one?.oid === other?.oid && one?.mode === other?.mode;

/** What a merge differs in from one side, by path. */
async function differences(merged: Snapshot, side: Snapshot): Promise<Map<string, FileChange>> {
  const found = await merged.changesSince(side.tree, mostChanges);
  if (found === null)
    throw new DomainError(
      'too_large',
      `A merge of more than ${mostChanges} changed files has to be made with a git client`,
    );
  const byPath = new Map<string, FileChange>();
  await forEachYielding(found, (change) => byPath.set(change.path, change));
  return byPath;
}

/** What a merge differs in from each of its sides; from the incoming one it is seldom needed. */
interface Differences {
  current: ReadonlyMap<string, FileChange>;
  incoming(): Promise<ReadonlyMap<string, FileChange>>;
}

async function differencesOf({ current, incoming, merged }: Sides): Promise<Differences> {
  let fromIncoming: Promise<Map<string, FileChange>> | undefined;
  return {
    current: await differences(merged, current),
    incoming() {
      fromIncoming ??= differences(merged, incoming);
      return fromIncoming;
    },
  };
}

/** Whether a conflict about code has stages that a side holds at another path. */
async function hasFollowed({ current, incoming, isContent }: Sides, { path, stages }: MergeConflict): Promise<boolean> {
  for (const [side, stage] of [
    [current, stages.current],
    [incoming, stages.incoming],
  ] as const)
    if (stage && !isContent(path, stage.mode) && !isSame(stage, await sideAt(side, path))) return true;
  return false;
}

async function ancestorsOf({ git, current, incoming }: Sides): Promise<Snapshot[]> {
  const bases = await git.mergeBases(current.commit ?? '', incoming.commit ?? '');
  return Promise.all(bases.map((base) => git.snapshot(base)));
}

/** Paths of code that may hold, or be in conflict for, what was changed at another path. */
async function followedInto(
  sides: Sides,
  conflicts: readonly MergeConflict[],
  from: Differences,
): Promise<Set<string>> {
  const { isContent } = sides;
  const paths = new Set<string>();
  await forEachYielding(conflicts, async (conflict) => {
    if (await hasFollowed(sides, conflict)) paths.add(conflict.path);
  });
  const changed = await filterYielding(
    from.current.values(),
    ({ path, after }) => after !== null && !isContent(path, after.mode),
  );
  if (changed.length === 0) return paths;
  const fromIncoming = await from.incoming();
  const ancestors = await ancestorsOf(sides);
  await forEachYielding(changed, async ({ path, before }) => {
    const their = fromIncoming.get(path);
    if (their === undefined) return;
    // As neither side has it, and new to one, or to both: only of a file that was there before are lines of both.
    const sources = before === null || their.before === null ? [] : ancestors;
    const found = await Promise.all(sources.map((ancestor) => sideAt(ancestor, path)));
    if (found.length === 0 || found.includes(null)) paths.add(path);
  });
  return paths;
}

/** Files that one side has changed and the other has not, and that are in the merge no more. */
async function leftBehind(
  sides: Sides,
  from: Differences,
): Promise<{ path: string; stages: MergeConflict['stages'] }[]> {
  const [fromCurrent, fromIncoming] = [from.current, await from.incoming()];
  const ancestors = await ancestorsOf(sides);
  const found: { path: string; stages: MergeConflict['stages'] }[] = [];
  const gone = await filterYielding([...fromCurrent.values(), ...fromIncoming.values()], ({ after }) => after === null);
  await forEachYielding(gone, async ({ path }) => {
    const ours = fromCurrent.get(path)?.before ?? null;
    const theirs = fromIncoming.get(path)?.before ?? null;
    if (ours !== null && theirs !== null) return;
    const before = await Promise.all(ancestors.map((ancestor) => sideAt(ancestor, path)));
    if (before.every((base) => isSame(base, ours ?? theirs))) return;
    found.push({ path, stages: { base: before[0] ?? null, current: ours, incoming: theirs } });
  });
  return found;
}

/**
 * @param conflicts git's, of a merge that followed renames
 * @returns null where no content can have been followed into code
 */
export async function withoutFollowing(sides: Sides, conflicts: readonly MergeConflict[]): Promise<Unfollowed | null> {
  const { current, incoming, merged, isContentOfEither } = sides;
  const from = await differencesOf(sides);
  const code = await followedInto(sides, conflicts, from);
  if (code.size === 0) return null;
  const left = await leftBehind(sides, from);
  // One that both sides have renamed, each in its way, is gone on both, and what git has merged of it is under either name.
  const renamed = conflicts.filter(({ kind, stages }) => kind.startsWith('rename_') && stages.base !== null);
  const isContent = ({ path, stages: { base, current, incoming } }: Pick<MergeConflict, 'path' | 'stages'>) =>
    [base, current, incoming].some((side) => side !== null && isContentOfEither(path, side.mode));
  if (![...left, ...renamed].some(isContent)) return null;
  const changes: Change[] = [];
  await forEachYielding(code, async (path) => {
    const own = (await sideAt(current, path)) ?? (await sideAt(incoming, path));
    if (isSame(own, await sideAt(merged, path))) return;
    changes.push(own ? { path, content: { oid: own.oid }, mode: own.mode } : { path, content: null });
  });
  const known = new Set(conflicts.map(({ path }) => path));
  return {
    changes,
    code,
    conflicts: left
      .filter(({ path }) => !known.has(path))
      .map(({ path, stages }) => ({ path, kind: 'delete_modify', stages, related: [] })),
  };
}
