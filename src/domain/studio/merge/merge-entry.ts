import type { CollectionSchema } from '../schema/collection-schema.ts';
import type { Conflict, Resolution } from './merge.schema.ts';

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

/**
 * Merges three versions of one file: frontmatter key by key, body line by line, written onto current's bytes.
 *
 * @throws DomainError `validation_failed` when the resolution names a field or hunk that is not in conflict.
 */
export function mergeEntry(input: MergeInput): MergeResult {
  throw new Error(`not yet: ${input.path}`);
}
