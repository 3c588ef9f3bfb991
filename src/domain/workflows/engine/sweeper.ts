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

const lostSql = `
  select id, created_at::text from execution where ${open} and driver_id is null and waiting_until is null
    and (created_at < $1 or created_at > $2)
    and (status <> 'paused' or wake) and (slot_key is null or has_slot or cancel_requested)
    and not exists (select 1 from step_run where execution_id = execution.id and step_run.status = 'waiting'
      and waits_for is not null and not execution.wake)
    and (created_at, id) > ($3::timestamptz, $4::uuid)
  order by created_at, id limit ${mostAtOnce}`;

/**
 * Wakes every execution without a driver that waits for nothing: its job was lost. Executions that wait for a slot get the free ones.
 * @param isIdle whether no jobs wait to be given to a worker: theirs may be among them
 * @param isWaiting whether an execution is known to this process, and waits for room
 */
export async function sweep(
  services: Needs,
  isIdle: () => Promise<boolean>,
  isWaiting: (id: string) => boolean,
): Promise<number> {
  const em = services.orm.em.fork();
  const slots = await em.execute<SlotKey[]>(
    `select distinct workflow_id, slot_key as key from execution where status = 'pending' and slot_key is not null and not has_slot`,
  );
  for (const slot of slots)
    await services.orm.em.fork().transactional((within) => grantFreeSlots(within, services, slot));
  if (!(await isIdle())) return 0;
  const now = services.sharedClock.recent();
  let last = { created_at: '-infinity', id: '00000000-0000-0000-0000-000000000000' };
  for (let sent = 0; ; ) {
    const values = [new Date(now.getTime() - 30_000), now, last.created_at, last.id];
    const rows = await executeBound<typeof last>(em, lostSql, values);
    const lost = rows.filter(({ id }) => !isWaiting(id)).map(({ id }) => ({ execution_id: id }));
    await services.jobs.sendMany(advanceJob, lost);
    sent += lost.length;
    last = rows.at(-1) ?? last;
    if (rows.length < mostAtOnce || sent >= mostSwept) return sent;
  }
}
