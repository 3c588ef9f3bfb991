import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../bound-query.ts';
import type { Execution } from '../executions/execution.entity.ts';

/** Seconds after which a driver that shows no life counts as gone. */
export const patience = 10;

/** An execution as its row says, times as the driver of the database gives them. */
export type ClaimedRow = Pick<
  Execution,
  | 'id'
  | 'project_id'
  | 'workflow_id'
  | 'version'
  | 'status'
  | 'trigger_id'
  | 'trigger_type'
  | 'delivery_id'
  | 'input'
  | 'attempt'
  | 'crashes'
  | 'cancel_requested'
  | 'cancel_reason'
  | 'slot_key'
  | 'has_slot'
  | 'state'
> & { started_at: Date | string | null; created_at: Date | string; is_mine: boolean };

// Whoever finds a driver alive leaves word for it; decided in one statement, so that none ends unseen in between.
const claimSql = `
  update execution set
    wake = driver_id is not null and driver_until >= now(),
    attempt = case when driver_id is not null and driver_until >= now() then attempt else attempt + 1 end,
    crashes = case when driver_id is not null and driver_until < now() then crashes + 1 else crashes end,
    waiting_until = case when driver_id is not null and driver_until >= now() then waiting_until end,
    driver_id = case when driver_id is not null and driver_until >= now() then driver_id else $1::uuid end,
    driver_until = case when driver_id is not null and driver_until >= now() then driver_until
      else now() + interval '${patience} seconds' end
  where id = any($2::uuid[]) and status in ('pending', 'running', 'paused')
    and (slot_key is null or has_slot or cancel_requested)
  returning id, project_id, workflow_id, version, status, trigger_id, trigger_type, delivery_id, input, attempt, crashes,
    cancel_requested, cancel_reason, slot_key, has_slot, state, started_at, created_at, not wake as is_mine`;

/**
 * Makes this process the driver of executions that have none, or whose driver has died. Those that have ended, and those that wait for a
 * slot, are left.
 */
export async function claim(em: EntityManager, driver: string, ids: readonly string[]): Promise<ClaimedRow[]> {
  if (ids.length === 0) return [];
  const rows = await executeBound<ClaimedRow>(em, claimSql, [driver, [...new Set(ids)]]);
  return rows.filter(({ is_mine }) => is_mine);
}

/** What this process hears of an execution it advances. */
export interface Word {
  id: string;
  attempt: number;
  wake: boolean;
  cancel: string | null;
}

/** Shows that executions are advanced, and hears what has happened to them; one that is missing is another's. */
export async function keepAlive(
  em: EntityManager,
  driver: string,
  ids: readonly string[],
  { renew }: { renew: boolean },
): Promise<Word[]> {
  const cancel = `case when cancel_requested then coalesce(cancel_reason, 'cancelled') end as cancel`;
  const where = `id = any(string_to_array(?, ' ')::uuid[]) and driver_id = ?`;
  const sql = renew
    ? `update execution set driver_until = now() + interval '${patience} seconds' where ${where} returning id, attempt, wake, ${cancel}`
    : `select id, attempt, wake, ${cancel} from execution where ${where}`;
  return em.execute<Word[]>(sql, [ids.join(' '), driver]);
}

/** Takes note of word that was left for a driver. @returns false when somebody else advances the execution */
export async function hearWord(em: EntityManager, { id, attempt }: { id: string; attempt: number }): Promise<boolean> {
  const rows = await em.execute<unknown[]>(
    `update execution set wake = false where id = ? and attempt = ? and driver_id is not null returning id`,
    [id, attempt],
  );
  return rows.length > 0;
}

/** Lets executions go whose driver has failed: they are taken up again at once. */
export async function letGo(em: EntityManager, { id, attempt }: { id: string; attempt: number }): Promise<void> {
  await em.execute(`update execution set driver_until = now() where id = ? and attempt = ? and driver_id is not null`, [
    id,
    attempt,
  ]);
}

/** Leaves an execution alone until a time. */
export async function setAside(
  em: EntityManager,
  { id, attempt }: { id: string; attempt: number },
  until: Date,
): Promise<void> {
  await em.execute(
    `update execution set driver_id = null, driver_until = null, waiting_until = ? where id = ? and attempt = ?`,
    [until, id, attempt],
  );
}
