import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import { urlHash } from '../frontier/url-draft.ts';
import type { LinkMapper } from './rewrite/carrier.ts';
import { type SiteAddresses, siteAddresses } from './site-addresses.ts';
import type { SnapshotOrigins } from './snapshot.entity.ts';
import type { EntryDraft } from './snapshot-entries.ts';

/** A sealed snapshot as a site. It never changes. */
export interface SnapshotSite {
  snapshot_id: number;
  addresses: SiteAddresses;
}

/** What a label stands for, and whose it is. */
interface CrawledTarget {
  organization_id: number;
  project_id: number;
  /** Null: nothing is published, or it is not kept any more. */
  site: SnapshotSite | null;
}

interface LocatedSnapshot {
  organization_id: number;
  project_id: number;
  id: number | null;
  origin: string | null;
  origins: SnapshotOrigins | null;
}

const place = `
  select project.organization_id, project.id as project_id, snapshot.id, snapshot.origin, snapshot.origins
  from crawler join project on project.id = crawler.project_id and project.deleted_at is null`;

const servable = `snapshot.state in ('ready', 'held', 'partial')`;

const liveSql = `${place}
  left join snapshot on snapshot.id = crawler.published_snapshot_id and ${servable}
  where crawler.id = ? and crawler.deleted_at is null`;

const snapshotSql = `${place}
  join snapshot on snapshot.crawler_id = crawler.id and ${servable}
  where snapshot.id = ? and crawler.deleted_at is null`;

async function load(em: EntityManager, sql: string, id: number): Promise<CrawledTarget | null> {
  const [row] = await em.execute<LocatedSnapshot[]>(sql, [id]);
  if (!row) return null;
  const { organization_id, project_id, id: snapshot_id, origin, origins } = row;
  if (snapshot_id === null || origin === null || origins === null) return { organization_id, project_id, site: null };
  return { organization_id, project_id, site: { snapshot_id, addresses: siteAddresses(origin, origins) } };
}

/** The live copy of a crawler; null when there is no such crawler. */
export const loadLiveCopy = (em: EntityManager, crawler_id: number): Promise<CrawledTarget | null> =>
  load(em, liveSql, crawler_id);

/** One snapshot; null when it does not exist or cannot be shown. */
export const loadSnapshotSite = (em: EntityManager, snapshot_id: number): Promise<CrawledTarget | null> =>
  load(em, snapshotSql, snapshot_id);

/** What a snapshot answers to a request. */
export interface SiteEntry
  extends Pick<EntryDraft, 'url' | 'http_status' | 'content_type' | 'charset' | 'sha256' | 'bytes'> {
  /** Those of the captured answer that mean the same here. */
  headers: Record<string, string>;
  /** Where a redirect leads, as it goes into the header: a path of the site, or an address elsewhere. */
  location: string | null;
}

type EntryRow = Omit<SiteEntry, 'location' | 'bytes' | 'headers'> &
  Pick<EntryDraft, 'headers'> & { bytes: string; redirect_to: string | null };

const lookUpSql = `
  select url, http_status, content_type, charset, headers, sha256, bytes, redirect_to from snapshot_entry
  where snapshot_id = ? and url_hash in (select decode(value, 'hex') from json_array_elements_text(?::json))`;

/** Characters of answers kept in memory, and of the longest request that is. */
const mostKept = 16 * 1024 * 1024;
const longestKept = 1_000;

/** What is kept: null where the snapshot holds nothing. */
interface Kept {
  entry: SiteEntry | null;
}

const weightOf = ({ entry }: Kept, key: string): number => 200 + key.length + JSON.stringify(entry).length;

function replayed(headers: EntryDraft['headers']): SiteEntry['headers'] {
  const meant = ([name, value]: [string, string]) =>
    /^content-(?:language|disposition)$/i.test(name) && /^[\t -~]*$/.test(value);
  return Object.fromEntries(Object.entries(headers ?? {}).filter(meant));
}

const withoutFragment = (path: string) => path.replace(/#.*/s, '');

/** The entry of a row; null for a redirect that would lead to where it was found: hosts that share a tree have the same paths. */
function entryOf({ bytes, headers, redirect_to, ...rest }: EntryRow, { addresses }: SnapshotSite): SiteEntry | null {
  const row = { ...rest, headers: replayed(headers), bytes: Number(bytes) };
  if (redirect_to === null || row.sha256 !== null) return { ...row, location: null };
  const path = addresses.pathOf(new URL(redirect_to));
  if (path !== null && withoutFragment(path) === addresses.pathOf(new URL(row.url))) return null;
  return { ...row, location: path ?? redirect_to };
}

/** Finds what snapshots hold at an address. Sealed snapshots do not change, so recent answers stay in memory. */
export class SiteEntries {
  readonly #orm: MikroORM;
  readonly #kept = new LRUCache<string, Kept>({ maxSize: mostKept, sizeCalculation: weightOf });

  constructor(orm: MikroORM) {
    this.#orm = orm;
  }

  /**
   * @param target path and query of a request
   * @param stripParams names of parameters that are no part of addresses, as in `normalise`
   */
  async find(site: SnapshotSite, target: string, stripParams: readonly string[]): Promise<SiteEntry | null> {
    const key = `${site.snapshot_id} ${target}`;
    const kept = this.#kept.get(key);
    if (kept) return kept.entry;
    const entry = await this.#load(site, target, stripParams);
    if (key.length <= longestKept) this.#kept.set(key, { entry });
    return entry;
  }

  async #load(site: SnapshotSite, target: string, stripParams: readonly string[]): Promise<SiteEntry | null> {
    const urls = site.addresses.urlsOf(target, stripParams);
    const hashes = urls.map((url) => urlHash(url).toString('hex'));
    const rows = await this.#orm.em.fork().execute<EntryRow[]>(lookUpSql, [site.snapshot_id, JSON.stringify(hashes)]);
    for (const url of urls) {
      const row = rows.find((each) => each.url === url);
      const entry = row ? entryOf(row, site) : null;
      if (entry) return entry;
    }
    return null;
  }
}

/** What the URL parser strips in front (WHATWG URL 4.4). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is stripped
const before = /^[\u0000-\u0020]+/;
/** A link that says more than a path. */
const absolute = /^(?:[\\/]{2}|[a-z][a-z0-9+.-]*:)/i;

/** Links of a served site: absolute ones to its hosts become paths of where it is served, all others stay. */
export function siteLinks(addresses: SiteAddresses): LinkMapper {
  return (link, base) => {
    const text = link.replace(before, '');
    if (text === '' || text.startsWith('#')) return null;
    if (!absolute.test(text) && !addresses.isApart(base)) return null;
    const url = URL.parse(link, base.href);
    return url && addresses.pathOf(url);
  };
}
