import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../kernel/services.ts';
import { grantFreeSlots } from '../engine/slots.ts';
import type { Execution } from './execution.entity.ts';
import { executionSubject } from './execution-feed.ts';

/** Why an execution is cancelled, and which actor asks for it. */
export interface Cancellation {
  reason: string;
  by: string;
}

type Needs = Pick<Services, 'clock' | 'events' | 'jobs'>;

const endSql = `
  update execution set status = 'cancelled', cancel_requested = true, cancel_reason = ?, cancelled_by = ?, attempt = attempt + 1, wake = false,
    waiting_until = null, finished_at = ?
  where id = ? and status in ('pending', 'running', 'paused') and driver_id is null returning id`;

const endStepsSql = `
  update step_run set status = 'cancelled', finished_at = ?, next_try_at = null, waits_for = null
  where execution_id = ? and status in ('pending', 'running', 'waiting')
  returning path, (1000 * extract(epoch from finished_at - started_at))::integer as duration_ms`;

/**
 * Cancels an open execution whose row the caller holds: one that rests ends in the caller's transaction; the driver of one that is advanced
 * gets the signal within a second. @returns whether it has ended
 */
export async function cancelExecution(
  em: EntityManager,
  services: Needs,
  row: Pick<Execution, 'id' | 'project_id' | 'workflow_id' | 'slot_key' | 'started_at'>,
  { reason, by }: Cancellation,
): Promise<boolean> {
  const now = services.clock.now();
  const ended = await em.execute<unknown[]>(endSql, [reason, by, now, row.id]);
  if (ended.length === 0) {
    await em.execute(
      `update execution set cancelled_by = case when cancel_requested then cancelled_by else ? end, cancel_requested = true,
         cancel_reason = coalesce(cancel_reason, ?), wake = true where id = ?`,
      [by, reason, row.id],
    );
    return false;
  }
  const steps = await em.execute<{ path: string; duration_ms: number | null }[]>(endStepsSql, [now, row.id]);
  const at = now.toISOString();
  await services.events.append(em, [
    {
      subject: executionSubject(row),
      events: [
        ...steps.map((step) => ({ type: 'step.cancelled', at, status: 'cancelled', actor: by, ...step })),
        {
          type: 'execution.cancelled',
          at,
          status: 'cancelled',
          actor: by,
          reason,
          ...(row.started_at && { duration_ms: now.getTime() - row.started_at.getTime() }),
        },
      ],
    },
  ]);
  const key = row.slot_key ?? null;
  if (key !== null) await grantFreeSlots(em, services, { workflow_id: row.workflow_id, key });
  return true;
}

/**
 * Requests every open execution of a workflow to end, in any process. Resting ones are woken for it.
 */
export async function cancelAll(
  em: EntityManager,
  now: Date,
  workflow_id: string,
  { reason, by }: Cancellation,
): Promise<void> {
  await em.execute(
    `update execution set cancelled_by = case when cancel_requested then cancelled_by else ? end, cancel_requested = true,
       cancel_reason = coalesce(cancel_reason, ?), wake = driver_id is not null,
       waiting_until = case when driver_id is null then ?::timestamptz else waiting_until end
     where workflow_id = ? and status in ('pending', 'running', 'paused')`,
    [by, reason, now, workflow_id],
  );
}
