import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import { locateCrawler } from '../config/find-crawler.ts';
import { crawlerOperation } from '../crawlers.ts';
import type { UrlKind } from '../frontier/crawl-url.entity.ts';
import { CrawlSnapshot } from './snapshot.entity.ts';
import { findSnapshot, namedSnapshot, requireFiles } from './snapshot-record.ts';
import { snapshotDifference, snapshotNumber } from './snapshots.schema.ts';

type Side = z.output<typeof snapshotDifference>['head'];

interface Row {
  url: string;
  kind: UrlKind;
  change: 'added' | 'changed' | 'removed';
  base: Side;
  head: Side;
}

const side = (
  alias: string,
) => `case when ${alias}.url is not null then json_build_object('http_status', ${alias}.http_status,
  'content_type', ${alias}.content_type, 'sha256', ${alias}.sha256, 'bytes', ${alias}.bytes, 'redirect_to', ${alias}.redirect_to) end`;

const different = `
  from (select * from snapshot_entry where snapshot_id = ?) as old
    full join (select * from snapshot_entry where snapshot_id = ?) as new using (url_hash)
  where old.url is null or new.url is null
    or (old.sha256, old.http_status, old.redirect_to) is distinct from (new.sha256, new.http_status, new.redirect_to)`;

/**
 * The default base of a comparison: the live copy, or for the live copy itself the snapshot before it.
 * @returns null without a base, or when it was removed
 */
async function usualBase(
  em: EntityManager,
  { id, base_id }: CrawlSnapshot,
  { published_snapshot_id }: Pick<Crawler, 'published_snapshot_id'>,
): Promise<number | null> {
  if (published_snapshot_id !== id) return published_snapshot_id ?? null;
  return (await em.findOne(CrawlSnapshot, { id: base_id ?? 0, state: { $ne: 'expired' } }))?.id ?? null;
}

async function chosenBase(em: EntityManager, crawler_id: number, id: number): Promise<number> {
  const base = await findSnapshot(em, crawler_id, id);
  requireFiles(base);
  return base.id;
}

export const diffSnapshots = crawlerOperation({
  name: 'crawlers.diffSnapshots',
  kind: 'query',
  permission: 'browse_crawlers',
  mayConflict: true,
  summary: 'Compare a snapshot with another one of its crawler, by URL',
  input: z.object({
    ...snapshotNumber,
    base: z
      .int32()
      .min(1, 'must be at least 1')
      .optional()
      .describe('Default: the live copy; of the live copy itself the snapshot it was made after'),
    ...pageInput,
  }),
  output: pageOf(snapshotDifference),
  find: namedSnapshot,
  async execute({ em, project }, { crawler: name, snapshot: id, base, ...paging }) {
    const crawler = await locateCrawler({ em, project }, name);
    const head = await findSnapshot(em, crawler.id, id);
    requireFiles(head);
    const base_id = base === undefined ? await usualBase(em, head, crawler) : await chosenBase(em, crawler.id, base);
    const window = windowOf(paging);
    // No snapshot has the number 0: with nothing to compare with, everything is added.
    const both = [base_id ?? 0, head.id];
    const [{ count }] = (await em.execute(`select count(*) ${different}`, both)) as [{ count: string }];
    const rows = await em.execute<Row[]>(
      `select coalesce(new.url, old.url) as url, coalesce(new.kind, old.kind) as kind,
         case when old.url is null then 'added' when new.url is null then 'removed' else 'changed' end as change,
         ${side('old')} as base, ${side('new')} as head
       ${different} order by coalesce(new.url, old.url) collate "C" limit ? offset ?`,
      [...both, window.limit, window.offset],
    );
    return pageFrom(rows, Number(count), window);
  },
});
