import type { z } from 'zod';
import type { CollectionIndex, IndexedEntry } from '../content/collection-index.ts';
import type { EntryFacts } from '../content/entry-facts.ts';
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

type Members = Record<string, unknown>;

const isObject = (value: unknown): value is Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** Only the members asked for; `a.b` is `b` inside `a`, unless a member is called just that. */
function membersOf(record: Members, names: readonly string[]): Members {
  const found = new Map<string, unknown>();
  const inside = new Map<string, string[]>();
  for (const name of names) {
    const dot = name.indexOf('.');
    if (Object.hasOwn(record, name)) found.set(name, record[name]);
    else if (dot !== -1) {
      const outer = name.slice(0, dot);
      inside.set(outer, [...(inside.get(outer) ?? []), name.slice(dot + 1)]);
    }
  }
  for (const [outer, inner] of inside) {
    const value = Object.hasOwn(record, outer) ? record[outer] : undefined;
    if (found.has(outer) || !isObject(value)) continue;
    const part = membersOf(value, inner);
    if (Object.keys(part).length > 0) found.set(outer, part);
  }
  return Object.fromEntries(found);
}

/** Only the frontmatter keys a list asked for. */
const picked = (frontmatter: EntryFacts['frontmatter'], fields: readonly string[] | undefined) =>
  fields && frontmatter ? membersOf(frontmatter, fields) : frontmatter;

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
