import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../bound-query.ts';
import type { Services } from '../../../services.ts';
import { executionSubject } from '../../executions/execution-feed.ts';
import { advanceJob } from '../advance-job.ts';
import { handSlotsOver, type SlotKey } from '../slots.ts';
import { rowOf, writeStepRows } from '../step-rows.ts';
import { type Checkpoint, clearsSuspicion, isOver, type Kept } from './checkpoint.ts';

const updateSql = `
  update execution set status = kept.status, outcome = kept.outcome, output = kept.output::json, output_sha256 = kept.output_sha256,
    error = kept.error::json, state = kept.state::json, started_at = kept.started_at, finished_at = kept.finished_at,
    crashes = case when kept.has_progressed then 0 else execution.crashes end,
    waiting_until = case when kept.is_released and not execution.wake then kept.waiting_until end,
    driver_id = case when kept.is_ended or kept.is_released and not execution.wake then null else execution.driver_id end,
    suspect = case when kept.is_clear then null when kept.is_released and not execution.wake and execution.suspect is not null then 'waiting'
      else execution.suspect end,
    suspect_group = case when kept.is_clear then null else execution.suspect_group end
  from json_to_recordset($1::json) as kept (id uuid, attempt integer, status text, outcome text, output text, output_sha256 text,
    error text, state text, started_at timestamptz, finished_at timestamptz, waiting_until timestamptz, has_progressed boolean,
    is_clear boolean, is_released boolean, is_ended boolean)
  where execution.id = kept.id and execution.attempt = kept.attempt and execution.status in ('pending', 'running', 'paused')
    and execution.driver_id is not null
  returning execution.id, execution.wake, execution.slot_key,
    case when execution.cancel_requested then coalesce(execution.cancel_reason, 'cancelled') end as cancel`;

interface Updated {
  id: string;
  wake: boolean;
  slot_key: string | null;
  cancel: string | null;
}

/** What its row is to hold. */
const rowFor = (checkpoint: Checkpoint, now: Date) => ({
  id: checkpoint.hold.id,
  attempt: checkpoint.hold.attempt,
  status: checkpoint.status,
  outcome: checkpoint.outcome,
  output: checkpoint.output,
  output_sha256: checkpoint.output_sha256,
  error: checkpoint.error === null ? null : JSON.stringify(checkpoint.error),
  state: JSON.stringify(checkpoint.state),
  started_at: checkpoint.started_at === null ? null : new Date(checkpoint.started_at),
  finished_at: isOver(checkpoint) ? now : null,
  waiting_until: checkpoint.waiting_until === null ? null : new Date(checkpoint.waiting_until),
  has_progressed: checkpoint.hasProgressed,
  is_clear: clearsSuspicion(checkpoint),
  is_released: checkpoint.isReleased,
  is_ended: isOver(checkpoint),
});

type Needs = Pick<Services, 'sharedClock' | 'events' | 'jobs'>;

/** Keeps checkpoints in one transaction, those of executions that others have taken over left out. */
export async function keepCheckpoints(
  em: EntityManager,
  services: Needs,
  checkpoints: readonly Checkpoint[],
): Promise<Map<string, Kept>> {
  const now = services.sharedClock.recent();
  const updated = await executeBound<Updated>(em, updateSql, [
    JSON.stringify(checkpoints.map((one) => rowFor(one, now))),
  ]);
  const known = new Map(updated.map((row) => [row.id, row]));
  const kept = checkpoints.filter(({ hold }) => known.has(hold.id));
  await writeStepRows(
    em,
    kept.flatMap(({ hold, runs }) => runs.map((run) => rowOf(hold.id, run))),
  );
  await services.events.append(
    em,
    kept.map(({ hold, events }) => ({ subject: executionSubject(hold), events })),
  );
  const handedOn = kept.filter((checkpoint) => checkpoint.isHandedOn && !isOver(checkpoint));
  await services.jobs.sendMany(
    advanceJob,
    handedOn.map(({ hold }) => ({ execution_id: hold.id })),
    { em },
  );
  const freed = new Map<string, SlotKey>();
  for (const { hold } of kept.filter(isOver)) {
    const key = known.get(hold.id)?.slot_key ?? null;
    if (key !== null) freed.set(`${hold.workflow_id} ${key}`, { workflow_id: hold.workflow_id, key });
  }
  // In one order, so that no two transactions wait for each other.
  for (const name of [...freed.keys()].sort()) {
    const slot = freed.get(name);
    if (slot) await handSlotsOver(em, services, slot);
  }
  return new Map(updated.map(({ id, wake, cancel }) => [id, { wake, cancel }]));
}
