import { DomainError } from '../../../kernel/errors.ts';
import { forEachYielding } from '../../../lib/concurrency.ts';
import type { Repository } from '../../../ports/git.ts';
import type {
  ConflictKind,
  FileSide,
  MergeConflict,
  MergedTree,
  Mode,
  Oid,
  Snapshot,
} from '../../../ports/git-records.ts';
import type { Change } from '../../../ports/git-writes.ts';
import { PlannedContents } from '../changes/staged-content.ts';
import { maxEntryBytes } from '../entries/saved-entry.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import { namesModules, settingsProblem } from '../path-rules.ts';
import { withoutFollowing } from './followed-renames.ts';
import type { ConflictType, FoundConflicts, Resolution, ResolvedFile } from './merge.schema.ts';
import { mergeEntry } from './merge-entry.ts';
import {
  ConflictRoom,
  conflictOf,
  type FileMerge,
  type FileStages,
  type FoundStages,
  longestConflicts,
  type MergeContext,
  mostConflicts,
  openSides,
  type Sides,
  sideAt,
} from './merge-sides.ts';
import { type ResolutionOptions, Resolutions, refuseResolution } from './resolutions.ts';

const shown: Partial<Record<ConflictKind, { type: ConflictType; reason: string }>> = {
  rename_rename: { type: 'rename_rename', reason: 'renamed differently on both sides; settle each of its names' },
  rename_delete: { type: 'delete_modify', reason: 'renamed on one side and deleted on the other' },
  file_directory: { type: 'mode', reason: 'a file on one side and a directory on the other, which keeps the name' },
  binary: { type: 'binary', reason: 'too large to be merged' },
};
const modules = {
  type: 'body' as const,
  reason: 'names submodules; take the version of one side, or merge with a git client',
};
const otherwise = { type: 'mode' as const, reason: 'a file, a symlink or a submodule that only one side has as such' };

/** How conflicts of a merge are settled, and what is left for the others. */
interface Settling {
  resolutions: Resolutions;
  /** Stages of all conflicts that git has found, by path. */
  stagesOf: ReadonlyMap<string, FileStages>;
  room: ConflictRoom;
}

/**
 * A conflict about a file as a whole: it is settled by taking the version of one side (gone when that side has none at this path), by
 * deleting it, or by a new text.
 */
async function settleWhole(
  sides: Sides,
  { path, kind, stages, related }: MergeConflict,
  { resolutions, stagesOf, room }: Settling,
): Promise<FileMerge> {
  const isElsewhere = related.some((name) => {
    const found = kind === 'rename_rename' && stagesOf.get(name);
    return found && resolutions.leavesFile(name, found);
  });
  const resolution = await resolutions.settle(sides, { path, stages, isElsewhere });
  const entry = sides.entryAt(path);
  if (!resolution) {
    const found = {
      ...(namesModules(path) ? modules : (shown[kind] ?? otherwise)),
      fields: [],
      hunks: [],
      resolved: [],
    };
    return { conflict: conflictOf(sides, path, stages, found, { room }) };
  }
  const change = await changeFor(sides, path, stages, resolution);
  if (Buffer.isBuffer(change?.content))
    await resolutions.checkText(sides, { path, stages }, resolution, change.content);
  return { ...(change && { change }), resolved: { path, ...entry, fields: [] } };
}

/** @returns null when git's tree has it so already. */
async function changeFor(
  { merged }: Sides,
  path: string,
  stages: FileStages,
  { take, delete: remove, raw, fields, hunks }: Resolution,
): Promise<Change | null> {
  if (fields || hunks || [take, remove, raw].filter((way) => way !== undefined).length !== 1) {
    refuseResolution(path, 'must have one of take, delete or raw: it can only be settled whole');
  }
  if (raw !== undefined) {
    const mode = [stages.current, stages.incoming].find((side) => side?.mode === '100755')?.mode ?? '100644';
    return { path, content: checkedContent(path, Buffer.from(raw, 'utf8')), mode };
  }
  const wanted = take === undefined ? null : stages[take];
  const { entry } = await merged.lookup(path);
  if (isSame(entry, wanted)) return null;
  if (wanted?.mode === '160000')
    throw new DomainError('not_editable', `${path} is a submodule; merge it with a git client`);
  return wanted ? { path, content: { oid: wanted.oid }, mode: wanted.mode } : { path, content: null };
}

/** Objects that are written here pass no check by git, and a repository with one that it refuses could not be pushed any more. */
function checkedContent(path: string, content: Buffer): Buffer {
  const refused = settingsProblem(path, content);
  if (refused) refuseResolution(path, refused.problem);
  return content;
}

const isSame = (a: FileSide | null, b: FileSide | null) => a?.oid === b?.oid && a?.mode === b?.mode;

interface FileToMerge extends FoundStages {
  path: string;
  /** git merged its lines without conflict. */
  byLines?: boolean;
}

/** Bytes of files that a merge may make: of entries, and of all others. */
const largest = { entry: maxEntryBytes, other: 100 * 1024 * 1024 };

/**
 * Whether the lines of both sides are together more than a file may hold: one branch after the other could make a file as long as they like. What is
 * no larger than the file of one side has come there with the right to.
 */
async function hasOutgrown(
  { git, merged }: Sides,
  path: string,
  { current, incoming }: FileStages,
  most: number,
): Promise<boolean> {
  const made = await sideAt(merged, path);
  const [size, ...sides] = await git.sizes([made, current, incoming].flatMap((side) => (side ? [side.oid] : [])));
  return made !== null && (size ?? 0) > Math.max(most, ...sides.map((one) => one ?? 0));
}

/** Merges the three versions of one file key by key and line by line. */
async function mergeFile(
  sides: Sides,
  { path, previous_path, stages, byLines = false }: FileToMerge,
  settling: Settling,
): Promise<FileMerge> {
  const { resolutions, room } = settling;
  const { git, merged } = sides;
  const held = [stages.base, stages.current, stages.incoming].flatMap((side) => (side ? [side.oid] : []));
  const sizes = await git.sizes(held);
  const settle = () => settleWhole(sides, { path, kind: 'binary', stages, related: [] }, settling);
  if (byLines && (await hasOutgrown(sides, path, stages, largest.entry))) return settle();
  if (sizes.some((size) => (size ?? 0) > largest.entry)) return byLines ? {} : settle();
  const [base, current, incoming] = await Promise.all(
    [stages.base, stages.current, stages.incoming].map((side) => (side ? merged.blob(side.oid) : null)),
  );
  const schema = sides.schemaAt(path);
  const input = {
    base: base ?? null,
    current: current ?? null,
    incoming: incoming ?? null,
    path,
    ...(schema && { schema }),
  };
  let result = mergeEntry(input);
  if (result.kind === 'clean' && (result.bytes?.length ?? 0) > largest.entry) return settle();
  if (result.kind === 'conflict' && byLines && (await isReadable(sides, path))) return {};
  const isOpen = result.kind === 'conflict' || !byLines;
  const resolution = isOpen ? await resolutions.settle(sides, { path, stages }) : null;
  if (resolution) result = mergeEntry({ ...input, resolution });
  const entry = sides.entryAt(path);
  if (result.kind === 'clean') {
    const { bytes: content, resolved: fields } = result;
    const mode = modeOf(stages);
    if (resolution && content) checkedContent(path, content);
    if (content && resolution && resolution.take === undefined)
      await resolutions.checkText(sides, { path, stages }, resolution, content);
    if (byLines && content?.equals((await linesOf(sides, path)) ?? Buffer.alloc(0))) return {};
    return { change: { path, content, ...(mode && { mode }) }, resolved: { path, ...entry, fields } };
  }
  return { conflict: conflictOf(sides, path, stages, result.conflict, { previous_path, room }) };
}

/** The mode of the result: a side that changed it is followed, the current one first. */
function modeOf({ base, current, incoming }: FileStages): Mode | undefined {
  return (current && current.mode !== base?.mode ? current : (incoming ?? current))?.mode;
}

/** What git made of the file. */
async function linesOf({ merged }: Sides, path: string): Promise<Buffer | null> {
  const { entry } = await merged.lookup(path);
  return entry && merged.blob(entry.oid);
}

async function isReadable(sides: Sides, path: string): Promise<boolean> {
  const bytes = await linesOf(sides, path);
  return bytes !== null && parseFile(bytes, path).error === undefined;
}

/** Two commits merged: `changes` on top of `tree` are the result, unless something is left in conflict. */
interface CommitMerge extends FoundConflicts {
  tree: MergedTree;
  changes: Change[];
  /** Files that more than git's merge of lines was needed for. */
  resolved: ResolvedFile[];
}

type Pair = { current: Oid; incoming: Oid };

interface ConflictOptions {
  /** Ends the merge. */
  signal?: AbortSignal | undefined;
  /** What the answer has left for conflicts. */
  conflictRoom?: ConflictRoom;
  /** Waits for memory for so many bytes of conflicts before they are made. */
  takeRoom?(bytes: number): Promise<void>;
}

interface MergeOptions extends ResolutionOptions, ConflictOptions {
  /** What the merge would write is not wanted, and not kept: it may be gigabytes. */
  conflictsOnly?: boolean;
  /** The merge is only tried: where git has an entry already, no other text of it is kept, for it changes no name and configures nothing. */
  namesOnly?: boolean;
}

/** Bytes of the conflicts that are shown, at most. */
async function sizeOf(git: Repository, conflicts: readonly MergeConflict[]): Promise<number> {
  const shown = conflicts.slice(0, mostConflicts).flatMap(({ stages }) => Object.values(stages));
  const sizes = await git.sizes(shown.flatMap((side: FileSide | null) => (side ? [side.oid] : [])));
  return Math.min(
    longestConflicts,
    sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0),
  );
}

/**
 * Merges one commit into another: git finds renames and merges lines, entries are merged again key by key (section 4.6 of the studio
 * specification). An entry that git could merge and the fields could not stays as git has it, as long as it can be read.
 *
 * @throws DomainError `no_common_ancestor`; `branch_moved` with `details.conflicts` for resolutions of other stages than are merged;
 * `validation_failed` for a resolution of what is not in conflict; the signal's reason.
 */
export async function mergeCommits(
  context: MergeContext,
  { current, incoming }: Pair,
  given: readonly Resolution[] = [],
  options: MergeOptions = {},
): Promise<CommitMerge> {
  const { git } = context;
  const { conflictRoom: room = new ConflictRoom(), conflictsOnly = false, namesOnly = false, signal } = options;
  const resolutions = new Resolutions(given, options);
  const { tree, conflicts: found, auto_merged, may_follow_renames } = await git.mergeTrees(current, incoming, signal);
  if (!may_follow_renames && given.length === 0) return { tree, changes: [], conflicts: [], resolved: [] };
  const sides = await openSides(context, { current, incoming, tree, signal });
  const unfollowed = may_follow_renames ? await withoutFollowing(sides, found) : null;
  const conflicts = [...found.filter(({ path }) => !unfollowed?.code.has(path)), ...(unfollowed?.conflicts ?? [])];
  await options.takeRoom?.(await sizeOf(git, conflicts));
  const result: CommitMerge = { tree, changes: unfollowed?.changes ?? [], conflicts: [], resolved: [] };
  const stagesOf = new Map(conflicts.map(({ path, stages }) => [path, stages]));
  const settling = { resolutions, stagesOf, room };
  const contents = new PlannedContents(git);
  const keep = async ({ content, ...change }: Change) => {
    if (!Buffer.isBuffer(content)) result.changes.push({ ...change, content });
    else if (!namesOnly || !sides.schemaAt(change.path) || !(await isRegularAt(sides.merged, change.path)))
      result.changes.push({ ...change, content: await contents.keep(content) });
  };
  const add = async (path: string, merge: () => Promise<FileMerge>) => {
    signal?.throwIfAborted();
    if (room.isFull && !resolutions.has(path)) {
      result.conflicts_truncated = true;
      return;
    }
    const { change, conflict, resolved } = await merge();
    if (conflict) result.conflicts.push(conflict);
    // Nothing is written of a merge that leaves a conflict.
    if (change && !conflictsOnly && result.conflicts.length === 0) await keep(change);
    const shown = resolved && room.showResolved(resolved);
    if (shown) result.resolved.push(shown);
  };
  await forEachYielding(conflicts, (one) => add(one.path, () => mergeConflict(sides, one, settling)));
  await forEachYielding(auto_merged, async (path) => {
    const found = unfollowed?.code.has(path) ? null : await sides.stagesAt(path);
    if (!found) return;
    const settle = (kind: ConflictKind) =>
      add(path, () => settleWhole(sides, { path, kind, ...found, related: [] }, settling));
    // Lines of two files that git takes can make one that it refuses.
    if (namesModules(path)) await settle('content');
    else if (sides.schemaAt(path)) await add(path, () => mergeFile(sides, { path, ...found, byLines: true }, settling));
    else if (await hasOutgrown(sides, path, found.stages, largest.other)) await settle('binary');
  });
  const stale = await resolutions.isStale((path) => sides.stagesAt(path));
  if (stale) throw resolutions.moved(await conflictsBetween(context, { current, incoming }, { signal }));
  result.conflicts.sort((a, b) => (a.path < b.path ? -1 : 1));
  return result;
}

/** The conflicts that a merge of two commits leaves. */
export async function conflictsBetween(
  context: MergeContext,
  pair: Pair,
  options: ConflictOptions = {},
): Promise<FoundConflicts> {
  const { conflicts, conflicts_truncated } = await mergeCommits(context, pair, [], { ...options, conflictsOnly: true });
  return { conflicts, ...(conflicts_truncated && { conflicts_truncated }) };
}

const regular = new Set(['100644', '100755']);

const isRegularAt = async (snapshot: Snapshot, path: string) => regular.has((await sideAt(snapshot, path))?.mode ?? '');

/** Whether a conflict is about what stands in a file; all others are about the file itself. */
function isAboutContent({ kind, stages: { base, current, incoming } }: MergeConflict): boolean {
  if ([base, current, incoming].some((side) => side !== null && !regular.has(side.mode))) return false;
  if (kind === 'delete_modify') return true;
  return ['content', 'add_add', 'binary', 'other'].includes(kind) && current !== null && incoming !== null;
}

async function mergeConflict(sides: Sides, conflict: MergeConflict, settling: Settling): Promise<FileMerge> {
  const { path, stages } = conflict;
  if (!isAboutContent(conflict) || namesModules(path)) return settleWhole(sides, conflict, settling);
  const previous_path = stages.base ? await sides.previousPath(path) : undefined;
  return mergeFile(sides, { path, stages, ...(previous_path !== undefined && { previous_path }) }, settling);
}
