import { z } from 'zod';
import { projectOperation } from '../../../operation.ts';
import { findPage, pageInput, pageOf } from '../../../paging.ts';
import { crawlerName } from '../../config/crawler.schema.ts';
import { findCrawler } from '../../config/find-crawler.ts';
import { findSnapshot, notDiscarded } from '../find-snapshot.ts';
import { CrawlSnapshot } from '../snapshot.entity.ts';
import { openSnapshot, snapshotRecords } from '../snapshot-record.ts';
import { snapshot, snapshotNumber } from '../snapshots.schema.ts';

export const listSnapshots = projectOperation({
  name: 'crawlers.listSnapshots',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List snapshots of a crawler, the newest first',
  input: z.object({ ...crawlerName, ...pageInput }),
  output: pageOf(snapshot),
  async execute(context, { crawler: name, ...paging }) {
    const crawler = await findCrawler(context, name);
    const { rows, asPage } = await findPage(
      context.em,
      paging,
      CrawlSnapshot,
      { crawler_id: crawler.id, ...notDiscarded },
      { orderBy: { id: 'desc' } },
    );
    return asPage(await snapshotRecords(context.em, rows, [crawler]));
  },
});

export const getSnapshot = projectOperation({
  name: 'crawlers.getSnapshot',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get one snapshot, with addresses that open it for a minute',
  input: z.object(snapshotNumber),
  output: snapshot,
  async execute(context, input) {
    const crawler = await findCrawler(context, input.crawler);
    return openSnapshot(context, await findSnapshot(context.em, crawler.id, input.snapshot), crawler);
  },
});
