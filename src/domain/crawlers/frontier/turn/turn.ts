import type { EntityManager } from '@mikro-orm/postgresql';
import { transactPipelined } from '../../../pipelined-transaction.ts';
import type { Services } from '../../../services.ts';
import { together } from '../../../together.ts';
import { saveHosts } from '../../hosts/host-rows.ts';
import { announceRun, writeLog } from '../../runs/run-feed.ts';
import { Ledger } from '../ledger.ts';
import { htmlLeft } from './budgets.ts';
import { applyLimits, giveUp } from './leave-out.ts';
import { holdRun, saveRun } from './run-row.ts';
import { claimSlots, hearHosts, lookAtHosts, openHosts, waitOf } from './turn-hosts.ts';
import type { TurnInput, TurnResult } from './turn-input.ts';
import { writeOutcomes } from './write-outcomes.ts';

/**
 * One transaction of a run: writes what has become of leased URLs with all they lead to, and leases the next ones. So a crash loses no link
 * and counts nothing twice.
 * @throws LostRun when the run is not the caller's any more
 */
export async function takeTurn(em: EntityManager, services: Services, input: TurnInput): Promise<TurnResult> {
  const { run, census, budget, want } = input;
  const { clock } = services.crawling;
  const write = async (within: EntityManager) => {
    // All of it is sent at once: each answer that is waited for costs a turn of the event loop.
    const holding = holdRun(within, run);
    const counting = holding.then(({ counts }) => new Ledger(counts));
    const [row, ledger, completed, seen] = await together([
      holding,
      counting,
      writeOutcomes(within, input, counting),
      lookAtHosts(within, input, clock),
    ]);
    let hits = row.hits_reserved - completed.filter(({ refund }) => refund).length;
    const log = [...input.log, ...completed.flatMap((outcome) => outcome.log)];
    log.push(...(await applyLimits(within, input, ledger, hits)));
    const present = census.after(ledger);
    const heard = completed.flatMap(({ of, signal }) => (signal ? [of.host] : []));
    const names = [...new Set([...present.waiting.keys(), ...heard])];
    const hosts = await openHosts(within, input, names, completed, seen, clock);
    hearHosts(hosts, input, completed);
    log.push(...(await giveUp(within, input, names, hosts, ledger)));
    const room = Math.min(
      want,
      htmlLeft(budget, ledger.counts, present.leasedPages),
      budget.max_hits > 0 ? budget.max_hits - hits : want,
    );
    const mayClaim = room > 0 && row.stop_requested === null;
    const [slots] = await together([
      mayClaim ? claimSlots(within, hosts, input, census.after(ledger), room, ledger) : [],
      writeLog(within, services, run, log),
      completed.length > 0 && announceRun(within, services, run),
    ]);
    hits += slots.length;
    const { changed, paces, slowed, down } = hosts;
    await saveHosts(
      within,
      run.project_id,
      [...changed].flatMap((host) => paces.get(host) ?? []),
    );
    const result = {
      counts: ledger.counts,
      slots,
      stop: row.stop_requested,
      held: slowed,
      wait: waitOf(hosts, input),
      down: [...down],
    };
    const save = (last: EntityManager) =>
      saveRun(last, input, ledger, { ...row, hits_reserved: hits }, completed, services.clock.now());
    return { ledger, result, save };
  };
  const { ledger, result } = await transactPipelined(em, write, (last, { save }) => save(last));
  census.follow(ledger);
  return result;
}
