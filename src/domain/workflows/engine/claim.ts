import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../bound-query.ts';
import type { Execution } from '../executions/execution.entity.ts';

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
  | 'suspect'
  | 'suspect_group'
  | 'cancel_requested'
  | 'cancel_reason'
  | 'slot_key'
  | 'has_slot'
  | 'state'
> & { started_at: Date | string | null; created_at: Date | string; is_mine: boolean };

// Where there is a driver word is left for it; decided in one statement, so that none ends unseen in between.
const claimSql = `
  update execution set
    wake = driver_id is not null,
    attempt = attempt + (driver_id is null)::integer,
    waiting_until = case when driver_id is not null then waiting_until end,
    driver_id = coalesce(driver_id, $1::uuid)
  where id = any($2::uuid[]) and status in ('pending', 'running', 'paused')
    and (slot_key is null or has_slot or cancel_requested)
    and (driver_id is not null or suspect is null or cancel_requested
      or $3::boolean and (waiting_until is null or waiting_until <= $4::timestamptz))
  returning id, project_id, workflow_id, version, status, trigger_id, trigger_type, delivery_id, input, attempt, crashes, suspect, suspect_group,
    cancel_requested, cancel_reason, slot_key, has_slot, state, started_at, created_at, not wake as is_mine`;

/** Which suspects may be claimed: none, or those whose wait is over at a time. */
export interface ClaimOptions {
  suspects: { now: Date } | null;
}

/**
 * Makes this process the driver of executions that have none. Those that have ended, and those that wait for a slot, are left; a driver
 * that has died is taken away by `buryWorkers`.
 */
export async function claim(
  em: EntityManager,
  driver: string,
  ids: readonly string[],
  { suspects }: ClaimOptions,
): Promise<ClaimedRow[]> {
  if (ids.length === 0) return [];
  const values = [driver, [...new Set(ids)], suspects !== null, suspects?.now ?? null];
  const rows = await executeBound<ClaimedRow>(em, claimSql, values);
  return rows.filter(({ is_mine }) => is_mine);
}

/** Suspects that no process advances and whose wait is over. @returns their ids */
export async function freeSuspects(em: EntityManager, now: Date, most: number): Promise<string[]> {
  const rows = await executeBound<{ id: string }>(
    em,
    `select id from execution where suspect is not null and driver_id is null and status in ('pending', 'running', 'paused')
       and (waiting_until is null or waiting_until <= $1) and (slot_key is null or has_slot) order by id limit $2`,
    [now, most],
  );
  return rows.map(({ id }) => id);
}

/** Notes that a suspect has its turn: from here on a loss says something about it. @returns whether it is this driver's still */
export async function beginTurn(em: EntityManager, { id, attempt }: { id: string; attempt: number }): Promise<boolean> {
  const rows = await executeBound<unknown>(
    em,
    `update execution set suspect = 'acting' where id = $1 and attempt = $2 and driver_id is not null returning id`,
    [id, attempt],
  );
  return rows.length > 0;
}

/** What this process hears of an execution it advances. */
export interface Word {
  id: string;
  attempt: number;
  wake: boolean;
  cancel: string | null;
}

/** Hears what has happened to executions that are advanced here; one that is missing is another's. */
export async function wordsFor(em: EntityManager, driver: string, ids: readonly string[]): Promise<Word[]> {
  return executeBound<Word>(
    em,
    `select id, attempt, wake, case when cancel_requested then coalesce(cancel_reason, 'cancelled') end as cancel
     from execution where id = any($1::uuid[]) and driver_id = $2`,
    [ids, driver],
  );
}

/** Takes note of word that was left for a driver. @returns false when somebody else advances the execution */
export async function hearWord(em: EntityManager, { id, attempt }: { id: string; attempt: number }): Promise<boolean> {
  const rows = await em.execute<unknown[]>(
    `update execution set wake = false where id = ? and attempt = ? and driver_id is not null returning id`,
    [id, attempt],
  );
  return rows.length > 0;
}
