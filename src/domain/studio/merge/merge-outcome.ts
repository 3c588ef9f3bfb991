import type { Change } from '../../../ports/git-writes.ts';
import { titleOfSlug } from '../frontmatter/summarize.ts';
import type { Conflict, ResolvedFile } from './merge.schema.ts';
import type { FileConflict } from './merge-entry.ts';
import type { FileStages, Sides } from './merge-sides.ts';

/** What becomes of one file: a change on top of git's tree, or a conflict. */
export interface FileMerge {
  change?: Change;
  conflict?: Conflict;
  resolved?: ResolvedFile;
}

/** A conflict as it is reported. */
export function conflictOf(
  sides: Pick<Sides, 'entryAt'>,
  path: string,
  { base, current, incoming }: FileStages,
  found: FileConflict,
  previous_path?: string,
): Conflict {
  const entry = sides.entryAt(path);
  return {
    path,
    ...(previous_path !== undefined && { previous_path }),
    ...(entry && { ...entry, title: titleOfSlug(entry.slug) }),
    ...found,
    stages: { base: base?.oid ?? null, current: current?.oid ?? null, incoming: incoming?.oid ?? null },
  };
}
