import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../bound-query.ts';
import type { BlobStore } from '../../../ports/blobs.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import { urlHash } from '../../frontier/url-draft.ts';
import { type EarlierEntry, earlierEntrySql } from '../../snapshots/entries/earlier-entry.ts';

/** What the newest sealed snapshot holds of a URL. */
export interface BaseEntry extends EarlierEntry {
  /** Young enough to be asked after, and its content is still there. */
  isFresh: boolean;
}

const entrySql = earlierEntrySql('$1::integer', '$2');

async function freshen(
  blobs: BlobStore,
  entries: readonly EarlierEntry[],
): Promise<(entry: EarlierEntry) => BaseEntry> {
  const missing = await blobs.missing(entries.flatMap(({ is_young, sha256 }) => (is_young && sha256) || []));
  const isFresh = ({ is_young, sha256 }: EarlierEntry) => is_young && sha256 !== null && !missing.has(sha256);
  return (entry) => ({ ...entry, isFresh: isFresh(entry) });
}

/** What an earlier snapshot holds of a URL; undefined: nothing. */
export async function baseEntry(
  em: EntityManager,
  blobs: BlobStore,
  snapshot_id: number,
  url: string,
): Promise<BaseEntry | undefined> {
  const [entry] = await executeBound<EarlierEntry>(em, entrySql, [snapshot_id, urlHash(url)]);
  return entry && (await freshen(blobs, [entry]))(entry);
}

/** Leased URLs with what came along of the newest sealed snapshot; where its contents cannot be looked at they are asked for whole. */
export async function withBase<T extends { of: Pick<ClaimedUrl, 'earlier'> }>(
  blobs: BlobStore,
  slots: readonly T[],
): Promise<(T & { base: BaseEntry | undefined })[]> {
  const known = slots.flatMap(({ of }) => of.earlier ?? []);
  const fresh = known.length === 0 ? null : await freshen(blobs, known).catch(() => null);
  return slots.map((slot) => ({ ...slot, base: slot.of.earlier && fresh?.(slot.of.earlier) }));
}
