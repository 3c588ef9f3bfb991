import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../kernel/services.ts';
import { executeBound } from '../../../kernel/sql.ts';
import { advanceJob } from '../advance-job.ts';
import { grantFreeSlots, type SlotKey } from './slots.ts';

type Needs = Pick<Services, 'orm' | 'sharedClock' | 'jobs'>;

const mostAtOnce = 1_000;
const open = `status in ('pending', 'running', 'paused')`;

/** Sends the jobs of executions a query finds; in the transaction of `em` when the query changes them. */
async function send(em: EntityManager, { jobs }: Needs, sql: string, values: unknown[]): Promise<number> {
  const rows = await executeBound<{ id: string }>(em, sql, values);
  const payloads = rows.map(({ id }) => ({ execution_id: id }));
  await jobs.sendMany(advanceJob, payloads, em.isInTransaction() ? { em } : {});
  return rows.length;
}

/** Wakes executions whose time has come: delays, retries, deadlines. Of several processes one takes each. @returns how many */
export async function wakeDue(services: Needs): Promise<number> {
  const em = services.orm.em.fork();
  const now = await services.sharedClock.now(em);
  const due = `waiting_until <= $1 and ${open}`;
  // Twice a second, and mostly for nothing: then it costs one statement and no transaction.
  if ((await executeBound<unknown>(em, `select 1 from execution where ${due} limit 1`, [now])).length === 0) return 0;
  return em.transactional((within) =>
    send(
      within,
      services,
      `update execution set waiting_until = null where id in (
         select id from execution where ${due} order by waiting_until limit ${mostAtOnce} for update skip locked)
       returning id`,
      [now],
    ),
  );
}

/** Wakes executions that wait for a crawl run or a deployment which has ended. @returns how many */
export const wakeAwaited = (services: Needs): Promise<number> =>
  send(
    services.orm.em.fork(),
    services,
    `select distinct execution_id as id from step_run
     where status = 'waiting' and waits_for is not null and (
       (waits_for->>'kind' = 'run' and not exists (select 1 from crawler_run
         where id = (waits_for->>'id')::integer and status in ('queued', 'provisioning', 'running')))
       or (waits_for->>'kind' = 'deployment' and not exists (select 1 from deployment
         where id = (waits_for->>'id')::integer and status <> 'completed')))
     limit ${mostAtOnce}`,
    [],
  );

/** Executions whose jobs a sweep sends at most. */
const mostSwept = 10_000;

/** An execution that may be lost, as the sweep goes through them: by workflow, in the order of an index of open ones, and by age within one. */
interface LostRow {
  id: string;
  project_id: number;
  workflow_id: string;
  at: string;
}

const nil = '00000000-0000-0000-0000-000000000000';
const beforeAll: LostRow = { project_id: 0, workflow_id: nil, at: '-infinity', id: nil };

const lostSql = `
  select id, project_id, workflow_id, created_at::text as at from execution where ${open} and driver_id is null and waiting_until is null
    and (created_at < $1 or created_at > $2)
    and (status <> 'paused' or wake) and (slot_key is null or has_slot or cancel_requested)
    and not exists (select 1 from step_run where execution_id = execution.id and step_run.status = 'waiting'
      and waits_for is not null and not execution.wake)
    and (project_id, workflow_id, created_at, id) > ($3, $4::uuid, $5::timestamptz, $6::uuid)
  order by project_id, workflow_id, created_at, id limit ${mostAtOnce}`;

/** What this process knows of executions that wait for room in it. */
interface Waiting {
  isWaiting(id: string): boolean;
  /** How many more of a workflow may wait: what is beyond is not taken in, and keeps no others from being found. */
  roomFor(workflow: string): number;
}

/**
 * Wakes every execution without a driver that waits for nothing: its job was lost. Executions that wait for a slot get the free ones.
 * @param isIdle whether no jobs wait to be given to a worker: theirs may be among them
 */
export async function sweep(services: Needs, isIdle: () => Promise<boolean>, waiting: Waiting): Promise<number> {
  const em = services.orm.em.fork();
  const slots = await em.execute<SlotKey[]>(
    `select distinct workflow_id, slot_key as key from execution where status = 'pending' and slot_key is not null and not has_slot`,
  );
  for (const slot of slots)
    await services.orm.em.fork().transactional((within) => grantFreeSlots(within, services, slot));
  if (!(await isIdle())) return 0;
  const now = services.sharedClock.recent();
  let [last, room] = [beforeAll, 0];
  for (let sent = 0; ; ) {
    const after = [last.project_id, last.workflow_id, last.at, last.id];
    const rows = await executeBound<LostRow>(em, lostSql, [new Date(now.getTime() - 30_000), now, ...after]);
    const lost: { execution_id: string }[] = [];
    for (const row of rows) {
      if (row.workflow_id !== last.workflow_id) room = waiting.roomFor(row.workflow_id);
      last = row;
      if (room === 0 || waiting.isWaiting(row.id)) continue;
      lost.push({ execution_id: row.id });
      room -= 1;
    }
    await services.jobs.sendMany(advanceJob, lost);
    sent += lost.length;
    if (rows.length < mostAtOnce || sent >= mostSwept) return sent;
    // What is left of the workflow is for a later sweep.
    if (room === 0) last = { ...last, at: 'infinity' };
  }
}
