import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import {
  findPage,
  maxPerPage,
  pageFrom,
  pageInput,
  pageNumber,
  pageOf,
  totalOf,
  windowOf,
} from '../../../kernel/paging.ts';
import { holding } from '../../../lib/text.ts';
import { crawlerName, plainText } from '../config/crawler.schema.ts';
import { locateCrawler, namedCrawler } from '../config/find-crawler.ts';
import { crawlerOperation } from '../crawlers.ts';
import { CrawlUrl } from '../frontier/crawl-url.entity.ts';
import { CrawlerRun } from './crawler-run.entity.ts';
import { type LogLevel, runSubject } from './run-feed.ts';
import { findProjectRun, findRun, frozen, namedRun, runRecord, runRecords } from './run-record.ts';
import {
  crawlerLogLine,
  crawlerPage,
  crawlerRun,
  logLevel,
  pageError,
  pageKind,
  pageState,
  runNumber,
  runStatus,
} from './runs.schema.ts';

export const listRuns = crawlerOperation({
  name: 'crawlers.listRuns',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List runs of a crawler, the newest first',
  input: z.object({ ...crawlerName, ...pageInput, status: runStatus.optional() }),
  output: pageOf(crawlerRun),
  find: namedCrawler,
  async execute(context, { crawler, status, ...paging }) {
    const { id } = await locateCrawler(context, crawler);
    const { rows, asPage } = await findPage(
      context.em,
      paging,
      CrawlerRun,
      { crawler_id: id, ...(status !== undefined && { status }) },
      { orderBy: { id: 'desc' }, exclude: frozen },
    );
    return asPage(await runRecords(context.em, rows));
  },
});

export const getRun = crawlerOperation({
  name: 'crawlers.getRun',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get one run of a crawler',
  input: z.object({ ...crawlerName, ...runNumber }),
  output: crawlerRun,
  find: namedRun,
  async execute(context, { crawler, run_id }) {
    const { id } = await locateCrawler(context, crawler);
    return runRecord(context.em, await findRun(context.em, id, run_id));
  },
});

/** URLs of a run as callers see them, in the order given. */
async function pageRecords(
  em: EntityManager,
  run_id: number,
  rows: readonly CrawlUrl[],
): Promise<z.output<typeof crawlerPage>[]> {
  const ids = [...new Set(rows.flatMap(({ parent_id }) => parent_id ?? []))];
  const parents =
    ids.length === 0 ? [] : await em.find(CrawlUrl, { run_id, id: { $in: ids } }, { fields: ['id', 'url'] });
  const urls = new Map(parents.map(({ id, url }) => [id, url]));
  return rows.map((row) => ({
    id: row.id,
    url: row.url,
    kind: row.kind,
    state: row.state,
    depth: row.depth,
    http_status: row.http_status ?? null,
    content_type: row.content_type ?? null,
    bytes: row.bytes ?? null,
    sha256: row.sha256 ?? null,
    attempts: row.attempts,
    error: row.error ?? null,
    error_message: row.error_message ?? null,
    rule: row.rule ?? null,
    redirect_to: row.redirect_to ?? null,
    canonical: row.canonical ?? null,
    parent_url: row.parent_id == null ? null : (urls.get(row.parent_id) ?? null),
    from_cache: row.from_cache,
    fetched_at: row.fetched_at ?? null,
    duration_ms: row.duration_ms ?? null,
  }));
}

export const listRunPages = crawlerOperation({
  name: 'crawlers.listRunPages',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List the URLs of a run, in the order they were found',
  input: z.object({
    ...crawlerName,
    ...runNumber,
    ...pageInput,
    state: pageState.optional(),
    kind: pageKind.optional(),
    http_status: z.int().min(100, 'must be at least 100').max(599, 'must be at most 599').optional(),
    error: pageError.optional(),
    q: plainText('must be text')
      .max(2_048, 'must be at most 2048 characters')
      .optional()
      .describe('Part of the URL, in letters of either case'),
  }),
  output: pageOf(crawlerPage),
  find: namedRun,
  async execute(context, { crawler, run_id, state, kind, http_status, error, q, ...paging }) {
    const { id } = await locateCrawler(context, crawler);
    await findRun(context.em, id, run_id);
    const { rows, asPage } = await findPage(
      context.em,
      paging,
      CrawlUrl,
      {
        run_id,
        ...(state !== undefined && { state }),
        ...(kind !== undefined && { kind }),
        ...(http_status !== undefined && { http_status }),
        ...(error !== undefined && { error }),
        ...(q !== undefined && q !== '' && { url: { $ilike: holding(q) } }),
      },
      { orderBy: { id: 'asc' }, disableIdentityMap: true },
    );
    return asPage(await pageRecords(context.em, run_id, rows));
  },
});

interface Row {
  seq: string;
  at: string | Date;
  data: { level: LogLevel; event: string; message: string; data?: Record<string, unknown> };
}

const linesSql = `from event where project_id = ? and topic = ? and seq > ? and (?::text is null or data ->> 'level' = ?)`;

const linesOf = (run: Pick<CrawlerRun, 'id' | 'project_id'>, after: number, level: LogLevel | undefined) => {
  const { project_id, topic } = runSubject(run);
  return [project_id, topic, after, level ?? null, level ?? null];
};

/** Lines of a run's log behind a position, the oldest first. */
export async function readLog(
  em: EntityManager,
  run: Pick<CrawlerRun, 'id' | 'project_id'>,
  { after, level, limit, offset = 0 }: { after: number; level?: LogLevel | undefined; limit: number; offset?: number },
): Promise<z.output<typeof crawlerLogLine>[]> {
  const rows = await em.execute<Row[]>(`select seq, at, data ${linesSql} order by seq limit ? offset ?`, [
    ...linesOf(run, after, level),
    limit,
    offset,
  ]);
  return rows.map(({ seq, at, data: { level: of, event, message, data } }) => ({
    seq: Number(seq),
    at: new Date(at),
    level: of,
    event,
    message,
    data: data ?? null,
  }));
}

export const listRunLog = crawlerOperation({
  name: 'crawlers.listRunLog',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Read the log of a run, the oldest line first',
  input: z.object({
    ...crawlerName,
    ...runNumber,
    after: z.int().min(0, 'must be at least 0').optional().describe('Only lines behind this `seq`'),
    level: logLevel.optional(),
    per_page: pageNumber.describe('Lines; default 30, above 100 means 100'),
  }),
  output: z.array(crawlerLogLine),
  find: namedRun,
  async execute(context, { crawler, run_id, after = 0, level, per_page = 30 }) {
    const { id } = await locateCrawler(context, crawler);
    const run = await findRun(context.em, id, run_id);
    return readLog(context.em, run, { after, level, limit: Math.min(per_page, maxPerPage) });
  },
});

export const listRunLogLines = crawlerOperation({
  name: 'crawlers.listRunLogLines',
  kind: 'query',
  permission: 'browse_crawlers',
  notInSteps: true,
  summary: 'List the log of a run, the oldest line first',
  input: z.object({ ...crawlerName, ...runNumber, ...pageInput, level: logLevel.optional() }),
  output: pageOf(crawlerLogLine),
  find: namedRun,
  async execute(context, { crawler, run_id, level, ...paging }) {
    const { em } = context;
    const { id } = await locateCrawler(context, crawler);
    const run = await findRun(em, id, run_id);
    const window = windowOf(paging);
    const lines = await readLog(em, run, { after: 0, level, ...window });
    const total = await totalOf(lines.length, window, async () => {
      const [row] = await em.execute<{ count: number }[]>(
        `select count(*)::integer as count ${linesSql}`,
        linesOf(run, 0, level),
      );
      return row?.count ?? 0;
    });
    return pageFrom(lines, total, window);
  },
});

/** Lines of the log in one look. */
export const mostLines = 100;

/** What is watched of a run. */
const runProgress = z
  .object({
    seq: z.int().describe('Of the last line of the log that is known; begin behind it to lose none'),
    run: crawlerRun,
    recent_pages: z.array(crawlerPage).describe('URLs answered last, at most 20, the newest first'),
    log: z.array(crawlerLogLine).describe('Lines that are new'),
  })
  .meta({ id: 'CrawlerRunProgress' });

export const getRunProgress = crawlerOperation({
  name: 'crawlers.getRunProgress',
  kind: 'query',
  permission: 'browse_crawlers',
  notInSteps: true,
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
