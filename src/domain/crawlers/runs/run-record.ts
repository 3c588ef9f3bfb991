import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import type { ProjectContext } from '../../projects/operation.ts';
import { namedCrawler } from '../config/find-crawler.ts';
import { findableSnapshots } from '../snapshots/snapshot-record.ts';
import { CrawlerRun } from './crawler-run.entity.ts';
import type { crawlerRun } from './runs.schema.ts';

/** Unix seconds. */
export const unix = (date: Date | null | undefined) => (date ? Math.floor(date.getTime() / 1_000) : null);

/** Seconds until what waits now is done; null when nothing is under way. */
function etaOf({ status, counts, rate, settings, hits_reserved }: CrawlerRun): number | null {
  if (status !== 'running' || rate <= 0) return null;
  const waits = counts.pending + counts.leased;
  const left = settings.max_hits > 0 ? Math.max(0, settings.max_hits - hits_reserved + counts.leased) : waits;
  return Math.ceil(Math.min(waits, left) / rate);
}

type Record = z.output<typeof crawlerRun>;

function recordOf(run: CrawlerRun, snapshots: ReadonlySet<number>): Record {
  const isOver = run.completed_at != null;
  return {
    id: run.id,
    crawler_config_id: run.crawler_id,
    project_id: run.project_id,
    last_status: run.status,
    task_id: run.task_id,
    started_at: unix(run.started_at),
    completed_at: unix(run.completed_at),
    created_at: run.created_at,
    updated_at: run.updated_at,
    trigger: run.trigger,
    schedule_id: run.schedule_id ?? null,
    fire_at: run.fire_at ?? null,
    finish_reason: isOver ? (run.finish_reason ?? null) : null,
    finish_message: run.finish_message ?? null,
    stop_requested: run.stop_requested ?? null,
    mode: run.mode,
    origin: run.origin ?? null,
    counts: run.counts,
    rate: isOver ? 0 : Math.round(run.rate * 10) / 10,
    eta_seconds: etaOf(run),
    snapshot_id: run.snapshot_id != null && snapshots.has(run.snapshot_id) ? run.snapshot_id : null,
  };
}

/** Runs as callers see them, in the order given. */
export async function runRecords(em: EntityManager, runs: readonly CrawlerRun[]): Promise<Record[]> {
  const snapshots = await findableSnapshots(
    em,
    runs.map(({ snapshot_id }) => snapshot_id),
  );
  return runs.map((run) => recordOf(run, snapshots));
}

/** A run as callers see it. */
export async function runRecord(em: EntityManager, run: CrawlerRun): Promise<Record> {
  const [record] = await runRecords(em, [run]);
  return record as Record;
}

/** @throws DomainError `not_found` */
export async function findRun(em: EntityManager, crawler_id: number, id: number): Promise<CrawlerRun> {
  const run = await em.findOne(CrawlerRun, { id, crawler_id }, { refresh: true });
  if (run) return run;
  throw new DomainError('not_found', 'Run not found');
}

/** A run of any crawler of the project that is not deleted. @throws DomainError `not_found` */
export async function findProjectRun(
  { em, project }: Pick<ProjectContext, 'em'> & { project: Pick<ProjectContext['project'], 'id'> },
  id: number,
): Promise<CrawlerRun> {
  const run = await em.findOne(CrawlerRun, { id, project_id: project.id }, { refresh: true });
  const [alive] = run
    ? await em.execute<unknown[]>('select 1 from crawler where id = ? and deleted_at is null', [run.crawler_id])
    : [];
  if (run && alive) return run;
  throw new DomainError('not_found', 'Run not found');
}

/** Looks up the crawler an input that was refused names, and its run. @throws DomainError `not_found` */
export async function namedRun(context: ProjectContext, given: { [name: string]: unknown }): Promise<void> {
  const crawler = await namedCrawler(context, given);
  const { run_id } = given;
  if (crawler && Number.isInteger(run_id)) await findRun(context.em, crawler.id, Number(run_id));
}
