import path from 'node:path';
import { Pace } from '../../../lib/concurrency.ts';
import { decodedUri } from '../../../lib/text.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { deepestPath, pathBytes } from '../path-rules.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import type { SchemaField } from '../schema/schema.schema.ts';
import { type Aliases, isAliasConfig, readAliases } from '../schema/static/aliases.ts';

/** Values of one entry that are looked up; what comes after is taken as it is. */
const mostValues = 1000;

const alias = /^[~@#$]/;
const template = /\{\{|\{%|\$\{|<%/;

/** Whether fields hold images or files, at any depth. */
export const hasMedia = (fields: readonly SchemaField[]): boolean =>
  fields.some(
    ({ type, fields: own = [], variants = [] }) =>
      type === 'image' || type === 'file' || hasMedia(own) || hasMedia(variants),
  );

/** Where a URL of the site leads: into the media roots, or to a path from the root, with or without the base the site is published under. */
function publishedPlaces({ discovery }: SiteIndex, url: string): string[] | null {
  const segments = url.split('/').filter(Boolean);
  // No tree is deeper. A URL of thousands of segments has millions in all of its ends.
  const ends = segments.slice(-deepestPath);
  const rests = ends.map((_, at) => ends.slice(at).join('/'));
  const roots = discovery.mediaRoots.flatMap(({ path: root, public_path }) => {
    if (public_path === null) return [];
    const base = public_path.replace(/\/?$/, '/');
    return [...(url.startsWith(base) ? [url.slice(base.length)] : []), ...rests].map((rest) =>
      path.posix.join(root, rest),
    );
  });
  const whole = segments.join('/');
  return roots.length === 0 ? null : [...roots, path.posix.join(discovery.contentRoot, whole), whole];
}

/** Where a path without a mark leads: from the entry, from the directory that is named like it, or from where the site keeps its files. */
function plainPlaces({ discovery }: SiteIndex, schema: CollectionSchema, entries: readonly string[], text: string) {
  const homes = entries.flatMap((entry) => [path.posix.dirname(entry), entry.replace(/\.[^./]+$/, '')]);
  const roots = [...discovery.mediaRoots.map((root) => root.path), schema.media_path ?? '', discovery.contentRoot, ''];
  return [...homes, ...roots].map((home) => path.posix.join(home, text));
}

/** Where a value of an image or file field may lead; null: the repository alone cannot tell. */
function placesOf(
  site: SiteIndex,
  schema: CollectionSchema,
  entries: readonly string[],
  value: string,
  aliases: Aliases,
): string[] | null {
  if (value === '' || value.length > pathBytes || template.test(value)) return null;
  if (alias.test(value)) {
    const places = aliases(value);
    return places.length === 0 ? null : places;
  }
  if (value.startsWith('/')) return publishedPlaces(site, value);
  if (/^\.\.?\//.test(value)) return entries.map((entry) => path.posix.join(path.posix.dirname(entry), value));
  return plainPlaces(site, schema, entries, value);
}

/** Whether a file is at one of several places, looked for in steps. */
async function isAtOne(tree: Snapshot, places: Iterable<string>, pace: Pace): Promise<boolean> {
  for (const place of places) {
    if (await isFile(tree, place)) return true;
    if (pace.isDue) await pace.yield();
  }
  return false;
}

async function isFile(tree: Snapshot, place: string): Promise<boolean> {
  if (place.startsWith('../')) return false;
  const { entry, blocked } = await tree.lookup(place);
  // What lies behind a link is not followed, and may be there.
  return blocked !== null || (entry !== null && entry.mode !== '40000');
}

async function aliasesFor(tree: Snapshot, entry: string, values: readonly string[]): Promise<Aliases> {
  return values.some((value) => alias.test(value))
    ? (await aliasesOf(tree, entry, await aliasConfigs(tree))).aliases
    : () => [];
}

/** What was found in trees, for as long as they are in use: thousands of entries of one are looked up one after the other. */
const knownConfigs = new WeakMap<Snapshot, ReadonlySet<string>>();

/** The files of a tree that say what aliases there are. */
export async function aliasConfigs(tree: Snapshot): Promise<ReadonlySet<string>> {
  const known = knownConfigs.get(tree);
  if (known) return known;
  const found = new Set((await tree.files()).map((file) => file.path).filter(isAliasConfig));
  knownConfigs.set(tree, found);
  return found;
}

/** What the config nearest to an entry says of aliases. */
export async function aliasesOf(
  tree: Snapshot,
  entry: string,
  configs: ReadonlySet<string>,
): ReturnType<typeof readAliases> {
  const paths = await tree.files();
  const read = async (file: string) => {
    const { entry: found } = await tree.lookup(file);
    return found ? (await tree.blob(found.oid)).toString('utf8') : null;
  };
  return readAliases(entry, { paths, read }, configs);
}

/**
 * Looks up the values of an entry's image and file fields in a tree.
 * @param entries path of the entry, and where it came from when it is renamed
 * @returns whether a value may stand: it leads to a file, or where it leads is unknown
 */
export async function lookUpMedia(
  { tree, site }: { tree: Snapshot; site: SiteIndex },
  schema: CollectionSchema,
  entries: readonly string[],
  values: readonly string[],
): Promise<(value: string) => boolean> {
  const looked = values.slice(0, mostValues);
  const aliases = await aliasesFor(tree, entries[0] ?? '', looked);
  const missing = new Set<string>();
  const pace = new Pace();
  for (const value of looked) {
    if (pace.isDue) await pace.yield();
    const forms = new Set([value, value.replace(/[?#].*/s, '')].flatMap((form) => [form, decodedUri(form)]));
    const places = [...forms].map((form) => placesOf(site, schema, entries, form, aliases));
    if (places.includes(null)) continue;
    if (!(await isAtOne(tree, new Set(places.flatMap((some) => some ?? [])), pace))) missing.add(value);
  }
  return (value) => !missing.has(value);
}
