import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { findPage, pageInput, pageOf } from '../../paging.ts';
import { crawlerName } from '../config/crawler.schema.ts';
import { findCrawler } from '../config/find-crawler.ts';
import { CrawlerRun, runStatuses } from './crawler-run.entity.ts';
import { findRun, runRecord, runRecords } from './run-record.ts';
import { crawlerRun, runNumber } from './runs.schema.ts';

export const listRuns = projectOperation({
  name: 'crawlers.listRuns',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List runs of a crawler, the newest first',
  input: z.object({ ...crawlerName, ...pageInput, status: z.enum(runStatuses).optional() }),
  output: pageOf(crawlerRun),
  async execute(context, { crawler, status, ...paging }) {
    const { id } = await findCrawler(context, crawler);
    const { rows, asPage } = await findPage(
      context.em,
      paging,
      CrawlerRun,
      { crawler_id: id, ...(status !== undefined && { status }) },
      { orderBy: { id: 'desc' } },
    );
    return asPage(await runRecords(context.em, rows));
  },
});

export const getRun = projectOperation({
  name: 'crawlers.getRun',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get one run of a crawler',
  input: z.object({ ...crawlerName, ...runNumber }),
  output: crawlerRun,
  async execute(context, { crawler, run_id }) {
    const { id } = await findCrawler(context, crawler);
    return runRecord(context.em, await findRun(context.em, id, run_id));
  },
});
