import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { freeObject } from '../../../kernel/shapes.ts';
import { jsonBytes } from '../../../lib/long-output.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import { checkFree } from '../changes/write-rules.ts';
import type { CollectionIndex } from '../content/collection-index.ts';
import { refInput, snapshotOf } from '../repository/refs.ts';
import { fillText, fillValue, slugOf, type TemplateValues } from '../schema/entry-template.ts';
import { schemaSource } from '../schema/schema.schema.ts';
import { studioOperation } from '../studio-operation.ts';
import { defaultsOf } from './plan/change-entry.ts';
import { collectionFor, pathForNew } from './plan/plan-create.ts';

/** Names that are tried, from the plain one on. */
const mostNames = 1000;
const taken: ReadonlySet<string> = new Set(['already_exists', 'name_collision', 'not_editable']);

/** Whether `createEntry` would take a slug. @throws DomainError `invalid_name` when the collection holds no file of that name */
async function isFree(head: Snapshot, index: CollectionIndex, slug: string, locale?: string): Promise<boolean> {
  if (index.find(slug)) return false;
  try {
    await checkFree(head, pathForNew(index, slug, locale === undefined ? {} : { locale }), 'slug');
    return true;
  } catch (error) {
    if (error instanceof DomainError && taken.has(error.code)) return false;
    throw error;
  }
}

/** The first of `a`, `a-2`, `a-3` … that is free. @throws DomainError `already_exists` when none is */
async function freeSlug(head: Snapshot, index: CollectionIndex, plain: string, locale?: string): Promise<string> {
  for (let n = 1; n <= mostNames; n += 1) {
    const slug = n === 1 ? plain : `${plain}-${n}`;
    if (await isFree(head, index, slug, locale)) return slug;
  }
  throw new DomainError('already_exists', `title: all names from ${plain} to ${plain}-${mostNames} are taken`);
}

/**
 * What a new entry begins with: a free slug by the site's own pattern, the defaults of the fields with what the site's template or archetype
 * sets, and its body. Nothing is written, and the name is not reserved: `createEntry` refuses it when another has taken it.
 */
export const entryTemplate = studioOperation({
  name: 'studio.entryTemplate',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'What a new entry of a collection begins with',
  input: z.object({
    collection: z.string(),
    title: z.string().max(1_000, 'must be at most 1000 characters').default('').describe('Title of the new entry'),
    locale: z.string().optional().describe('Language of the new entry, as for its creation'),
    ...refInput,
  }),
  output: z
    .object({
      slug: z.string().describe("A free name by the site's own pattern"),
      frontmatter: freeObject.describe('Title, defaults of the fields, and what the template sets'),
      body: z.string(),
      source: schemaSource.describe('The configuration or archetype this is from'),
    })
    .meta({ id: 'EntryTemplate' }),
  async execute({ git, studio, services, room }, { collection, title, locale, ...at }) {
    const head = await snapshotOf(git, at);
    const site = await studio.content.site(git, head);
    const index = await collectionFor({ studio }, { head, site }, collection, 'untitled');
    const { template = {}, identifier_field: identifier, source, fields } = index.schema;
    const key = identifier ?? (fields.length === 0 ? 'title' : undefined);
    const own = key === undefined || title === '' ? {} : { [key]: title };
    const defaults = { ...defaultsOf(index.schema), ...own };
    const values: TemplateValues = { title, now: services.clock.now(), frontmatter: defaults };
    const slug = await freeSlug(head, index, slugOf(template, values), locale);
    const named: TemplateValues = { ...values, name: slug.slice(slug.lastIndexOf('/') + 1) };
    const set = fillValue(template.frontmatter ?? {}, named) as Record<string, unknown>;
    const frontmatter = { ...defaults, ...set, ...own };
    const body = fillText(template.body ?? '', named);
    await room(body.length + (await jsonBytes(frontmatter)).length);
    return {
      slug,
      frontmatter,
      body,
      source: template.source ?? source,
    };
  },
});
