import type { EntityManager } from '@mikro-orm/postgresql';
import { forEachYielding } from '../../../lib/concurrency.ts';
import type { UrlKind } from '../frontier/crawl-url.entity.ts';
import type { LeasedUrl } from '../frontier/lease.ts';
import type { Outlinks } from '../frontier/outcome.ts';
import {
  hostOfUrl,
  keyBytes,
  type LinkKey,
  type LinkKeys,
  linkKey,
  noKeys,
  packKeys,
  priorities,
  type UrlDraft,
  urlHash,
  viewOf,
} from '../frontier/url-draft.ts';
import type { LogLine } from '../runs/run-feed.ts';
import { QueryFanout, SameContent } from '../urls/trap-counters.ts';
import type { KeptOutlinks } from './fetch/outlinks.ts';
import type { RunSite } from './open/run-site.ts';

/** Half of what is remembered. */
const generation = 30_000;

/** A cache in two generations: evicts what was not read while a whole generation of other keys was added. */
class Generations<Key, Value> {
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  get(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: Key, value: Value): void {
    if (this.#young.size >= generation) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}

/** Whether a way to a URL is no better than the best before; depths of both. */
const isReached = (before: number | undefined, depth: number): boolean => before !== undefined && before <= depth;

/** What a run remembers of a URL it has come across: its key, and by kind the least depth it was found at. */
interface Seen extends LinkKey {
  page?: number;
  asset?: number;
  sitemap?: number;
}

/**
 * The URLs a run came across lately, so that what every page links to is decided, hashed and written once. URLs that
 * were not found for long are evicted: the frontier itself holds them all.
 */
export class SeenUrls {
  /** By the lower half of their keys; of two URLs that share it, the later one replaces the earlier. */
  readonly #byKey = new Generations<number, Seen>();
  /** Those whose keys took a hash to find. */
  readonly #byUrl = new Generations<string, Seen>();

  /** What is remembered of a URL; one that is not begins anew. */
  of(url: string): Seen {
    const known = this.#byUrl.get(url);
    if (known) return known;
    const { high, low } = linkKey(urlHash(url));
    const seen = this.keyed(high, low);
    this.#byUrl.set(url, seen);
    return seen;
  }

  /** The same by the halves of its key. */
  keyed(high: number, low: number): Seen {
    const known = this.#byKey.get(low);
    if (known?.high === high) return known;
    const seen: Seen = { high, low };
    this.#byKey.set(low, seen);
    return seen;
  }

  /** Whether this way to a URL is no better than one before. */
  isKnown(high: number, low: number, kind: UrlKind, depth: number): boolean {
    const seen = this.#byKey.get(low);
    return seen?.high === high && isReached(seen[kind], depth);
  }
}

/** @returns whether this way to a URL is new, or shorter than all before */
function noteWay(seen: Seen, kind: UrlKind, depth: number): boolean {
  if (isReached(seen[kind], depth)) return false;
  seen[kind] = depth;
  return true;
}

/** Rows read together. */
const page = 5_000;

/** Calendars, facets and echoes: what a run has met of queries without end. */
export class QueryTraps {
  readonly #fanout = new QueryFanout();
  readonly #same = new SameContent();
  readonly #reported = new Set<string>();

  /** Counts again what a run came across before this process worked on it. */
  async recall(em: EntityManager, run_id: number): Promise<void> {
    for (let after = 0; ; ) {
      const rows = await em.execute<{ id: string; url: string; sha256: string | null }[]>(
        // A question mark in the text would be taken for a parameter.
        `select id, url, sha256 from crawl_url
         where run_id = ? and id > ? and strpos(url, chr(63)) > 0 and state <> 'skipped' order by id limit ${page}`,
        [run_id, after],
      );
      for (const { url, sha256 } of rows) {
        this.#fanout.admits(url);
        if (sha256 !== null) this.#same.add(url, sha256);
      }
      const last = rows.at(-1);
      if (!last || rows.length < page) return;
      after = Number(last.id);
    }
  }

  /** @returns the rule that leaves a URL out, and whether that has to be said: once for each path */
  rule(url: string): { rule: 'query_fanout' | 'same_content'; isFirst: boolean } | null {
    const rule = !this.#same.admits(url) ? 'same_content' : !this.#fanout.admits(url) ? 'query_fanout' : null;
    if (rule === null) return null;
    const path = `${rule} ${url.split('?', 1)[0]}`;
    const isFirst = !this.#reported.has(path) && this.#reported.size < 1_000;
    if (isFirst) this.#reported.add(path);
    return { rule, isFirst };
  }

  /** Whether a URL in the frontier is still worth asking for. */
  admits(url: string): boolean {
    return this.#same.admits(url);
  }

  /** Takes note of what a URL answered with. */
  captured(url: string, sha256: string): void {
    this.#same.add(url, sha256);
  }
}

/** How deep sheets may import one another, and indexes of sitemaps. */
export const mostLevels = { sheets: 10, indexes: 5 };

/** What decides about URLs that are found. */
export interface Discovery {
  site: RunSite;
  seen: SeenUrls;
  traps: QueryTraps;
  /** Most link hops. */
  depth: number;
  say(line: LogLine): void;
}

type Found = Pick<UrlDraft, 'kind' | 'is_entry' | 'follows' | 'depth' | 'hop' | 'level' | 'parent_id'>;

/** The rule that leaves a URL out; null: it is taken. */
async function ruleOf(
  { site, traps, depth, say }: Discovery,
  url: string,
  host: string,
  found: Found,
): Promise<string | null> {
  const rule = await site.skips(url, host, found.kind, found.is_entry);
  if (rule !== null) return rule;
  if (!found.is_entry) {
    const trap = traps.rule(url);
    if (trap?.isFirst)
      say({
        level: 'warn',
        event: trap.rule,
        message: `One path with ever new queries: no more of them are fetched, such as ${url}`,
        data: { url },
      });
    if (trap) return trap.rule;
  }
  if (found.kind === 'page' && found.depth > depth) return 'depth';
  return found.kind === 'asset' && found.level > mostLevels.sheets ? 'depth' : null;
}

/** A URL as it enters the frontier. */
export async function draftOf(discovery: Discovery, url: string, found: Found): Promise<UrlDraft> {
  const rule = await ruleOf(discovery, url, hostOfUrl(url), found);
  return { url, ...found, priority: priorities[found.kind], rule };
}

/** What a captured URL leads to: what the run has not come across like this yet, and the keys of all it links to. */
export interface Led {
  drafts: UrlDraft[];
  link_keys: LinkKeys;
}

export const ledNowhere: Led = { drafts: [], link_keys: noKeys };

/**
 * What a captured URL leads to by its document.
 * @param known keys of all its links and assets, in their order, where they are known
 */
export async function discover(
  discovery: Discovery,
  of: LeasedUrl,
  { links, assets }: Outlinks,
  known?: LinkKeys,
): Promise<Led> {
  const { seen } = discovery;
  const drafts: UrlDraft[] = [];
  const all = new Set<Seen>();
  const view = known && viewOf(known);
  let at = 0;
  const come = (url: string, kind: UrlKind, depth: number, level: number) => {
    const found = view ? seen.keyed(view.getInt32(at), view.getInt32(at + 4)) : seen.of(url);
    at += keyBytes;
    all.add(found);
    // Most links are known, and need not be waited for.
    if (!noteWay(found, kind, depth)) return undefined;
    const way = { kind, is_entry: false, follows: true, depth, hop: 0, level, parent_id: of.id };
    return draftOf(discovery, url, way).then((draft) => drafts.push(draft));
  };
  // By index: taking pairs apart as iterables makes more garbage than all else here.
  if (of.follows) await forEachYielding(links, (link) => come(link[0], 'page', of.depth + 1, 0));
  // What a sheet needs is relative to the sheet; what a page needs, begins anew.
  const level = of.kind === 'asset' ? of.level + 1 : 1;
  await forEachYielding(assets, (asset) => come(asset[0], 'asset', of.depth, level));
  return { drafts, link_keys: known ?? packKeys(all) };
}

/** The same of a URL whose document has not changed. */
export async function discoverAgain(discovery: Discovery, of: LeasedUrl, kept: KeptOutlinks): Promise<Led> {
  const { keys, links } = kept;
  if (!of.follows || keys.length === 0) return discover(discovery, of, kept.outlinks());
  const view = viewOf(keys);
  for (let at = 0; at < keys.length; at += keyBytes) {
    const isLink = at < links * keyBytes;
    const [kind, depth] = isLink ? (['page', of.depth + 1] as const) : (['asset', of.depth] as const);
    if (!discovery.seen.isKnown(view.getInt32(at), view.getInt32(at + 4), kind, depth))
      return discover(discovery, of, kept.outlinks(), keys);
  }
  return { drafts: [], link_keys: keys };
}
