import type { z } from 'zod';
import type { EntryFacts } from '../content/entry-facts.ts';
import type { CollectionIndex, IndexedEntry } from '../content/site-index.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import { summarize, titleOfSlug } from '../frontmatter/summarize.ts';
import type { Warning } from '../schema/schema.schema.ts';
import type { entry, entrySummary } from './entries.schema.ts';

const placeOf = ({ slug, path, oid, locale, translation_key }: IndexedEntry) => ({
  slug,
  path,
  sha: oid,
  ...(locale !== undefined && { locale }),
  ...(translation_key !== undefined && { translation_key }),
});

/** Only the frontmatter keys a list asked for. */
function picked(frontmatter: EntryFacts['frontmatter'], fields: readonly string[] | undefined) {
  if (!fields || !frontmatter) return frontmatter;
  return Object.fromEntries(
    fields.flatMap((name) => (Object.hasOwn(frontmatter, name) ? [[name, frontmatter[name]]] : [])),
  );
}

/** One line of a list. */
export function summaryOf(
  collection: string,
  place: IndexedEntry,
  facts: EntryFacts,
  fields?: readonly string[],
): z.output<typeof entrySummary> {
  return {
    collection,
    ...placeOf(place),
    title: facts.title || titleOfSlug(place.slug),
    draft: facts.draft,
    frontmatter: picked(facts.frontmatter, fields),
    size: facts.size,
    ...(facts.error && { error: facts.error }),
  };
}

/** The whole entry from its file's bytes. */
export function entryOf(
  { schema }: CollectionIndex,
  place: IndexedEntry,
  bytes: Buffer,
  options: { raw?: boolean | undefined; warnings?: readonly Warning[] } = {},
): z.output<typeof entry> {
  const parsed = parseFile(bytes, place.path);
  return {
    collection: schema.collection,
    ...placeOf(place),
    ...summarize(parsed, place.slug),
    frontmatter: parsed.frontmatter,
    size: bytes.length,
    ...(parsed.error && { error: parsed.error }),
    body: parsed.body,
    format: parsed.format,
    eol: parsed.eol,
    ...(options.raw && { raw: bytes.toString('utf8') }),
    ...(parsed.lossy.length > 0 && { lossy: parsed.lossy }),
    warnings: [...(options.warnings ?? [])],
  };
}
