import type { EntityManager } from '@mikro-orm/postgresql';
import type { StopRequest } from '../../runs/crawler-run.entity.ts';
import type { RunCounts } from '../../runs/run-counts.ts';
import type { Ledger } from '../ledger.ts';
import type { Outcome } from '../outcome.ts';
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

/** Holds the run's row for the transaction. @throws LostRun */
export async function holdRun(em: EntityManager, { id, epoch }: RunHandle): Promise<RunRow> {
  const [row] = await em.execute<RunRow[]>(
    // A process that is stopped in the middle must not keep the run from whoever takes it over.
    `select counts, hits_reserved, recent, stop_requested, set_config('idle_in_transaction_session_timeout', '5s', true)
     from crawler_run
     where id = ? and epoch = ? and status in ('provisioning', 'running') for update`,
    [id, epoch],
  );
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
  await em.execute(
    `update crawler_run set counts = ?::json, hits_reserved = ?, recent = ?::json, rate = ?, heartbeat_at = now(), updated_at = ?,
       progress_at = case when ? then now() else progress_at end, takeovers = case when ? then 0 else takeovers end
     where id = ?`,
    [JSON.stringify(counts), hits_reserved, JSON.stringify(last), rate, now, isFurther, isFurther, run.id],
  );
}
