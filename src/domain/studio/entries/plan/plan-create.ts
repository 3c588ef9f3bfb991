import type { z } from 'zod';
import { DomainError, fieldError } from '../../../../kernel/errors.ts';
import type { Snapshot } from '../../../../ports/git-records.ts';
import type { PlanContext, StagedContent, Step } from '../../changes/staged-content.ts';
import { checkFree } from '../../changes/write-rules.ts';
import { refusalOfName } from '../../content/admission.ts';
import type { CollectionIndex } from '../../content/collection-index.ts';
import type { SiteIndex } from '../../content/site-index.ts';
import { createFile } from '../../frontmatter/edit-file.ts';
import type { FileContent } from '../../frontmatter/parse-file.ts';
import type { Frontmatter } from '../../frontmatter/values.ts';
import { checkDirectory, checkPath } from '../../path-rules.ts';
import { collectionNamePattern } from '../../schema/schema.schema.ts';
import { type PathOptions, pathForSlug } from '../../slug.ts';
import type { entryDraft } from '../entries.schema.ts';
import { checkSize, type PlannedSave } from '../saved-entry.ts';
import { checkOfHeld, defaultsOf, formatOf, isDateField, rawContent } from './change-entry.ts';

type NewEntry = Omit<z.output<typeof entryDraft>, 'branch' | 'message' | 'author'> & { collection: string };

/**
 * Where the collection keeps a new entry of this slug.
 * @throws DomainError `invalid_name`, `invalid_path`, naming the field the caller gave
 */
export function pathForNew(index: CollectionIndex, slug: string, options: PathOptions): string {
  try {
    const path = pathForSlug(index.schema, slug, options);
    const refused = refusalOfName(path);
    if (refused) throw fieldError(refused.code, 'slug', refused.problem);
    return path;
  } catch (error) {
    if (!(error instanceof DomainError) || error.details) throw error;
    const field = options.path !== undefined ? 'path' : options.locale !== undefined ? 'locale' : 'slug';
    throw fieldError(error.code, field, error.message);
  }
}

/** The collection a new entry goes to. An empty repository has none: the first entry founds it. */
export async function collectionFor(
  { studio }: Pick<PlanContext, 'studio'>,
  { head, site }: { head: Pick<Snapshot, 'tree'>; site: SiteIndex },
  collection: string,
  slug: string,
): Promise<CollectionIndex> {
  const isFirst = head.tree === null && !site.collections.has(collection) && collectionNamePattern.test(collection);
  return (isFirst ? await studio.content.firstSite(collection, slug) : site).collection(collection);
}

/** A new entry made of frontmatter and body. @throws DomainError where its format cannot hold what was given, `too_large` */
export function newEntry(
  { schema }: CollectionIndex,
  path: string,
  { format, frontmatter = {}, body = '' }: Pick<NewEntry, 'format' | 'frontmatter' | 'body'>,
): FileContent {
  const content = createFile({
    ...formatOf(schema, path, format),
    frontmatter,
    body,
    fieldOrder: schema.fields.map((field) => field.name),
    isDate: isDateField(schema),
  });
  checkSize(content.bytes);
  return content;
}

/** @throws DomainError what `newEntry` and `rawContent` throw; `invalid_request` when `raw` comes with what it excludes */
function contentOf(index: CollectionIndex, path: string, draft: Omit<NewEntry, 'collection'>): FileContent {
  const { raw, body, apply_defaults } = draft;
  if (raw === undefined) {
    const frontmatter: Frontmatter = { ...(apply_defaults && defaultsOf(index.schema)), ...draft.frontmatter };
    return newEntry(index, path, { ...draft, frontmatter });
  }
  if (draft.frontmatter !== undefined || body !== undefined || apply_defaults)
    throw fieldError('invalid_request', 'raw', 'excludes frontmatter, body and apply_defaults');
  return rawContent(raw, path);
}

/**
 * Plans a new entry.
 * @throws DomainError `not_found` for its collection, `already_exists`, `name_collision`, `invalid_name`, and what `contentOf` throws
 */
export async function planCreate(
  context: PlanContext,
  staged: StagedContent,
  { collection, ...draft }: NewEntry,
): Promise<Step<PlannedSave>> {
  const slug = checkDirectory('slug', draft.slug);
  const index = await collectionFor(context, staged, collection, slug);
  if (index.find(slug)) throw fieldError('already_exists', 'slug', `${collection} has an entry ${slug}`);
  const path = pathForNew(index, slug, {
    ...(draft.format !== undefined && { format: draft.format }),
    ...(draft.path !== undefined && { path: checkPath('path', draft.path) }),
    ...(draft.locale !== undefined && { locale: draft.locale }),
  });
  await checkFree(staged.tree, path, draft.path === undefined ? 'slug' : 'path');
  const content = contentOf(index, path, draft);
  return {
    changes: [{ path, content: content.bytes }],
    summary: `Create ${collection}/${slug}`,
    result: { index, schemaKey: staged.site.schemaKey, place: { slug, path, oid: '' }, content },
    check: checkOfHeld(index, [path], content, null),
  };
}
