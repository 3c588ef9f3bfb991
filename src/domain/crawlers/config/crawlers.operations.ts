import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { findPage, pageOf, wholePageInput, wholeWindowOf } from '../../paging.ts';
import { cancelRunsOf } from '../runs/cancel-runs.ts';
import { Crawler } from './crawler.entity.ts';
import { crawlerName } from './crawler.schema.ts';
import { crawler } from './crawler-record.schema.ts';
import { crawlerRecord, crawlerRecords } from './crawler-record.ts';
import { findCrawler } from './find-crawler.ts';

export const listCrawlers = projectOperation({
  name: 'crawlers.listCrawlers',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List crawlers',
  input: z.object({ ...wholePageInput }),
  output: pageOf(crawler),
  async execute(context, paging) {
    const { em, project } = context;
    const where = { project_id: project.id, deleted_at: null };
    const { rows, asPage } = await findPage(em, wholeWindowOf(paging), Crawler, where, { orderBy: { id: 'asc' } });
    return asPage(await crawlerRecords(context, rows));
  },
});

export const getCrawler = projectOperation({
  name: 'crawlers.getCrawler',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get one crawler',
  input: z.object(crawlerName),
  output: crawler,
  async execute(context, { crawler: name }) {
    return crawlerRecord(context, await findCrawler(context, name));
  },
});

export const deleteCrawler = projectOperation({
  name: 'crawlers.deleteCrawler',
  kind: 'command',
  permission: 'delete_crawlers',
  destructive: true,
  summary: 'Delete a crawler: its runs are canceled and its schedules end',
  input: z.object(crawlerName),
  output: z.null(),
  audit: ({ crawler: name }) => ({ type: 'crawler', id: name }),
  async execute(context, { crawler: name }) {
    const { em, services } = context;
    const row = await findCrawler(context, name, { lock: true });
    row.deleted_at = services.clock.now();
    await em.flush();
    await em.execute('update crawler_schedule set enabled = false, next_fire_at = null where crawler_id = ?', [row.id]);
    await cancelRunsOf(em, services, row);
    return null;
  },
});
