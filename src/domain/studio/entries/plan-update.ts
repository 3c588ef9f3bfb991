import type { z } from 'zod';
import { DomainError, fieldError } from '../../errors.ts';
import { type PlanContext, publishedVersion, type StagedContent, type Step } from '../changes/staged-content.ts';
import { findEntry, storedEntry } from '../content/collection-index.ts';
import { checkPath } from '../path-rules.ts';
import { checkPrecondition } from '../repository/branch-rules.ts';
import { checkFile } from './check-file.ts';
import type { entryChange } from './entries.schema.ts';
import { bytesToSave } from './merge-save.ts';
import { redirectFor } from './redirect-field.ts';
import { renameEntry } from './rename-entry.ts';
import { checkSize, type PlannedSave } from './saved-entry.ts';

/** A new slug, and the field of the input it came in. */
export interface RenameTo {
  slug: string;
  field: string;
}

export type EntryEdit = Omit<z.output<typeof entryChange>, 'branch' | 'message' | 'author' | 'slug'> & {
  collection: string;
  /** Slug of the entry. */
  entry: string;
  to?: RenameTo | undefined;
};

/**
 * Plans a save of an entry, a rename, or both.
 * @throws DomainError `not_found`, `not_editable`, `already_exists` for the new slug, and what `bytesToSave` throws
 */
export async function planUpdate(
  context: PlanContext,
  staged: StagedContent,
  { collection, entry, to, ...change }: EntryEdit,
): Promise<Step<PlannedSave>> {
  const slug = to === undefined || to.slug === entry ? null : checkPath(to.field, to.slug);
  const index = staged.site.collection(collection);
  const place = storedEntry(index, entry);
  if (!staged.changed.has(place.path)) checkPrecondition(context.project, context.conditions, change.sha);
  const { entry: stored, blocked } = await staged.tree.lookup(place.path);
  if (blocked || !stored)
    throw new DomainError('not_editable', `${place.path} cannot be written: it is behind a symlink`);
  const published = await publishedVersion(staged, place.path, stored);
  const target = { tree: staged.tree, index, place, stored, published, change };
  const { before, merged, ...made } = await bytesToSave(context, target);
  const bytes = checkSize(made.bytes);
  const isEdited = !bytes.equals(before);
  const saved = { index, schemaKey: staged.site.schemaKey, place, bytes, merged };
  const checkIn =
    (...paths: [string, ...string[]]) =>
    (after: StagedContent) =>
      isEdited ? checkFile(after, index, paths, bytes, before) : Promise.resolve([]);
  if (slug === null || to === undefined) {
    return {
      changes: isEdited ? [{ path: place.path, content: bytes }] : [],
      summary: `Update ${collection}/${entry}`,
      result: saved,
      check: checkIn(place.path),
    };
  }
  if (findEntry(index, slug)) throw fieldError('already_exists', to.field, `${collection} has an entry ${slug}`);
  const renamed = await renameEntry(context, staged, index, place, { slug, field: to.field }, bytes);
  const { path, changes, references } = renamed;
  return {
    changes,
    summary: `Rename ${collection}/${entry} to ${slug}`,
    result: {
      ...saved,
      place: { ...place, slug, path },
      renamedFrom: entry,
      references,
      redirect: redirectFor(index.schema, entry),
    },
    check: checkIn(path, place.path),
  };
}
