import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../bound-query.ts';
import type { StopRequest } from '../../runs/crawler-run.entity.ts';
import type { RunCounts } from '../../runs/run-counts.ts';
import type { Ledger } from '../ledger.ts';
import type { Outcome } from '../outcome.ts';
import { planOnce } from '../plan-once.ts';
import type { RunHandle, TurnInput } from './turn-input.ts';

/** Somebody else works on the run now, or it has ended: nothing may be written any more. */
export class LostRun extends Error {
  override name = 'LostRun';
}

/** What a turn needs of the run's row. */
export interface RunRow {
  counts: RunCounts;
  hits_reserved: number;
  recent: number[] | null;
  stop_requested: StopRequest | null;
}

// A process that is stopped in the middle must not keep the run from whoever takes it over.
const holdSql = `
  select counts, hits_reserved, recent, stop_requested, set_config('idle_in_transaction_session_timeout', '5s', true), ${planOnce}
  from crawler_run where id = $1 and epoch = $2 and status in ('provisioning', 'running') for update`;

const saveSql = `
  update crawler_run set counts = $1::json, hits_reserved = $2, recent = $3::json, rate = $4, heartbeat_at = now(), updated_at = $5,
    progress_at = case when $6 then now() else progress_at end, takeovers = case when $6 then 0 else takeovers end
  where id = $7`;

/** Holds the run's row for the transaction. @throws LostRun */
export async function holdRun(em: EntityManager, { id, epoch }: RunHandle): Promise<RunRow> {
  const [row] = await executeBound<RunRow>(em, holdSql, [id, epoch]);
  if (!row) throw new LostRun(`run ${id} is not ours any more`);
  return row;
}

const mostRecent = 20;

/** Writes what a turn has changed on the run's row, which the caller holds. */
export async function saveRun(
  em: EntityManager,
  { run, rate }: TurnInput,
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
