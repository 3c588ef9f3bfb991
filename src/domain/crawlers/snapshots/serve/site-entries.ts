import type { MikroORM } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import { upTo } from '../../../lru-size.ts';
import { urlHash } from '../../frontier/url-draft.ts';
import type { EntryDraft } from '../entries/insert-entries.ts';
import type { SnapshotSite } from './snapshot-site.ts';

/** What a snapshot answers to a request. */
export interface SiteEntry
  extends Pick<EntryDraft, 'url' | 'http_status' | 'content_type' | 'charset' | 'headers' | 'sha256' | 'bytes'> {
  /** Where a redirect leads, as it goes into the header: a path of the site, or an address elsewhere. */
  location: string | null;
}

type Row = Omit<SiteEntry, 'location' | 'bytes'> & { bytes: string; redirect_to: string | null };

const lookUpSql = `
  select url, http_status, content_type, charset, headers, sha256, bytes, redirect_to from snapshot_entry
  where snapshot_id = ? and url_hash in (select decode(value, 'hex') from json_array_elements_text(?::json))`;

/** Answers kept in memory, and the longest request that is; characters. */
const mostKept = 20_000;
const longestKept = 1_000;

const withoutFragment = (path: string) => path.replace(/#.*$/s, '');

/** The entry of a row; null for a redirect that would lead to where it was found: hosts that share a tree have the same paths. */
function entryOf({ bytes, redirect_to, ...row }: Row, { addresses }: SnapshotSite): SiteEntry | null {
  if (redirect_to === null || row.sha256 !== null) return { ...row, bytes: Number(bytes), location: null };
  const path = addresses.pathOf(new URL(redirect_to));
  if (path !== null && withoutFragment(path) === addresses.pathOf(new URL(row.url))) return null;
  return { ...row, bytes: Number(bytes), location: path ?? redirect_to };
}

/** Finds what snapshots hold at an address. Sealed snapshots do not change, so what was asked for last stays in memory. */
export class SiteEntries {
  readonly #orm: MikroORM;
  readonly #kept = new LRUCache<string, { entry: SiteEntry | null }>(upTo(mostKept));

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
    const rows = await this.#orm.em.fork().execute<Row[]>(lookUpSql, [site.snapshot_id, JSON.stringify(hashes)]);
    for (const url of urls) {
      const row = rows.find((each) => each.url === url);
      const entry = row ? entryOf(row, site) : null;
      if (entry) return entry;
    }
    return null;
  }
}
