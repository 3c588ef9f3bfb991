import type { z } from 'zod';
import type { ProjectContext } from '../../operation.ts';
import { crawlerLabel, snapshotLabel } from '../../studio/previews/preview-label.ts';
import { canHoldPass, memberLink } from '../../studio/previews/preview-link.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import { siteAddresses } from './serve/site-addresses.ts';
import type { CrawlSnapshot } from './snapshot.entity.ts';
import type { snapshot } from './snapshots.schema.ts';

type Record = z.output<typeof snapshot>;

/** A snapshot as callers see it. */
export function snapshotRecord(row: CrawlSnapshot, { published_snapshot_id }: Crawler): Record {
  const { origins: _, checks, ...shown } = row;
  return {
    ...shown,
    base_id: row.base_id ?? null,
    note: row.note ?? null,
    sealed_at: row.sealed_at ?? null,
    published_at: row.published_at ?? null,
    checks: checks ?? [],
    published: row.id === published_snapshot_id,
  };
}

/** A snapshot with the addresses that open it, where there is something to see and the caller can be given them. */
export async function openSnapshot(
  { services, actor }: Pick<ProjectContext, 'services' | 'actor'>,
  row: CrawlSnapshot,
  crawler: Crawler,
): Promise<Record> {
  const record = { ...snapshotRecord(row, crawler), preview: null, live_preview: null };
  if (!row.origins || row.state === 'expired' || !(await canHoldPass(services, actor))) return record;
  const path = siteAddresses(row.origin, row.origins).pathOf(new URL(row.origins.home)) ?? '/';
  const link = (label: string) => memberLink(services, actor, label, path);
  return {
    ...record,
    preview: await link(snapshotLabel(row.id)),
    live_preview: record.published ? await link(crawlerLabel(crawler.id)) : null,
  };
}
