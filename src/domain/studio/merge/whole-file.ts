import { DomainError } from '../../errors.ts';
import type { ConflictKind, FileSide, MergeConflict } from '../../ports/git-records.ts';
import type { Change } from '../../ports/git-writes.ts';
import { refuseResolution } from './entry/resolve.ts';
import type { ConflictType, Resolution } from './merge.schema.ts';
import { conflictOf, type FileMerge } from './merge-outcome.ts';
import type { FileStages, Sides } from './merge-sides.ts';
import type { Resolutions } from './resolutions.ts';

const shown: Partial<Record<ConflictKind, { type: ConflictType; reason: string }>> = {
  rename_rename: { type: 'rename_rename', reason: 'renamed differently on both sides; settle each of its names' },
  rename_delete: { type: 'delete_modify', reason: 'renamed on one side and deleted on the other' },
  file_directory: { type: 'mode', reason: 'a file on one side and a directory on the other, which keeps the name' },
  binary: { type: 'binary', reason: 'too large to be merged' },
};
const otherwise = { type: 'mode' as const, reason: 'a file, a symlink or a submodule that only one side has as such' };

/**
 * A conflict about a file as a whole: it is settled by taking the version of one side (gone when that side has none at this path), by
 * deleting it, or by a new text.
 */
export async function settleWhole(
  sides: Sides,
  { path, kind, stages }: MergeConflict,
  resolutions: Resolutions,
): Promise<FileMerge> {
  const resolution = resolutions.take(sides, path, stages);
  const entry = sides.entryAt(path);
  if (!resolution) {
    const found = { ...(shown[kind] ?? otherwise), fields: [], hunks: [], resolved: [] };
    return { conflict: conflictOf(sides, path, stages, found) };
  }
  const change = await changeFor(sides, path, stages, resolution);
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
    return { path, content: Buffer.from(raw, 'utf8'), mode };
  }
  const wanted = take === undefined ? null : stages[take];
  const { entry } = await merged.lookup(path);
  if (isSame(entry, wanted)) return null;
  if (wanted?.mode === '160000')
    throw new DomainError('not_editable', `${path} is a submodule; merge it with a git client`);
  return wanted ? { path, content: { oid: wanted.oid }, mode: wanted.mode } : { path, content: null };
}

const isSame = (a: FileSide | null, b: FileSide | null) => a?.oid === b?.oid && a?.mode === b?.mode;
