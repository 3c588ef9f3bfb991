import { randomUUID } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../errors.ts';
import type { Services } from '../../services.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import { frozenSettings } from '../config/frozen-settings.ts';
import { CrawlerRun, type RunMode, type RunTrigger } from './crawler-run.entity.ts';
import { noCounts } from './run-counts.ts';
import { sliceJob } from './slice-job.ts';

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

/** Wakes a worker for a run, with the transaction. A queue that is starting loses nothing: the minute's tick looks for what waits. */
export async function wakeRun(em: EntityManager, services: Pick<Services, 'jobs' | 'log'>, id: number): Promise<void> {
  try {
    await services.jobs.send(sliceJob, { run_id: id }, { em });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    services.log.debug({ err: error, run: id }, 'a run waits for the next look');
  }
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
  const now = services.clock.now();
  const run = em.create(CrawlerRun, {
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
  await em.persist(run).flush();
  await wakeRun(em, services, run.id);
  return run;
}
