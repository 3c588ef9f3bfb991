import type { z } from 'zod';
import { DomainError } from '../../errors.ts';
import type { Commit, Snapshot } from '../../ports/git-records.ts';
import type { CollectionIndex, IndexedEntry } from '../content/collection-index.ts';
import type { Warning } from '../schema/schema.schema.ts';
import { viewOf } from '../view.ts';
import type { savedEntry } from './entries.schema.ts';
import { entryOf } from './entry-record.ts';
import type { Redirect } from './redirect-field.ts';

export const maxEntryBytes = 5 * 1024 * 1024;

/** What a save leaves behind: enough to answer without reading the repository again. */
export interface Saved {
  index: CollectionIndex;
  schemaKey: string;
  place: IndexedEntry;
  bytes: Buffer;
  warnings: Warning[];
  /** The save was merged with what happened since the writer read the entry. */
  merged?: boolean;
  renamedFrom?: string;
  references?: string[];
  redirect?: Redirect | null;
}

/** A save that has not been checked yet. */
export type PlannedSave = Omit<Saved, 'warnings'>;

/** @throws DomainError `too_large` */
export function checkSize(bytes: Buffer): Buffer {
  if (bytes.length > maxEntryBytes)
    throw new DomainError(
      'too_large',
      `body: the entry would have ${bytes.length} bytes; at most ${maxEntryBytes} are allowed`,
    );
  return bytes;
}

/** The record of a saved entry; `sha` is read from the tree that was committed. */
export async function savedRecord(
  snapshot: Snapshot,
  commit: Commit | null,
  saved: Saved,
  tag: (etag: string) => void,
): Promise<z.output<typeof savedEntry>> {
  const { entry } = await snapshot.lookup(saved.place.path);
  const place = { ...saved.place, oid: entry?.oid ?? saved.place.oid };
  tag(`"${place.oid}.${viewOf([saved.schemaKey, place.slug, undefined])}"`);
  return {
    ...entryOf(saved.index, place, saved.bytes, { warnings: saved.warnings }),
    commit,
    unchanged: commit === null,
    merged: saved.merged ?? false,
    ...(saved.renamedFrom !== undefined && { renamed_from: saved.renamedFrom }),
    ...(saved.references && { references: saved.references }),
    ...(saved.redirect && { details: { redirect: saved.redirect } }),
  };
}
