import type { EntityManager } from '@mikro-orm/postgresql';
import type { LogLine } from '../../runs/run-feed.ts';
import { failWaiting, skipWaiting } from '../claim.ts';
import type { Ledger } from '../ledger.ts';
import { spent } from './budgets.ts';
import type { TurnHosts } from './turn-hosts.ts';
import type { TurnInput } from './turn-input.ts';

/** Ends what the limits leave no room for, and says so. */
export async function applyLimits(
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
export async function giveUp(
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
