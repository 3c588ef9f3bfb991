import { Pace } from '../../../lib/concurrency.ts';
import { pointerTo } from '../../../lib/json-pointer.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import type { SiteIndex } from '../content/site-index.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import type { SchemaField } from '../schema/schema.schema.ts';
import type { StudioContext } from '../studio.ts';

type Target = Pick<CollectionSchema, 'path' | 'source'>;

/** A path segment as GitHub makes anchors: letters, digits, `_`, `-`, in lower case. */
const githubSlug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');

/**
 * The texts that name an entry in other entries' references, in the same order for every entry of a collection, the framework's own
 * form first: its slug, its path without extension (Decap with path templates), Astro's id (each segment slugified, a trailing index
 * gone), and its path (Tina, Pages CMS). Some may be equal.
 */
export function referenceIds(collection: Target, entry: { slug: string; path: string }): string[] {
  const inside = collection.path === '' ? entry.path : entry.path.slice(collection.path.length + 1);
  const stem = inside.replace(/(?<=[^/])\.[^./]+$/, '');
  const astro = stem
    .split('/')
    .map(githubSlug)
    .join('/')
    .replace(/\/index$/, '');
  const others = [entry.slug, stem, entry.path];
  return collection.source.kind === 'astro' ? [astro, ...others] : [...others, astro];
}

/**
 * Whether the entries of a collection are all known by path, so that a reference to none of them is a fault: not of a collection
 * whose items lie in one file, or come from a loader that was not understood.
 */
export function namesEntries(schema: Pick<CollectionSchema, 'items_in_file' | 'warnings'> | undefined): boolean {
  return (
    schema !== undefined && !schema.items_in_file && !schema.warnings.some(({ code }) => code === 'loader_unknown')
  );
}

/** A value that names an entry, as the schema says. */
export interface Relation {
  /** Collection of the entry that is named. */
  collection: string;
  /** JSON Pointer into the frontmatter. */
  field: string;
  required: boolean;
  /** The text that names the entry: its slug, or another of its `referenceIds`. */
  id: string;
}

const relating = new WeakMap<readonly SchemaField[], readonly SchemaField[]>();

/** The fields that are relations, or have some within. */
function relatingFields(fields: readonly SchemaField[]): readonly SchemaField[] {
  const isRelating = ({ relation, fields = [], variants = [] }: SchemaField) =>
    relation !== undefined || relatingFields(fields).length > 0 || relatingFields(variants).length > 0;
  const found = relating.get(fields) ?? fields.filter(isRelating);
  relating.set(fields, found);
  return found;
}

/**
 * All relations in the frontmatter of an entry, and null for each place without one: thousands of items, each of thousands of variants, are gone
 * through in steps.
 * @param prefix JSON Pointer of `value`
 */
function* relationsIn(fields: readonly SchemaField[], value: unknown, prefix = ''): Generator<Relation | null> {
  if (value === null || typeof value !== 'object') return;
  for (const field of relatingFields(fields)) {
    const held = (value as Record<string, unknown>)[field.name];
    const items = Array.isArray(held) ? held : [held];
    for (const [at, item] of items.entries()) {
      const own = pointerTo(prefix, field.name);
      const here = Array.isArray(held) ? `${own}/${at}` : own;
      const written = item as { id?: unknown; slug?: unknown } | null | undefined;
      const id = typeof item === 'string' ? item : (written?.id ?? written?.slug);
      if (field.relation && typeof id === 'string')
        yield { collection: field.relation.collection, field: here, required: field.required, id };
      else yield null;
      if (field.fields) yield* relationsIn(field.fields, item, here);
      // Kinds of one object share keys: the alternatives may find the same place twice.
      const inner = new Map<string, Relation>();
      for (const one of relatingFields(field.variants ?? [])) {
        yield null;
        for (const relation of relationsIn(one.fields ?? [], item, here))
          if (relation) inner.set(relation.field, relation);
          else yield null;
      }
      yield* inner.values();
    }
  }
}

/** The first relations in the frontmatter of an entry: a list in it has room for a hundred thousand. */
export async function firstRelations(
  fields: readonly SchemaField[],
  frontmatter: unknown,
  most: number,
): Promise<Relation[]> {
  const pace = new Pace();
  const first: Relation[] = [];
  for (const relation of relationsIn(fields, frontmatter)) {
    if (pace.isDue) await pace.yield();
    if (relation && first.push(relation) === most) break;
  }
  return first;
}

/** Whether entries with these fields can name entries of a collection. */
const relatesTo = (fields: readonly SchemaField[], collection: string): boolean =>
  fields.some(
    (field) =>
      field.relation?.collection === collection ||
      relatesTo(field.fields ?? [], collection) ||
      relatesTo(field.variants ?? [], collection),
  );

/** A place in an entry that points to another entry. */
export interface Reference extends Relation {
  /** The entry that points. */
  slug: string;
  path: string;
}

/** An entry by all the texts that name it, whether it is still there or not. */
interface Named {
  collection: string;
  ids: ReadonlySet<string>;
}

export function namedIn(site: SiteIndex, { collection, slug }: { collection: string; slug: string }): Named {
  const index = site.collections.get(collection);
  const entry = index?.find(slug);
  return { collection, ids: new Set(index && entry ? referenceIds(index.schema, entry) : []) };
}

type Context = Pick<StudioContext, 'studio' | 'git'>;
interface Side {
  tree: Snapshot;
  site: SiteIndex;
}

/**
 * Calls `visit` with each relation that the schemas declare and that points to one of some entries, entry by entry and in steps; only collections
 * that can point there are read. An entry can have a hundred thousand: `visit` keeps what is needed of them.
 */
export async function visitReferences(
  { studio, git }: Context,
  { tree, site }: Side,
  targets: readonly Named[],
  visit: (reference: Reference) => void,
): Promise<void> {
  const pace = new Pace();
  const wanted = targets.filter(({ ids }) => ids.size > 0);
  for (const { schema, entries } of site.collections.values()) {
    if (!wanted.some(({ collection }) => relatesTo(schema.fields, collection))) continue;
    let at = 0;
    for await (const { frontmatter } of studio.content.eachFacts(git, tree, entries)) {
      const { slug = '', path = '' } = entries[at++] ?? {};
      if (pace.isDue) await pace.yield();
      for (const relation of relationsIn(schema.fields, frontmatter)) {
        if (pace.isDue) await pace.yield();
        if (
          relation &&
          wanted.some(({ collection, ids }) => relation.collection === collection && ids.has(relation.id))
        )
          visit({ ...relation, collection: schema.collection, slug, path });
      }
    }
  }
}

/** References that one entry has to what is looked for. */
const mostOfEntry = 100;

/**
 * Relations that point to one of some entries.
 * @param options.counts which of them are looked for; all by default
 * @param options.most how many of one entry, the first ones
 */
export async function referencesTo(
  context: Context,
  side: Side,
  targets: readonly Named[],
  { counts = () => true, most = mostOfEntry }: { counts?: (reference: Reference) => boolean; most?: number } = {},
): Promise<Reference[]> {
  const found: Reference[] = [];
  await visitReferences(context, side, targets, (reference) => {
    if (found.at(-most)?.path !== reference.path && counts(reference)) found.push(reference);
  });
  return found;
}
