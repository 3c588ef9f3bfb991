import type { z } from 'zod';
import { DomainError } from '../../errors.ts';
import type { ProjectContext } from '../../operation.ts';
import type { Commit, Snapshot } from '../../ports/git-records.ts';
import type { CollectionIndex, IndexedEntry } from '../content/collection-index.ts';
import { entryRoutes, urlMember } from '../routes/entry-routes.ts';
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
export function checkSize(bytes: Buffer, field = 'body'): Buffer {
  if (bytes.length > maxEntryBytes)
    throw new DomainError(
      'too_large',
      `${field}: the entry would have ${bytes.length} bytes; at most ${maxEntryBytes} are allowed`,
    );
  return bytes;
}

/** The record of a saved entry; `sha` is read from the tree that was committed. */
export async function savedRecord(
  context: Pick<ProjectContext, 'git' | 'services' | 'project' | 'tag'>,
  snapshot: Snapshot,
  commit: Commit | null,
  saved: Saved,
): Promise<z.output<typeof savedEntry>> {
  const { entry } = await snapshot.lookup(saved.place.path);
  const place = { ...saved.place, oid: entry?.oid ?? saved.place.oid };
  const routes = await entryRoutes(context, snapshot);
  context.tag(`"${place.oid}.${viewOf([saved.schemaKey + routes.key, place.slug, undefined])}"`);
  const record = entryOf(saved.index, place, saved.bytes, { warnings: saved.warnings });
  return {
    ...record,
    ...urlMember(routes, record.collection, place, record.frontmatter),
    commit,
    unchanged: commit === null,
    merged: saved.merged ?? false,
    ...(saved.renamedFrom !== undefined && { renamed_from: saved.renamedFrom }),
    ...(saved.references && { references: saved.references }),
    ...(saved.redirect && { details: { redirect: saved.redirect } }),
  };
}
