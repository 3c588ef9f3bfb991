import type { EntityManager } from '@mikro-orm/postgresql';
import type { Conclusion, FailureReason } from './deployment.entity.ts';

/** An attempt at a deployment; what is written under an older one than the row's changes nothing. */
export interface Attempt {
  id: number;
  attempt: number;
}

/** How a deployment ends. */
export interface Ending {
  conclusion: Conclusion;
  reason?: FailureReason | undefined;
  at: Date;
}

const affected = async (em: EntityManager, sql: string, values: readonly unknown[]): Promise<number> =>
  (await em.execute<{ affectedRows?: number }>(sql, [...values], 'run')).affectedRows ?? 0;

/** Ends the jobs of a deployment with it: running ones as it ends, the rest are skipped. Steps follow their job. */
async function endJobs(em: EntityManager, id: number, { conclusion, at }: Ending): Promise<void> {
  await em.execute(
    `update deployment_job set status = 'completed',
       conclusion = case status when 'in_progress' then ? else 'skipped' end,
       completed_at = case status when 'in_progress' then ?::timestamptz end,
       steps = coalesce((select json_agg(case when step ->> 'status' = 'completed' then step else (step::jsonb || jsonb_build_object(
           'status', 'completed',
           'conclusion', case step ->> 'status' when 'in_progress' then ? else 'skipped' end,
           'completed_at', case step ->> 'status' when 'in_progress' then ? end))::json end)
         from json_array_elements(steps) as step), '[]'::json)
     where deployment_id = ? and status <> 'completed'`,
    [conclusion, at, conclusion, at.toISOString(), id],
  );
}

/**
 * Ends a running attempt.
 * @returns false when it has ended, or been given up, before: nothing is changed then.
 */
export async function conclude(em: EntityManager, { id, attempt }: Attempt, ending: Ending): Promise<boolean> {
  const { conclusion, reason = null, at } = ending;
  const changed = await affected(
    em,
    `update deployment set status = 'completed', conclusion = ?, failure_reason = ?, completed_at = ?, worker = null
     where id = ? and attempt = ? and status = 'in_progress'`,
    [conclusion, reason, at, id, attempt],
  );
  if (changed === 1) await endJobs(em, id, ending);
  return changed === 1;
}

/** Ends a deployment that has not begun. @returns false when it has begun, or ended, before */
export async function concludeQueued(em: EntityManager, id: number, ending: Ending): Promise<boolean> {
  const changed = await affected(
    em,
    `update deployment set status = 'completed', conclusion = ?, failure_reason = ?, completed_at = ?
     where id = ? and status = 'queued'`,
    [ending.conclusion, ending.reason ?? null, ending.at, id],
  );
  if (changed === 1) await endJobs(em, id, ending);
  return changed === 1;
}

/** Asks the worker of a running deployment to end it. @returns false when none runs */
export async function requestCancel(em: EntityManager, id: number): Promise<boolean> {
  const sql = `update deployment set cancel_requested = true where id = ? and status = 'in_progress'`;
  return (await affected(em, sql, [id])) === 1;
}

/** Puts an attempt whose worker is gone back into the queue. @returns false when somebody has done so, or ended it, before */
export async function requeue(em: EntityManager, { id, attempt }: Attempt, next: number): Promise<boolean> {
  const changed = await affected(
    em,
    `update deployment set status = 'queued', attempt = ?, worker = null, heartbeat_at = null, started_at = null, warnings = null
     where id = ? and attempt = ? and status = 'in_progress'`,
    [next, id, attempt],
  );
  return changed === 1;
}

/** Makes a finished run what its environment shows, unless that is a newer one. */
async function show(em: EntityManager, id: number): Promise<void> {
  await em.execute(
    `update environment set published_deployment_id = run.id
     from deployment as run where run.id = ? and environment.id = run.environment_id
       and not exists (select 1 from deployment as shown where shown.id = environment.published_deployment_id
         and shown.run_number > run.run_number)`,
    [id],
  );
}

/**
 * Publishes what a running attempt has made, and ends it: both or neither. An older run never takes the place of a newer one.
 * @returns false when it was cancelled or given up meanwhile: nothing is published then.
 */
export function publish(
  em: EntityManager,
  { id, attempt }: Attempt,
  { digest, base, at }: { digest: string; base: string; at: Date },
): Promise<boolean> {
  return em.transactional(async (within) => {
    const changed = await affected(
      within,
      `update deployment set status = 'completed', conclusion = 'success', completed_at = ?, worker = null,
         manifest_sha256 = ?, output_digest = ?, base_path = ?
       where id = ? and attempt = ? and status = 'in_progress' and not cancel_requested`,
      [at, digest, digest, base, id, attempt],
    );
    if (changed === 0) return false;
    await endJobs(within, id, { conclusion: 'success', at });
    await show(within, id);
    return true;
  });
}

/** Ends a running attempt that an external provider has published. @returns false when it has ended before */
export async function publishReported(em: EntityManager, attempt: Attempt, at: Date): Promise<boolean> {
  if (!(await conclude(em, attempt, { conclusion: 'success', at }))) return false;
  await show(em, attempt.id);
  return true;
}
