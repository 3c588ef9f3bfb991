import type { z } from 'zod';
import { longestAnswer, tooLong } from '../../../kernel/answer-memory.ts';
import { DomainError } from '../../../kernel/errors.ts';
import { shownPointers } from '../../../lib/json-pointer.ts';
import { isRecord } from '../../../lib/objects.ts';
import type { Commit, Snapshot } from '../../../ports/git-records.ts';
import type { CollectionIndex, IndexedEntry } from '../content/collection-index.ts';
import type { EntryFacts } from '../content/entry-facts.ts';
import type { SiteIndex } from '../content/site-index.ts';
import type { FileContent } from '../frontmatter/parse-file.ts';
import { summarize, titleOfSlug } from '../frontmatter/summarize.ts';
import { entryRoutes, urlMember } from '../routes/entry-routes.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import type { SchemaSourceKind, Warning } from '../schema/schema.schema.ts';
import type { StudioContext } from '../studio.ts';
import { viewOf } from '../view.ts';
import type { entry, entrySummary, savedEntry } from './entries.schema.ts';

/** Where frameworks look for the addresses an entry had before. */
const ofFramework: Partial<Record<SchemaSourceKind, string>> = { hugo: 'aliases', jekyll: 'redirect_from' };
const usual = new Set(['aliases', 'redirect_from', 'alias', 'redirects']);

/** A suggestion for an entry that was renamed. */
interface Redirect {
  /** JSON Pointer of the frontmatter key that makes the site redirect. */
  field: string;
  /** The slug the entry had. */
  slug: string;
  /** The address it had, when the schema defines it. */
  url?: string;
}

/** What would keep an entry's old address alive; null where neither the schema nor the framework has a key for it. */
export function redirectFor(
  { fields, source, url_pattern }: Pick<CollectionSchema, 'fields' | 'source' | 'url_pattern'>,
  slug: string,
): Redirect | null {
  const name = fields.find((field) => usual.has(field.name))?.name ?? ofFramework[source.kind];
  if (name === undefined) return null;
  const url = url_pattern?.replaceAll('{slug}', slug);
  return { field: `/${name}`, slug, ...(url !== undefined && !url.includes('{') && { url }) };
}

const placeOf = ({ slug, path, oid, locale, translation_key }: IndexedEntry) => ({
  slug,
  path,
  sha: oid,
  ...(locale !== undefined && { locale }),
  ...(translation_key !== undefined && { translation_key }),
});

type Members = Record<string, unknown>;

/** Only the requested members; `a.b` is `b` inside `a`, unless a member is called just that. */
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
    if (found.has(outer) || !isRecord(value)) continue;
    const part = membersOf(value, inner);
    if (Object.keys(part).length > 0) found.set(outer, part);
  }
  return Object.fromEntries(found);
}

/** Only the requested frontmatter keys. */
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

/** Bytes of records that are held before room is taken for them. */
const madeAtOnce = 1024 * 1024;

/**
 * Records of the entries of a page, in their order. Room is taken for all of them together, for pages that each held a part would wait for each other.
 * What they take shows only when they are made, since aliases make a short file long: a long page is made twice, and the first time none of it is kept.
 * @param record what is shown of an entry; nothing else of its facts is kept
 * @param beside bytes that are read for the records afterwards, of which room is taken at the same time
 * @throws DomainError `too_large` for more than an answer may have
 */
export async function pageRecords<Place extends IndexedEntry, Item extends object>(
  { git, studio, room }: Pick<StudioContext, 'git' | 'studio' | 'room'>,
  snapshot: Snapshot,
  places: readonly Place[],
  record: (place: Place, facts: EntryFacts) => Item | Promise<Item>,
  beside: (item: Item) => number = () => 0,
): Promise<Item[]> {
  async function* made(): AsyncGenerator<Item> {
    let next = 0;
    for await (const facts of studio.content.eachListed(git, snapshot, places)) {
      const place = places[next++];
      if (place) yield await record(place, facts);
    }
  }
  let [bytes, more] = [0, 0];
  const items: Item[] = [];
  for await (const item of made()) {
    bytes += Buffer.byteLength(JSON.stringify(item));
    more += beside(item);
    if (bytes > longestAnswer) throw tooLong(longestAnswer);
    if (bytes <= madeAtOnce) items.push(item);
    else items.length = 0;
  }
  await room(bytes + more);
  if (bytes > madeAtOnce) for await (const item of made()) items.push(item);
  return items;
}

/** What entries are called, in their order; one that is not there by its slug. */
export async function titlesOf(
  { git, studio }: Pick<StudioContext, 'git' | 'studio'>,
  { tree, site }: { tree: Snapshot; site: SiteIndex },
  entries: readonly { collection: string; slug: string; path: string }[],
): Promise<string[]> {
  const places = new Map(
    entries.flatMap(({ collection, path }) => {
      const place = site.collections.get(collection)?.at(path);
      return place ? [[path, place] as const] : [];
    }),
  );
  const titles = new Map<string, string>();
  const paths = places.keys();
  for await (const { title } of studio.content.eachListed(git, tree, [...places.values()]))
    titles.set(paths.next().value ?? '', title);
  return entries.map(({ path, slug }) => titles.get(path) || titleOfSlug(slug));
}

/** The whole entry from its file. */
export function entryOf(
  { schema }: CollectionIndex,
  place: IndexedEntry,
  { bytes, parsed }: FileContent,
  options: { raw?: boolean | undefined; warnings?: readonly Warning[] } = {},
): z.output<typeof entry> {
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
    ...(parsed.lossy.length > 0 && { lossy: shownPointers(parsed.lossy) }),
    warnings: [...(options.warnings ?? [])],
  };
}

export const maxEntryBytes = 5 * 1024 * 1024;

/** What a save leaves behind: enough to answer without reading the repository again. */
interface Saved {
  index: CollectionIndex;
  schemaKey: string;
  place: IndexedEntry;
  content: FileContent;
  warnings: Warning[];
  /** The save was merged with what happened since the writer read the entry. */
  merged?: boolean;
  renamedFrom?: string;
  references?: string[];
  assets?: string[];
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
  context: Pick<StudioContext, 'git' | 'studio' | 'project' | 'tag'>,
  snapshot: Snapshot,
  commit: Commit | null,
  saved: Saved,
): Promise<z.output<typeof savedEntry>> {
  const { entry } = await snapshot.lookup(saved.place.path);
  const place = { ...saved.place, oid: entry?.oid ?? saved.place.oid };
  const routes = await entryRoutes(context, snapshot);
  context.tag(`"${place.oid}.${viewOf([saved.schemaKey + routes.key, place.slug, undefined])}"`);
  const { bytes, parsed } = saved.content;
  if (commit) context.studio.content.wrote(context.git, place, parsed, bytes.length);
  const record = entryOf(saved.index, place, saved.content, { warnings: saved.warnings });
  return {
    ...record,
    ...urlMember(routes, record.collection, place, record.frontmatter),
    commit,
    unchanged: commit === null,
    merged: saved.merged ?? false,
    ...(saved.renamedFrom !== undefined && { renamed_from: saved.renamedFrom }),
    ...(saved.references && { references: saved.references }),
    ...(saved.assets && saved.assets.length > 0 && { assets: saved.assets }),
    ...(saved.redirect && { details: { redirect: saved.redirect } }),
  };
}
