import type { z } from 'zod';
import type { ProjectContext } from '../../operation.ts';
import type { MergeConflict, MergedTree, Oid } from '../../ports/git-records.ts';
import type { Change } from '../../ports/git-writes.ts';
import type { Conflict, Resolution, resolvedFile } from './merge.schema.ts';
import { mergeFile } from './merge-file.ts';
import type { FileMerge } from './merge-outcome.ts';
import { openSides, type Sides } from './merge-sides.ts';
import { type ResolutionOptions, Resolutions } from './resolutions.ts';
import { settleWhole } from './whole-file.ts';

export type MergeContext = Pick<ProjectContext, 'git' | 'services'>;
export type ResolvedFile = z.output<typeof resolvedFile>;

/** Two commits merged: `changes` on top of `tree` are the result, unless something is left in conflict. */
export interface CommitMerge {
  tree: MergedTree;
  changes: Change[];
  /** What nobody has settled, in order of path. */
  conflicts: Conflict[];
  /** Files that more than git's merge of lines was needed for. */
  resolved: ResolvedFile[];
}

/**
 * Merges one commit into another: git finds renames and merges lines, entries are merged again key by key (section 4.6 of the studio
 * specification). An entry that git could merge and the fields could not stays as git has it, as long as it can be read.
 *
 * @throws DomainError `no_common_ancestor`; `branch_moved` with `details.conflicts` for resolutions of other stages than are merged;
 * `validation_failed` for a resolution of what is not in conflict.
 */
export async function mergeCommits(
  context: MergeContext,
  { current, incoming }: { current: Oid; incoming: Oid },
  given: readonly Resolution[] = [],
  options: ResolutionOptions = {},
): Promise<CommitMerge> {
  const { git } = context;
  const resolutions = new Resolutions(given, options);
  const { tree, conflicts, auto_merged } = await git.mergeTrees(current, incoming);
  const result: CommitMerge = { tree, changes: [], conflicts: [], resolved: [] };
  if (conflicts.length === 0 && auto_merged.length === 0 && given.length === 0) return result;
  const sides = await openSides(context, { current, incoming, tree });
  for (const conflict of conflicts) add(result, await mergeConflict(sides, conflict, resolutions));
  for (const path of auto_merged) {
    const found = await sides.stagesAt(path);
    if (found && sides.schemaAt(path))
      add(result, await mergeFile(sides, { path, ...found, byLines: true }, resolutions));
  }
  const stale = await resolutions.isStale((path) => sides.stagesAt(path));
  if (stale) throw resolutions.moved((await mergeCommits(context, { current, incoming })).conflicts);
  result.conflicts.sort((a, b) => (a.path < b.path ? -1 : 1));
  return result;
}

function add(result: CommitMerge, { change, conflict, resolved }: FileMerge): void {
  if (change) result.changes.push(change);
  if (conflict) result.conflicts.push(conflict);
  if (resolved) result.resolved.push(resolved);
}

const regular = new Set(['100644', '100755']);

/** Whether a conflict is about what stands in a file; all others are about the file itself. */
function isAboutContent({ kind, stages: { base, current, incoming } }: MergeConflict): boolean {
  if ([base, current, incoming].some((side) => side !== null && !regular.has(side.mode))) return false;
  if (kind === 'delete_modify') return true;
  return ['content', 'add_add', 'binary', 'other'].includes(kind) && current !== null && incoming !== null;
}

async function mergeConflict(sides: Sides, conflict: MergeConflict, resolutions: Resolutions): Promise<FileMerge> {
  const { path, stages } = conflict;
  if (!isAboutContent(conflict)) return settleWhole(sides, conflict, resolutions);
  const previous_path = stages.base ? await sides.previousPath(path) : undefined;
  return mergeFile(sides, { path, stages, ...(previous_path !== undefined && { previous_path }) }, resolutions);
}
