import type { CollectionSchema } from '../../schema/collection-schema.ts';
import type { Conflict, Resolution } from '../merge.schema.ts';

export interface MergeInput {
  /** null: no common ancestor, or none that is still stored; equal fields and lines pass then, the rest are conflicts. */
  base: Buffer | null;
  /** null: the file is not there on this side. */
  current: Buffer | null;
  incoming: Buffer | null;
  /** Decides content or data by its extension. */
  path: string;
  schema?: CollectionSchema;
  /** How the caller settles the conflict of this file. */
  resolution?: Resolution;
  /** Whether of two dates in `updated`, `lastmod` or `modified` the later one wins. Default true. */
  laterDates?: boolean;
}

/** What a merge finds out about one file; paths, stages and names are the caller's. */
export type FileConflict = Pick<Conflict, 'type' | 'fields' | 'hunks' | 'resolved' | 'reason'>;

export type MergeResult =
  /** `bytes` is null when the file is gone on both sides, or by resolution. */
  { kind: 'clean'; bytes: Buffer | null; resolved: string[] } | { kind: 'conflict'; conflict: FileConflict };

export const clean = (bytes: Buffer | null, resolved: string[] = []): MergeResult => ({
  kind: 'clean',
  bytes,
  resolved,
});

export function conflicting(type: Conflict['type'], rest: Partial<FileConflict> = {}): MergeResult {
  return { kind: 'conflict', conflict: { type, fields: [], hunks: [], resolved: [], ...rest } };
}
