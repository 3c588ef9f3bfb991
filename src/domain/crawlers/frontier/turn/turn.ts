import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../services.ts';
import { saveHosts } from '../../hosts/host-rows.ts';
import type { StopRequest } from '../../runs/crawler-run.entity.ts';
import type { RunCounts } from '../../runs/run-counts.ts';
import { announceRun, type LogLine, writeLog } from '../../runs/run-feed.ts';
import { failWaiting, skipWaiting } from '../claim.ts';
import { completeUrls } from '../complete.ts';
import { insertUrls } from '../insert-urls.ts';
import { Ledger } from '../ledger.ts';
import type { Outcome } from '../outcome.ts';
import { recordUrls } from '../record.ts';
import { endRedirectLoop } from '../redirect-loops.ts';
import { urlHash } from '../url-draft.ts';
import { htmlLeft, spent } from './budgets.ts';
import { claimSlots, hearHosts, openHosts, type TurnHosts, waitOf } from './turn-hosts.ts';
import type { RunHandle, Slot, TurnInput, TurnResult } from './turn-input.ts';

/** Somebody else works on the run now, or it has ended: nothing may be written any more. */
export class LostRun extends Error {
  override name = 'LostRun';
}

interface Row {
  counts: RunCounts;
  hits_reserved: number;
  recent: number[] | null;
  stop_requested: StopRequest | null;
}

/** Holds the run's row for the transaction. @throws LostRun */
async function holdRun(em: EntityManager, { id, epoch }: RunHandle): Promise<Row> {
  const [row] = await em.execute<Row[]>(
    // A process that is stopped in the middle must not keep the run from whoever takes it over.
    `select counts, hits_reserved, recent, stop_requested, set_config('idle_in_transaction_session_timeout', '5s', true)
     from crawler_run
     where id = ? and epoch = ? and status in ('provisioning', 'running') for update`,
    [id, epoch],
  );
  if (!row) throw new LostRun(`run ${id} is not ours any more`);
  return row;
}

/** Writes outcomes with all they lead to. @returns those that still counted */
async function write(em: EntityManager, { run, outcomes }: TurnInput, ledger: Ledger): Promise<Outcome[]> {
  const of = { run_id: run.id, snapshot_id: run.snapshot_id };
  const finished = await completeUrls(em, of, outcomes, ledger);
  const completed = [...finished, ...(await recordUrls(em, of, finished, ledger))];
  const drafts = completed.flatMap((outcome) => outcome.drafts);
  const known = await insertUrls(em, run.id, drafts, ledger);
  for (const { of: from, redirect_to } of completed)
    if (redirect_to !== null && (redirect_to === from.url || known.has(urlHash(redirect_to).toString('hex'))))
      await endRedirectLoop(em, of, from.id, ledger);
  return completed;
}

/** Ends what the limits leave no room for, and says so. */
async function applyLimits(
  em: EntityManager,
  { run, budget }: TurnInput,
  ledger: Ledger,
  hits: number,
): Promise<LogLine[]> {
  const limit = ledger.counts.pending === 0 ? null : spent(budget, ledger.counts, hits);
  if (limit === null) return [];
  const { rule, kind } = limit;
  const skipped = await skipWaiting(em, run.id, { rule, ...(kind && { kind }) }, ledger);
  if (skipped === 0) return [];
  const message = `The limit ${rule} is reached: ${skipped} URLs are left out`;
  return [{ level: 'info', event: rule, message, data: { skipped } }];
}

/** Ends what waits for hosts that are given up, and says so. */
async function giveUp(
  em: EntityManager,
  { run, isDown }: TurnInput,
  names: readonly string[],
  { down }: TurnHosts,
  ledger: Ledger,
): Promise<LogLine[]> {
  const log: LogLine[] = [];
  for (const host of names) {
    if (!down.has(host) && !isDown(host)) continue;
    const failed = await failWaiting(em, run.id, host, ledger);
    const message = `${host} does not answer any more: ${failed} URLs end in an error`;
    if (down.has(host)) log.push({ level: 'error', event: 'host_down', message, data: { host, failed } });
  }
  return log;
}

const mostRecent = 20;

async function saveRun(
  em: EntityManager,
  { run, rate }: TurnInput,
  { counts }: Ledger,
  { hits_reserved, recent }: Row,
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

/**
 * One transaction of a run: writes what has become of leased URLs with all they lead to, and leases the next ones. So a crash loses no link
 * and counts nothing twice.
 * @throws LostRun when the run is not the caller's any more
 */
export async function takeTurn(em: EntityManager, services: Services, input: TurnInput): Promise<TurnResult> {
  const { run, census, budget, want } = input;
  const { ledger, result } = await em.transactional(async (within) => {
    const row = await holdRun(within, run);
    const ledger = new Ledger(row.counts);
    const completed = await write(within, input, ledger);
    let hits = row.hits_reserved - completed.filter(({ refund }) => refund).length;
    const log = [...input.log, ...completed.flatMap((outcome) => outcome.log)];
    log.push(...(await applyLimits(within, input, ledger, hits)));
    const present = census.after(ledger);
    const heard = completed.flatMap(({ of, signal }) => (signal ? [of.host] : []));
    const names = [...new Set([...present.waiting.keys(), ...heard])];
    const hosts = await openHosts(within, input, names, completed);
    hearHosts(hosts, input, completed);
    log.push(...(await giveUp(within, input, names, hosts, ledger)));
    const room = Math.min(
      want,
      htmlLeft(budget, ledger.counts, present.leasedPages),
      budget.max_hits > 0 ? budget.max_hits - hits : want,
    );
    let slots: Slot[] = [];
    if (room > 0 && row.stop_requested === null)
      slots = await claimSlots(within, hosts, input, census.after(ledger), room, ledger);
    hits += slots.length;
    const { changed, paces, slowed, down, offset } = hosts;
    await saveHosts(
      within,
      run.project_id,
      [...changed].flatMap((host) => paces.get(host) ?? []),
    );
    await saveRun(within, input, ledger, { ...row, hits_reserved: hits }, completed, services.clock.now());
    await writeLog(within, services, run, log);
    if (completed.length > 0) await announceRun(within, services, run);
    const result = {
      counts: ledger.counts,
      slots,
      stop: row.stop_requested,
      held: slowed,
      wait: waitOf(hosts, input),
      down: [...down],
      offset,
    };
    return { ledger, result };
  });
  census.follow(ledger);
  return result;
}
