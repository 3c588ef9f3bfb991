import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../../kernel/sql.ts';
import type { BlobStore } from '../../../../ports/blobs.ts';
import type { LeasedUrl } from '../../frontier/lease.ts';
import { urlHash } from '../../frontier/url-draft.ts';
import { type EarlierEntry, earlierEntrySql } from '../../snapshots/snapshot-entries.ts';
import type { KeptOutlinks, OutlinkStore } from './outlinks.ts';

/** What the newest sealed snapshot holds of a URL. */
export interface BaseEntry extends EarlierEntry {
  /** Young enough for a conditional request, and its content and outgoing links are still stored. */
  isFresh: boolean;
  /** Null: it leads nowhere, or that is gone or damaged. */
  outlinks: KeptOutlinks | null;
}

/** Where contents of earlier snapshots are. */
export interface KeptContents {
  blobs: BlobStore;
  outlinks: OutlinkStore;
}

const entrySql = earlierEntrySql('$1::integer', '$2');

/** Looks contents of entries up. @returns entries with their contents; contents that cannot be looked up count as missing */
async function contentsOf(
  { blobs, outlinks }: KeptContents,
  entries: readonly EarlierEntry[],
): Promise<(url: string, entry: EarlierEntry) => BaseEntry> {
  const young = entries.filter(({ is_young, sha256 }) => is_young && sha256 !== null);
  const [missing, linksOf] = await Promise.all([
    blobs.missing(young.flatMap(({ sha256 }) => sha256 ?? [])).catch(() => null),
    outlinks.read(new Set(young.flatMap(({ outlinks_sha256 }) => outlinks_sha256 ?? []))),
  ]);
  return (url, entry) => {
    const { is_young, sha256, outlinks_sha256 } = entry;
    const links = outlinks_sha256 === null ? null : linksOf(outlinks_sha256, url);
    const isThere = is_young && sha256 !== null && missing !== null && !missing.has(sha256);
    return { ...entry, isFresh: isThere && (outlinks_sha256 === null || links !== null), outlinks: links };
  };
}

/** What an earlier snapshot holds of a URL; undefined: nothing. */
export async function baseEntry(
  em: EntityManager,
  kept: KeptContents,
  snapshot_id: number,
  url: string,
): Promise<BaseEntry | undefined> {
  const [entry] = await executeBound<EarlierEntry>(em, entrySql, [snapshot_id, urlHash(url)]);
  return entry && (await contentsOf(kept, [entry]))(url, entry);
}

/** Leased URLs with what came along of the newest sealed snapshot. */
export async function withBase<T extends { of: Pick<LeasedUrl, 'url' | 'earlier'> }>(
  kept: KeptContents,
  slots: readonly T[],
): Promise<(T & { base: BaseEntry | undefined })[]> {
  const known = slots.flatMap(({ of }) => of.earlier ?? []);
  const baseOf = known.length === 0 ? null : await contentsOf(kept, known);
  return slots.map((slot) => {
    const { url, earlier } = slot.of;
    return { ...slot, base: earlier && baseOf?.(url, earlier) };
  });
}
