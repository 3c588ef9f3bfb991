import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import type { Actor } from '../../../kernel/actor.ts';
import { DomainError } from '../../../kernel/errors.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import { crawlerName, plainText } from '../config/crawler.schema.ts';
import { isInScope } from '../config/draft.ts';
import { findCrawler, namedCrawler } from '../config/find-crawler.ts';
import { hostOf } from '../config/host.ts';
import type { CrawlerContext, CrawlerServices } from '../crawlers.ts';
import { crawlerOperation } from '../crawlers.ts';
import type { CrawlerRun, RunTrigger, StopRequest } from './crawler-run.entity.ts';
import { endRun, lockCrawlerOf } from './end-run.ts';
import { mostQueued, queueRun } from './queue-run.ts';
import { announceRun, writeLog } from './run-feed.ts';
import { findRun, namedRun, runRecord } from './run-record.ts';
import { crawlerRun, runNumber } from './runs.schema.ts';

const requestSql = `
  update crawler_run set stop_requested = ?, updated_at = ?
  where id = ? and status in ('provisioning', 'running') and (stop_requested is null or (stop_requested = 'stop' and ? = 'cancel'))
  returning id`;

/**
 * Requests a run's worker to end it, in the caller's transaction; a queued run is canceled at once. A repeated request changes nothing, and
 * after a stop it may still be canceled.
 * @throws DomainError `conflict` when the run has ended
 */
export async function requestEnd(
  em: EntityManager,
  services: CrawlerServices,
  run: Pick<CrawlerRun, 'id' | 'project_id'>,
  request: StopRequest,
): Promise<void> {
  await lockCrawlerOf(em, run.id);
  const [now] = await em.execute<Pick<CrawlerRun, 'status' | 'epoch'>[]>(
    'select status, epoch from crawler_run where id = ? for update',
    [run.id],
  );
  if (now?.status === 'queued') {
    await endRun(em, services, { id: run.id, epoch: now.epoch }, { status: 'canceled', reason: 'user', message: null });
    return;
  }
  if (now?.status !== 'provisioning' && now?.status !== 'running')
    throw new DomainError('conflict', `Run ${run.id} is ${now?.status ?? 'gone'}: it cannot be ended any more`);
  const changed = await em.execute<unknown[]>(requestSql, [request, services.clock.now(), run.id, request]);
  if (changed.length === 0) return;
  const message = request === 'stop' ? 'The run is to stop' : 'The run is to be canceled';
  await writeLog(em, services, run, [{ level: 'info', event: `run.${request}_requested`, message }]);
  await announceRun(em, services, run);
  if (request === 'cancel') services.crawlers.crawling.cancel(run.id);
}

const problem = 'must be a path or an http(s) URL of an allowed domain';

const servicesOf = ({ services, crawlers }: CrawlerContext): CrawlerServices => ({ ...services, crawlers });

/** Who starts a run, by the kind of credential. */
function triggerOf({ id }: Actor): RunTrigger {
  if (id.startsWith('workflow:')) return 'workflow';
  return id.startsWith('token:') ? 'api' : 'manual';
}

function checkUrls({ host: text, settings }: Crawler, urls: readonly string[]): void {
  const host = hostOf(text);
  const index = urls.findIndex((url) => !host || !isInScope(url, host, settings.allowed_domains));
  if (index === -1) return;
  const message = `[${index}] ${problem}`;
  const errors = [{ field: `/urls/${index}`, code: 'invalid_request', message }];
  throw new DomainError('invalid_request', `urls: ${message}`, { details: { errors } });
}

export const runCrawler = crawlerOperation({
  name: 'crawlers.runCrawler',
  kind: 'command',
  permission: 'edit_crawlers',
  summary: 'Start a run of a crawler, of single pages only when `urls` names them',
  input: z.object({
    ...crawlerName,
    urls: z
      .array(plainText(problem).max(2_048, problem))
      .max(10_000, 'must be at most 10000 URLs')
      .optional()
      .describe('Only these pages and their assets, without following links'),
  }),
  output: z.object({ run_id: z.string().describe('Number of the run') }).meta({ id: 'StartedRun' }),
  audit: ({ crawler }) => ({ type: 'crawler', id: crawler }),
  find: namedCrawler,
  async execute(context, { crawler, urls }) {
    const { em, services, actor } = context;
    const row = await findCrawler(context, crawler, { lock: true });
    if (urls) checkUrls(row, urls);
    const run = await queueRun(em, services, row, {
      trigger: triggerOf(actor),
      ...(urls && urls.length > 0 && { urls }),
    });
    if (!run) throw new DomainError('limit_reached', `${mostQueued} runs of this crawler wait already`);
    return { run_id: String(run.id) };
  },
});

const endingOperation = (end: 'stop' | 'cancel', summary: string) =>
  crawlerOperation({
    name: `crawlers.${end}Run`,
    kind: 'command',
    permission: 'edit_crawlers',
    summary,
    input: z.object({ ...crawlerName, ...runNumber }),
    output: crawlerRun,
    audit: ({ run_id }) => ({ type: 'crawler_run', id: String(run_id) }),
    find: namedRun,
    async execute(context, { crawler, run_id }) {
      const { id } = await findCrawler(context, crawler);
      await requestEnd(context.em, servicesOf(context), await findRun(context.em, id, run_id), end);
      return runRecord(context.em, await findRun(context.em, id, run_id));
    },
  });

export const stopRun = endingOperation('stop', 'Stop a run: what it has captured becomes a partial snapshot');
export const cancelRun = endingOperation('cancel', 'Cancel a run: what it has captured is discarded');
