import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../kernel/services.ts';
import type { Sha256 } from '../../../ports/blobs.ts';

/**
 * Blobs that hold outputs of executions and their steps.
 * @param prefix first digits of their names, at least one; hexadecimal, lower-case
 */
export async function executionBlobs(em: EntityManager, prefix: string): Promise<Set<Sha256>> {
  // Every hexadecimal digit sorts before `g`.
  const range = [prefix, `${prefix}g`];
  const rows = await em.execute<{ sha256: Sha256 }[]>(
    `select output_sha256 as sha256 from step_run where output_sha256 >= ? and output_sha256 < ?
     union select output_sha256 from execution where output_sha256 >= ? and output_sha256 < ?`,
    [...range, ...range],
  );
  return new Set(rows.map(({ sha256 }) => sha256));
}

const day = 24 * 3600_000;
/** How long executions are kept after they have ended, unless the organisation says otherwise, and what webhooks brought. */
const kept = { execution: 30, failed: 90, body: 7, delivery: 30 };
const batch = 500;

const endedSql = `
  select execution.id, execution.project_id from execution
    join project on project.id = execution.project_id join organization on organization.id = organization_id
  where finished_at is not null and finished_at < ?::timestamptz - interval '1 day' * coalesce(
    (organization.limits->>'execution_days')::integer,
    case execution.status when 'failed' then ${kept.failed} else ${kept.execution} end)
  limit ${batch}`;

/** Removes executions with their steps and their events. @returns how many */
async function removeEnded(em: EntityManager, now: Date): Promise<number> {
  const rows = await em.execute<{ id: string; project_id: number }[]>(endedSql, [now]);
  if (rows.length === 0) return 0;
  await em.execute(
    `delete from event_subject using json_to_recordset(?::json) as ended (id text, project_id integer)
     where event_subject.project_id = ended.project_id and topic = 'execution:' || ended.id`,
    [JSON.stringify(rows)],
  );
  const ids = rows.map(({ id }) => id).join(' ');
  await em.execute(`delete from execution where id = any(string_to_array(?, ' ')::uuid[])`, [ids]);
  return rows.length;
}

// Also of one that tries again what a delivery had started.
const isOpen = `exists (select 1 from execution
  where execution.delivery_id = delivery.id and status in ('pending', 'running', 'paused'))`;

/**
 * Changes old deliveries without an open execution. They are locked before that is checked: one that is tried
 * again at this moment is left. @returns how many
 */
async function letGo(em: EntityManager, change: string, condition: string, before: Date): Promise<number> {
  const old = await em.execute<{ id: string }[]>(
    `select id from delivery where received_at < ? and ${condition} and not ${isOpen} limit ${batch} for update skip locked`,
    [before],
  );
  const ids = old.map(({ id }) => id).join(' ');
  const where = `where id = any(string_to_array(?, ' ')::uuid[]) and not ${isOpen} returning id`;
  return old.length === 0 ? 0 : (await em.execute<unknown[]>(`${change} ${where}`, [ids])).length;
}

/** What deliveries brought goes before they do; an execution that goes on keeps its own. @returns how many were touched */
async function removeDeliveries(em: EntityManager, now: Date): Promise<number> {
  const before = (days: number) => new Date(now.getTime() - days * day);
  const hasBody = '(body is not null or body_sha256 is not null)';
  const empty = 'update delivery set body = null, body_sha256 = null';
  const emptied = await letGo(em, empty, hasBody, before(kept.body));
  return emptied + (await letGo(em, 'delete from delivery', 'true', before(kept.delivery)));
}

/** Removes executions, and what webhooks brought, that have been kept long enough, a few at a time. Open executions stay. */
export async function pruneExecutions(
  { orm, clock }: Pick<Services, 'orm' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  const now = clock.now();
  const em = orm.em.fork();
  for (const remove of [removeEnded, removeDeliveries])
    while (!signal.aborted && (await em.transactional((within) => remove(within, now))) > 0);
  await em.execute('delete from delivery_key where expires_at < ?', [now]);
  await em.execute('delete from worker where lost_at < ?', [new Date(now.getTime() - kept.failed * day)]);
}
