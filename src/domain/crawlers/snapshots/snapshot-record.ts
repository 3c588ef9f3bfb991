import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { memberLink } from '../../studio/previews/preview-link.ts';
import { crawlerLabel, snapshotLabel } from '../../studio/previews/previews.ts';
import type { StudioContext } from '../../studio/studio.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import { findableSnapshots } from './find-snapshot.ts';
import { siteAddresses } from './site-addresses.ts';
import type { CrawlSnapshot } from './snapshot.entity.ts';
import type { snapshot } from './snapshots.schema.ts';

type Record = z.output<typeof snapshot>;

/** Snapshots as callers see them, in the order given. @param crawlers those they are of */
export async function snapshotRecords(
  em: EntityManager,
  rows: readonly CrawlSnapshot[],
  crawlers: readonly Pick<Crawler, 'published_snapshot_id'>[],
): Promise<Record[]> {
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
  crawler: Crawler,
): Promise<Record> {
  const { em, actor, studio } = context;
  const [shown] = await snapshotRecords(em, [row], [crawler]);
  const record = { ...(shown as Record), preview: null, live_preview: null };
  if (!row.origins || row.state === 'expired' || !(await studio.previews.access.canHold(actor.id, em))) return record;
  const path = siteAddresses(row.origin, row.origins).pathOf(new URL(row.origins.home)) ?? '/';
  const link = (label: string) => memberLink(context, label, path);
  return {
    ...record,
    preview: await link(snapshotLabel(row.id)),
    live_preview: record.published ? await link(crawlerLabel(crawler.id)) : null,
  };
}
