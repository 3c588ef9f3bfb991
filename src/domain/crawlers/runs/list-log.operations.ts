import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { maxPerPage } from '../../paging.ts';
import { crawlerName } from '../config/crawler.schema.ts';
import { findCrawler } from '../config/find-crawler.ts';
import { readLog } from './read-log.ts';
import { logLevels } from './run-feed.ts';
import { findRun } from './run-record.ts';
import { crawlerLogLine, runNumber } from './runs.schema.ts';

export const listRunLog = projectOperation({
  name: 'crawlers.listRunLog',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Read the log of a run, the oldest line first',
  input: z.object({
    ...crawlerName,
    ...runNumber,
    after: z.int().min(0, 'must be at least 0').optional().describe('Only lines behind this `seq`'),
    level: z.enum(logLevels).optional(),
    per_page: z.int().min(1, 'must be at least 1').optional().describe('Lines; default 30, above 100 means 100'),
  }),
  output: z.array(crawlerLogLine),
  async execute(context, { crawler, run_id, after = 0, level, per_page = 30 }) {
    const { id } = await findCrawler(context, crawler);
    const run = await findRun(context.em, id, run_id);
    return readLog(context.em, run, { after, level, limit: Math.min(per_page, maxPerPage) });
  },
});
