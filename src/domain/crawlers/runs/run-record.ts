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

/** What of a run's row may be large, and is not shown: its configuration and what it has found out of hosts. */
export const frozen = ['settings', 'secrets', 'urls', 'hosts'] as const;

/** A run without them. */
export type RunRow = Pick<CrawlerRun, Exclude<keyof CrawlerRun & string, (typeof frozen)[number]>>;

const isUnderWay = ({ status, rate }: RunRow) => status === 'running' && rate > 0;

const limitsSql = `
  select id, coalesce((settings ->> 'max_hits')::integer, 0) as max_hits from crawler_run
  where id = any(string_to_array(?, ' ')::integer[])`;

/** Requests that runs under way may make in all, by the run; 0: any number. Of their settings nothing else is read. */
async function limitsOf(em: EntityManager, runs: readonly RunRow[]): Promise<ReadonlyMap<number, number>> {
  const ids = runs.filter(isUnderWay).map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const rows = await em.execute<{ id: number; max_hits: number }[]>(limitsSql, [ids.join(' ')]);
  return new Map(rows.map(({ id, max_hits }) => [id, max_hits]));
}

/** Seconds until what waits now is done; null when nothing is under way. */
function etaOf(run: RunRow, max_hits: number): number | null {
  if (!isUnderWay(run)) return null;
  const { counts, rate, hits_reserved } = run;
  const waits = counts.pending + counts.leased;
  const left = max_hits > 0 ? Math.max(0, max_hits - hits_reserved + counts.leased) : waits;
  return Math.ceil(Math.min(waits, left) / rate);
}

type Record = z.output<typeof crawlerRun>;

function recordOf(run: RunRow, snapshots: ReadonlySet<number>, max_hits: number): Record {
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
    eta_seconds: etaOf(run, max_hits),
    snapshot_id: run.snapshot_id != null && snapshots.has(run.snapshot_id) ? run.snapshot_id : null,
  };
}

/** Runs as callers see them, in the order given. */
export async function runRecords(em: EntityManager, runs: readonly RunRow[]): Promise<Record[]> {
  const snapshots = await findableSnapshots(
    em,
    runs.map(({ snapshot_id }) => snapshot_id),
  );
  const limits = await limitsOf(em, runs);
  return runs.map((run) => recordOf(run, snapshots, limits.get(run.id) ?? 0));
}

/** A run as callers see it. */
export async function runRecord(em: EntityManager, run: RunRow): Promise<Record> {
  const [record] = await runRecords(em, [run]);
  return record as Record;
}

/** @throws DomainError `not_found` */
export async function findRun(em: EntityManager, crawler_id: number, id: number): Promise<RunRow> {
  const run = await em.findOne(CrawlerRun, { id, crawler_id }, { refresh: true, exclude: frozen });
  if (run) return run;
  throw new DomainError('not_found', 'Run not found');
}

/** A run of any crawler of the project that is not deleted. @throws DomainError `not_found` */
export async function findProjectRun(
  { em, project }: Pick<ProjectContext, 'em'> & { project: Pick<ProjectContext['project'], 'id'> },
  id: number,
): Promise<RunRow> {
  const run = await em.findOne(CrawlerRun, { id, project_id: project.id }, { refresh: true, exclude: frozen });
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
