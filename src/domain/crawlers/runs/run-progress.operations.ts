import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { CrawlUrl } from '../frontier/crawl-url.entity.ts';
import { pageRecords } from './list-pages.operations.ts';
import { readLog } from './read-log.ts';
import { findProjectRun, runRecord } from './run-record.ts';
import { crawlerLogLine, crawlerPage, crawlerRun, runNumber } from './runs.schema.ts';

/** Lines of the log in one look. */
export const mostLines = 100;

/** What is watched of a run. */
export const runProgress = z
  .object({
    seq: z.int().describe('Of the last line of the log that is known; begin behind it to lose none'),
    run: crawlerRun,
    recent_pages: z.array(crawlerPage).describe('URLs answered last, at most 20, the newest first'),
    log: z.array(crawlerLogLine).describe('Lines that are new'),
  })
  .meta({ id: 'CrawlerRunProgress' });

export const getRunProgress = projectOperation({
  name: 'crawlers.getRunProgress',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'How a run stands, with what is new in its log',
  input: z.object({
    ...runNumber,
    after: z.int().min(0, 'must be at least 0').optional().describe('Only lines of the log behind this `seq`'),
  }),
  output: runProgress,
  async execute(context, { run_id, after = 0 }) {
    const { em } = context;
    const run = await findProjectRun(context, run_id);
    const log = await readLog(em, run, { after, limit: mostLines });
    const recent = run.recent ?? [];
    const rows = await em.find(CrawlUrl, { run_id, id: { $in: recent } }, { disableIdentityMap: true });
    const byId = new Map(rows.map((row) => [row.id, row]));
    const newest = recent.toReversed().flatMap((id) => byId.get(id) ?? []);
    return {
      seq: log.at(-1)?.seq ?? after,
      run: await runRecord(em, run),
      recent_pages: await pageRecords(em, run_id, newest),
      log,
    };
  },
});
