import { mapYielding, Pace } from '../../../lib/concurrency.ts';
import { VersionCache } from '../../../lib/version-cache.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import { type CollectionIndex, earlierPlaces, type IndexedEntry } from '../content/collection-index.ts';
import { unreadable } from '../content/entry-facts.ts';
import type { Warning } from '../schema/schema.schema.ts';
import type { StudioContext } from '../studio.ts';
import type { EntryRoutes } from './entry-routes.ts';
import { pageKey } from './published-pages.ts';

type Context = Pick<StudioContext, 'git' | 'studio' | 'project'>;

/** Where the site publishes an entry. */
interface EntryAddress {
  /** Percent-encoded path; undefined for what has no page. */
  url: string | undefined;
  /** Further paths that lead on to the page. */
  aliases: readonly string[];
}

const nowhere: EntryAddress = { url: undefined, aliases: [] };

/** The addresses of a collection's entries, in their order. */
interface CollectionAddresses {
  entries: readonly IndexedEntry[];
  addresses: readonly EntryAddress[];
  isWhole: boolean;
}

const collections = new VersionCache<CollectionAddresses>({
  versions: 32,
  subjects: 16,
  weight: { most: 1_000_000, of: ({ entries }) => entries.length },
});

/** The addresses of all entries of a collection, in their order; those of entries that have not changed are taken from the version before. */
async function addressesOf(
  { git, studio }: Context,
  snapshot: Snapshot,
  index: CollectionIndex,
  routes: EntryRoutes,
): Promise<readonly EntryAddress[]> {
  const { collection } = index.schema;
  const derive = async (latest: CollectionAddresses | undefined): Promise<CollectionAddresses> => {
    const { entries } = index;
    const before = latest && (await earlierPlaces(entries, latest.entries));
    const missing: IndexedEntry[] = [];
    const known = await mapYielding(entries, (entry, at) => {
      const address = before && latest.addresses[before[at] ?? -1];
      if (!address) missing.push(entry);
      return address;
    });
    const made: EntryAddress[] = [];
    const pace = new Pace();
    let isWhole = true;
    for await (const facts of studio.content.eachListed(git, snapshot, missing)) {
      const entry = missing[made.length];
      if (!entry) break;
      if (facts === unreadable) isWhole = false;
      const url = routes.urlOf(collection, entry, facts.frontmatter);
      made.push({ url, aliases: url === undefined ? [] : routes.aliasesOf(collection, entry, facts.frontmatter) });
      if (pace.isDue) await pace.yield();
    }
    let next = 0;
    const addresses = await mapYielding(known, (address) => address ?? made[next++] ?? nowhere);
    return { entries, addresses, isWhole };
  };
  const subject = JSON.stringify([git.id, collection, routes.key]);
  // An object that is damaged now may come back.
  const { addresses } = await collections.of(subject, String(index.version), derive, ({ isWhole }) => isWhole);
  return addresses;
}

/** Which entry an address shows. */
export interface EntryPlace {
  collection: string;
  slug: string;
  path: string;
}

type ReverseIndex = ReadonlyMap<string, readonly [EntryPlace, ...EntryPlace[]]>;
const indexes = new VersionCache<ReverseIndex>({
  versions: 16,
  subjects: 1,
  weight: { most: 500_000, of: ({ size }) => size },
});

/**
 * The entry whose page an address shows or leads on to: with or without origin, slash at the end and `index.html`; null when no entry has it.
 * @param routes the project's saved ones, or those of its framework
 */
export async function entryAtUrl(
  context: Context,
  snapshot: Snapshot,
  routes: EntryRoutes,
  url: string,
): Promise<EntryPlace | null> {
  const [first = null] = await entriesAtUrl(context, snapshot, routes, url);
  return first;
}

/** Entries at one address that are kept. */
const mostShared = 5;

/** All entries that have an address, always in the same order: more than one are a fault of the site, whose build decides which of them is shown. */
export async function entriesAtUrl(
  context: Context,
  snapshot: Snapshot,
  routes: EntryRoutes,
  url: string,
): Promise<readonly EntryPlace[]> {
  if (routes.key === '') return [];
  const { git, project } = context;
  const subject = JSON.stringify([git.id, project.settings.content_root]);
  const index = await indexes.of(subject, `${snapshot.tree} ${routes.key}`, () => readIndex(context, snapshot, routes));
  return index.get(pageKey(url)) ?? [];
}

async function readIndex(context: Context, snapshot: Snapshot, routes: EntryRoutes): Promise<ReverseIndex> {
  const { git, studio } = context;
  const site = await studio.content.site(git, snapshot);
  const found = new Map<string, [EntryPlace, ...EntryPlace[]]>();
  const leadingOn: [string, EntryPlace][] = [];
  const pace = new Pace();
  for (const [collection, index] of site.collections) {
    const addresses = await addressesOf(context, snapshot, index, routes);
    for (const [at, { slug, path }] of index.entries.entries()) {
      if (pace.isDue) await pace.yield();
      const { url, aliases = [] } = addresses[at] ?? {};
      if (url === undefined) continue;
      const place = { collection, slug, path };
      const others = found.get(pageKey(url));
      if (!others) found.set(pageKey(url), [place]);
      else if (others.length < mostShared) others.push(place);
      for (const alias of aliases) leadingOn.push([pageKey(alias), place]);
    }
  }
  // A page of its own stands where an alias does, too.
  for (const [key, place] of leadingOn) if (!found.has(key)) found.set(key, [place]);
  return found;
}

/** Entries at one address that are reported. */
const mostDuplicates = 50;

/** A warning for each entry whose page has the address of another one, which the site then publishes in its place. */
export async function duplicateAddresses(
  context: Context,
  snapshot: Snapshot,
  indexes: readonly CollectionIndex[],
  routes: EntryRoutes,
): Promise<Warning[]> {
  const holders = new Map<string, string>();
  const warnings: Warning[] = [];
  const pace = new Pace();
  for (const index of indexes) {
    const addresses = await addressesOf(context, snapshot, index, routes);
    for (const [at, { path }] of index.entries.entries()) {
      if (pace.isDue) await pace.yield();
      const url = addresses[at]?.url;
      if (url === undefined) continue;
      const holder = holders.get(url);
      if (holder === undefined) {
        holders.set(url, path);
        continue;
      }
      const message = `${holder} and ${path} have the same address, ${url}`;
      warnings.push({ code: 'same_url', message, path, collection: index.schema.collection });
      if (warnings.length === mostDuplicates) return warnings;
    }
  }
  return warnings;
}
