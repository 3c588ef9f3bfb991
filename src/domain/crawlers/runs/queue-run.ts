import { randomUUID } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import type { JobKind } from '../../../ports/jobs.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import type { CrawlerSettings } from '../config/crawler.schema.ts';
import { CrawlerRun, type RunMode, type RunTrigger } from './crawler-run.entity.ts';
import { noCounts } from './run-counts.ts';

/** The settings a run works with, however the crawler is changed meanwhile. */
function frozenSettings({ name, domain, settings }: Pick<Crawler, 'name' | 'domain' | 'settings'>): CrawlerSettings {
  const { start_urls_unset: _, ...rest } = settings;
  return { name, domain, ...rest };
}

/**
 * Wakes a worker for a run. The run's row says whether somebody works on it, by a sign of life every two seconds: one job too many does no
 * harm, and a process that dies loses the run to another.
 */
export const crawlJob = {
  name: 'crawl.slice',
  payload: z.object({ run_id: z.int() }),
  retries: 3,
  expireSeconds: 60,
} satisfies JobKind;

/** Runs of a crawler that may wait. */
export const mostQueued = 10;

/** Why and for what a run is queued. */
export interface RunRequest {
  trigger: RunTrigger;
  schedule_id?: number;
  fire_at?: Date;
  /** Only these pages and their assets. */
  urls?: readonly string[];
}

function modeOf({ settings }: Pick<Crawler, 'settings'>, { urls }: RunRequest): RunMode {
  if (urls !== undefined && urls.length > 0) return 'partial';
  const isList = settings.urls.length > 0 && settings.start_urls.length === 0 && settings.sitemap.length === 0;
  return isList ? 'list' : 'full';
}

/** Wakes workers for runs, with the transaction. A queue that is starting loses nothing: the minute's tick looks for what waits. */
async function wakeRuns(
  em: EntityManager,
  services: Pick<Services, 'jobs' | 'log'>,
  ids: readonly number[],
): Promise<void> {
  const payloads = ids.map((run_id) => ({ run_id }));
  try {
    await services.jobs.sendMany(crawlJob, payloads, { em });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    services.log.debug({ err: error, runs: ids }, 'runs wait for the next look');
  }
}

/** `wakeRuns` of one. */
export const wakeRun = (em: EntityManager, services: Pick<Services, 'jobs' | 'log'>, id: number): Promise<void> =>
  wakeRuns(em, services, [id]);

function newRun(em: EntityManager, crawler: Crawler, request: RunRequest, now: Date): CrawlerRun {
  return em.create(CrawlerRun, {
    crawler_id: crawler.id,
    project_id: crawler.project_id,
    status: 'queued',
    epoch: 0,
    task_id: randomUUID(),
    settings: frozenSettings(crawler),
    secrets: crawler.secrets ?? null,
    secrets_version: crawler.version,
    urls: request.urls ? [...request.urls] : null,
    mode: modeOf(crawler, request),
    trigger: request.trigger,
    schedule_id: request.schedule_id ?? null,
    fire_at: request.fire_at ?? null,
    counts: noCounts(),
    hits_reserved: 0,
    rate: 0,
    takeovers: 0,
    created_at: now,
    updated_at: now,
  });
}

/**
 * Queues a run of a crawler in the caller's transaction, with a copy of its present settings. It starts when those before it have ended.
 * @returns null when ten wait already
 */
export async function queueRun(
  em: EntityManager,
  services: Services,
  crawler: Crawler,
  request: RunRequest,
): Promise<CrawlerRun | null> {
  // One after another: no two may both be the tenth.
  await em.execute('select id from crawler where id = ? for update', [crawler.id]);
  const waiting = await em.count(CrawlerRun, { crawler_id: crawler.id, status: 'queued' });
  if (waiting >= mostQueued) return null;
  const run = newRun(em, crawler, request, services.clock.now());
  await em.persist(run).flush();
  await wakeRun(em, services, run.id);
  return run;
}

/**
 * Queues first runs of crawlers, one of each, in few statements however many they are.
 * @param requests their crawlers are locked by the caller's transaction, and none has a run at work or waiting
 * @returns their numbers, in the order of the requests
 */
export async function queueFirstRuns(
  em: EntityManager,
  services: Services,
  requests: readonly { crawler: Crawler; request: RunRequest }[],
): Promise<number[]> {
  // With an empty map of entities: a flush looks at all that are in it.
  const own = em.fork({ keepTransactionContext: true });
  const now = services.clock.now();
  const runs = requests.map(({ crawler, request }) => newRun(own, crawler, request, now));
  await own.persist(runs).flush();
  const ids = runs.map(({ id }) => id);
  await wakeRuns(em, services, ids);
  return ids;
}
