import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { idsThere } from '../../../kernel/sql.ts';
import type { ProjectContext } from '../../projects/operation.ts';
import { memberLink } from '../../studio/previews/preview-link.ts';
import { crawlerLabel, snapshotLabel } from '../../studio/previews/previews.ts';
import type { StudioContext } from '../../studio/studio.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import { namedCrawler } from '../config/find-crawler.ts';
import { siteAddresses } from './site-addresses.ts';
import { CrawlSnapshot } from './snapshot.entity.ts';
import type { snapshot } from './snapshots.schema.ts';

/** Not one that has been discarded, and only waits for its rows to be removed. */
export const notDiscarded = { $or: [{ state: { $ne: 'expired' as const } }, { sealed_at: { $ne: null } }] };

/**
 * Which of these snapshots can still be read, in one query: ids of removed ones are not shown to callers.
 * @param ids null and undefined stand for none
 */
export const findableSnapshots = (
  em: EntityManager,
  ids: readonly (number | null | undefined)[],
): Promise<ReadonlySet<number>> => idsThere(em, CrawlSnapshot, ids, notDiscarded);

/** @throws DomainError `busy` for a snapshot whose run is still at it */
export function requireCaptured({ id, state }: Pick<CrawlSnapshot, 'id' | 'state'>): void {
  if (state === 'building') throw new DomainError('busy', `Snapshot ${id} is still being captured`);
}

/** @throws DomainError `protected` for a snapshot whose contents are gone, or are going */
export function requireFiles({ id, state }: Pick<CrawlSnapshot, 'id' | 'state'>): void {
  if (state === 'expired') throw new DomainError('protected', `Snapshot ${id} has expired: its files are gone`);
}

/**
 * A snapshot of a crawler; `lock` holds its row until the transaction ends, also against the nightly look at what is old.
 * @throws DomainError `not_found` for one that is unknown, deleted, or of another crawler
 */
export async function findSnapshot(
  em: EntityManager,
  crawler_id: number,
  id: number,
  { lock = false }: { lock?: boolean } = {},
): Promise<CrawlSnapshot> {
  const where = { id, crawler_id, ...notDiscarded };
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const row = await em.findOne(CrawlSnapshot, where, { refresh: true, ...(lock && { lockMode }) });
  if (row) return row;
  throw new DomainError('not_found', 'Snapshot not found');
}

/** Looks up the crawler an input that was refused names, and its snapshot. @throws DomainError `not_found` */
export async function namedSnapshot(context: ProjectContext, given: Record<string, unknown>): Promise<void> {
  const crawler = await namedCrawler(context, given);
  const { snapshot } = given;
  if (crawler && Number.isInteger(snapshot)) await findSnapshot(context.em, crawler.id, Number(snapshot));
}

type SnapshotRecord = z.output<typeof snapshot>;

/** Snapshots as callers see them, in the order given. @param crawlers those they are of */
export async function snapshotRecords(
  em: EntityManager,
  rows: readonly CrawlSnapshot[],
  crawlers: readonly Pick<Crawler, 'published_snapshot_id'>[],
): Promise<SnapshotRecord[]> {
  const live = new Set(crawlers.map(({ published_snapshot_id }) => published_snapshot_id));
  const bases = await findableSnapshots(
    em,
    rows.map(({ base_id }) => base_id),
  );
  return rows.map(({ origins: _, checks, ...shown }) => ({
    ...shown,
    base_id: shown.base_id != null && bases.has(shown.base_id) ? shown.base_id : null,
    note: shown.note ?? null,
    sealed_at: shown.sealed_at ?? null,
    published_at: shown.published_at ?? null,
    checks: checks ?? [],
    published: live.has(shown.id),
  }));
}

/** A snapshot with the addresses that open it, where there is something to see and the caller can be given them. */
export async function openSnapshot(
  context: Pick<StudioContext, 'em' | 'services' | 'studio' | 'actor'>,
  row: CrawlSnapshot,
  crawler: Pick<Crawler, 'id' | 'published_snapshot_id'>,
): Promise<SnapshotRecord> {
  const { em, actor, studio } = context;
  const [shown] = await snapshotRecords(em, [row], [crawler]);
  const record = { ...(shown as SnapshotRecord), preview: null, live_preview: null };
  if (!row.origins || row.state === 'expired' || !(await studio.previews.access.canHold(actor.id, em))) return record;
  const path = siteAddresses(row.origin, row.origins).pathOf(new URL(row.origins.home)) ?? '/';
  const link = (label: string) => memberLink(context, label, path);
  return {
    ...record,
    preview: await link(snapshotLabel(row.id)),
    live_preview: record.published ? await link(crawlerLabel(crawler.id)) : null,
  };
}
