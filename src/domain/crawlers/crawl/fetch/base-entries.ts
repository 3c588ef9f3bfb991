import type { EntityManager } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import type { BlobStore, Sha256 } from '../../../ports/blobs.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import type { Outlinks } from '../../frontier/outcome.ts';
import { urlHash } from '../../frontier/url-draft.ts';
import type { EntryDraft } from '../../snapshots/entries/insert-entries.ts';

/** What the newest sealed snapshot holds of a URL. */
export interface BaseEntry extends Omit<EntryDraft, 'url' | 'url_hash' | 'kind' | 'redirect_to'> {
  /** Young enough to be asked after, and its content is still there. */
  isFresh: boolean;
}

const entriesSql = `
  select url, http_status, content_type, charset, headers, sha256, bytes::double precision as bytes, etag, last_modified, outlinks_sha256,
    request_hash, first_seen_run, fetched_at, fetched_at > now() - interval '30 days' as is_young
  from snapshot_entry
  where snapshot_id = ? and url_hash in (select decode(hash, 'hex') from unnest(string_to_array(?, ' ')) as hash)`;

/** What an earlier snapshot holds of claimed URLs, by URL. */
export async function baseEntries(
  em: EntityManager,
  blobs: BlobStore,
  snapshot_id: number,
  claimed: readonly Pick<ClaimedUrl, 'url'>[],
): Promise<Map<string, BaseEntry>> {
  if (claimed.length === 0) return new Map();
  const hashes = claimed.map(({ url }) => urlHash(url).toString('hex')).join(' ');
  const rows = await em.execute<
    (Omit<BaseEntry, 'isFresh' | 'fetched_at'> & { url: string; is_young: boolean; fetched_at: string | Date })[]
  >(entriesSql, [snapshot_id, hashes]);
  const wanted = rows.filter(({ is_young }) => is_young).flatMap(({ sha256 }) => sha256 ?? []);
  const missing = await blobs.missing(wanted);
  return new Map(
    rows.map(({ url, is_young, fetched_at, ...row }) => {
      const isFresh = is_young && row.sha256 !== null && !missing.has(row.sha256);
      return [url, { ...row, fetched_at: new Date(fetched_at), isFresh }];
    }),
  );
}

type Kept = Record<string, Outlinks>;

/** What captured pages link to, as blobs: those completed together share one. */
export class OutlinkStore {
  readonly #blobs: BlobStore;
  readonly #read = new LRUCache<Sha256, Promise<Kept>>({ max: 8 });

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
  }

  /** @returns the blob that holds them all */
  async put(pages: readonly { url: string; outlinks: Outlinks }[]): Promise<Sha256> {
    const kept: Kept = Object.fromEntries(pages.map(({ url, outlinks }) => [url, outlinks]));
    const { sha256 } = await this.#blobs.put(Buffer.from(JSON.stringify(kept)));
    return sha256;
  }

  /** Null when they are gone. */
  async get(sha256: Sha256, url: string): Promise<Outlinks | null> {
    const reading = this.#read.get(sha256) ?? this.#load(sha256);
    this.#read.set(sha256, reading);
    return (await reading)[url] ?? null;
  }

  async #load(sha256: Sha256): Promise<Kept> {
    try {
      const chunks: Uint8Array[] = [];
      for await (const chunk of this.#blobs.read(sha256)) chunks.push(chunk);
      return JSON.parse(Buffer.concat(chunks).toString('utf8'));
    } catch {
      return {};
    }
  }
}
