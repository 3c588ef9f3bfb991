import type { Services } from '../../services.ts';
import { patience } from '../runs/acquire-run.ts';
import { workOnRun } from './work-on-run.ts';

/** Runs at work whose worker shows no life, and those that wait and are the first of their crawler while none is at work. */
const idleSql = `
  select id from crawler_run where
    (status in ('provisioning', 'running') and (heartbeat_at is null or heartbeat_at < now() - interval '${patience} seconds'))
    or (status = 'queued' and not exists (select 1 from crawler_run as other
      where other.crawler_id = crawler_run.crawler_id
        and (other.status in ('provisioning', 'running') or (other.status = 'queued' and other.id < crawler_run.id))))
  order by id limit ?`;

/** Works on a run beside whatever else happens, when this process has room for it. */
export function beginWork(services: Services, run_id: number): void {
  const { crawling, log } = services;
  if (crawling.room === 0) return;
  // The word of its next slice may come before the last one is quite over.
  const begun = crawling.has(run_id)
    ? crawling.left(run_id).then(() => workOnRun(services, run_id))
    : workOnRun(services, run_id);
  begun.catch((err: unknown) => log.error({ err, run: run_id }, 'a run was left to others'));
}

/** Looks for runs nobody works on: a process has died, a job was lost, or there was no room before. */
export async function takeUpRuns(services: Services): Promise<void> {
  const { crawling, orm } = services;
  if (crawling.room === 0) return;
  const idle = await orm.em.fork().execute<{ id: number }[]>(idleSql, [crawling.room]);
  for (const { id } of idle) if (!crawling.has(id)) beginWork(services, id);
}

/** Takes up at once what an earlier process left, when there can be no other one. */
export async function takeUpAllRuns(services: Services): Promise<void> {
  await services.orm.em
    .fork()
    .execute(`update crawler_run set heartbeat_at = null where status in ('provisioning', 'running')`);
  await takeUpRuns(services);
}
