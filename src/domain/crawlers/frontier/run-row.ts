import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../kernel/sql.ts';
import type { StopRequest } from '../runs/crawler-run.entity.ts';
import type { RunCounts } from '../runs/run-counts.ts';
import type { BatchInput, RunHandle } from './batch.ts';
import type { Ledger } from './ledger.ts';
import type { Outcome } from './outcome.ts';

/**
 * Expressions of a `select` that makes PostgreSQL plan each statement of a batch once for its connection: planned for its values each time, as it
 * would be, a batch takes half as long to plan as to write. A plan that was made while the frontier was small must still look rows up by
 * their keys when it is large, so none may read a table whole. Until the transaction ends.
 */
export const planOnce =
  "set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)";

/** Another worker has taken the run over, or it has ended: nothing may be written any more. */
export class LostRun extends Error {
  override name = 'LostRun';
}

/** What a batch needs of the run's row. */
interface RunRow {
  counts: RunCounts;
  hits_reserved: number;
  recent: number[] | null;
  stop_requested: StopRequest | null;
}

// A process that is stopped in the middle must not keep the row locked against the next worker.
const lockSql = `
  select counts, hits_reserved, recent, stop_requested, set_config('idle_in_transaction_session_timeout', '5s', true), ${planOnce}
  from crawler_run where id = $1 and epoch = $2 and status in ('provisioning', 'running') for update`;

const saveSql = `
  update crawler_run set counts = $1::json, hits_reserved = $2, recent = $3::json, rate = $4, heartbeat_at = now(), updated_at = $5,
    progress_at = case when $6 then now() else progress_at end, takeovers = case when $6 then 0 else takeovers end
  where id = $7`;

/** Holds the run's row for the transaction. @throws LostRun */
export async function lockRun(em: EntityManager, { id, epoch }: RunHandle): Promise<RunRow> {
  const [row] = await executeBound<RunRow>(em, lockSql, [id, epoch]);
  if (!row) throw new LostRun(`run ${id} was taken over or has ended`);
  return row;
}

const mostRecent = 20;

/** Writes what a batch has changed on the run's row, which the caller holds. */
export async function saveRun(
  em: EntityManager,
  { run, rate }: BatchInput,
  { counts }: Ledger,
  { hits_reserved, recent }: RunRow,
  completed: readonly Outcome[],
  now: Date,
): Promise<void> {
  const answered = completed.filter(({ sent }) => sent).map(({ of }) => of.id);
  const isFurther = answered.length > 0;
  const last = [...(recent ?? []), ...answered].slice(-mostRecent);
  const given = [JSON.stringify(counts), hits_reserved, JSON.stringify(last), rate, now, isFurther, run.id];
  await executeBound(em, saveSql, given);
}
