import type { EntityManager } from '@mikro-orm/postgresql';
import { afterSignal, allowance, gapOf, type HostPace, horizon, takeSlots } from '../../hosts/host-pace.ts';
import { addHosts, readHosts } from '../../hosts/host-rows.ts';
import type { SlotClock } from '../../hosts/slot-clock.ts';
import type { Census } from '../census.ts';
import { claimUrls } from '../claim.ts';
import type { Ledger } from '../ledger.ts';
import type { Outcome } from '../outcome.ts';
import { hostOfUrl } from '../url-draft.ts';
import type { Slot, TurnInput } from './turn-input.ts';

const unlimited = 2 ** 31 - 1;

/** The hosts of a turn, as their rows say and as the turn changes them. */
export interface TurnHosts {
  paces: Map<string, HostPace>;
  clock: SlotClock;
  changed: Set<string>;
  /** Asked to be slower, or paused, in this turn. */
  slowed: Set<string>;
  down: Set<string>;
}

const isBad = ({ signal }: Outcome) => signal !== null && signal.kind !== 'good';

/** Hosts a turn may have to do with, as far as is known before it: what waits, what was asked, what is found. */
export async function lookAtHosts(
  em: EntityManager,
  { run, census, outcomes, delayOf }: TurnInput,
  clock: SlotClock,
): Promise<Map<string, HostPace>> {
  const found = outcomes.flatMap(({ of, drafts }) => [
    of.host,
    ...drafts.filter(({ rule }) => rule === null).map(({ url }) => hostOfUrl(url)),
  ]);
  const names = [...new Set([...census.waiting.keys(), ...found])];
  return readHosts(em, run.project_id, names, outcomes.some(isBad) || names.some((name) => delayOf(name) > 0), clock);
}

/**
 * Opens the hosts a turn has to do with, and holds their rows when it takes slots of them or changes them: with no delay and nothing wrong
 * they are only looked at.
 * @param seen by `lookAtHosts`
 */
export async function openHosts(
  em: EntityManager,
  { run, delayOf }: TurnInput,
  names: readonly string[],
  completed: readonly Outcome[],
  seen: ReadonlyMap<string, HostPace>,
  clock: SlotClock,
): Promise<TurnHosts> {
  const isHeld = completed.some(isBad) || names.some((name) => delayOf(name) > 0);
  let paces = new Map(names.flatMap((name) => seen.get(name) ?? []).map((pace) => [pace.host, pace]));
  const unknown = names.filter((name) => !paces.has(name));
  const isSlow = [...paces.values()].some(({ delay, failures, pauses }) => delay > 0 || failures + pauses > 0);
  if (unknown.length > 0 || (!isHeld && isSlow)) {
    await addHosts(em, run.project_id, unknown);
    paces = await readHosts(em, run.project_id, names, isHeld || isSlow, clock);
  }
  return { paces, clock, changed: new Set(), slowed: new Set(), down: new Set() };
}

const isSame = (a: HostPace, b: HostPace) =>
  a.delay === b.delay &&
  a.paused_until === b.paused_until &&
  a.failures === b.failures &&
  a.pauses === b.pauses &&
  a.good === b.good;

/** Applies what requests have told of their hosts. */
export function hearHosts(hosts: TurnHosts, { delayOf }: TurnInput, outcomes: readonly Outcome[]): void {
  const now = hosts.clock.now();
  for (const { of, signal } of outcomes) {
    const before = hosts.paces.get(of.host);
    if (!signal || !before) continue;
    const { pace, isDown } = afterSignal(before, signal, { configured: delayOf(of.host), now });
    if (isDown) hosts.down.add(of.host);
    if (isSame(pace, before)) continue;
    hosts.paces.set(of.host, pace);
    hosts.changed.add(of.host);
    if (pace.delay > before.delay || pace.paused_until > before.paused_until) hosts.slowed.add(of.host);
  }
}

/** Milliseconds until one of the hosts may be claimed from; null: one may be now, or there is none. */
export function waitOf({ paces, clock }: TurnHosts, { delayOf }: TurnInput): number | null {
  const now = clock.now();
  const waits = [...paces.values()].map((pace) => {
    const ahead = gapOf(pace, delayOf(pace.host)) === 0 ? 0 : pace.next_at - now - horizon;
    return Math.max(pace.paused_until - now, ahead);
  });
  const least = Math.min(...waits);
  return Number.isFinite(least) && least > 0 ? least : null;
}

/** Leases the URLs whose turn it is, and takes the slots of their hosts. */
export async function claimSlots(
  em: EntityManager,
  hosts: TurnHosts,
  { run, budget, delayOf }: TurnInput,
  census: Census,
  most: number,
  ledger: Ledger,
): Promise<Slot[]> {
  const { paces, clock } = hosts;
  const now = clock.now();
  const gaps = new Map([...paces].map(([host, pace]) => [host, gapOf(pace, delayOf(host))]));
  const open = [...paces.values()]
    .map((pace) => ({ host: pace.host, most: allowance(pace, gaps.get(pace.host) ?? 0, now, most) }))
    .filter((host) => host.most > 0);
  const depth = budget.depth < 0 ? unlimited : (census.frontDepth ?? unlimited);
  const claimed = await claimUrls(em, run.id, { most, depth, hosts: open, base_id: run.base_id }, ledger);
  const slots: Slot[] = [];
  for (const [host, urls] of Map.groupBy(claimed, ({ host: name }) => name)) {
    const pace = paces.get(host);
    const gap = gaps.get(host) ?? 0;
    const taken = pace && gap > 0 ? takeSlots(pace, gap, clock.now(), urls.length) : null;
    for (const [index, of] of urls.entries()) slots.push({ of, start: taken?.starts[index] ?? 0, gap });
    if (!pace || !taken) continue;
    paces.set(host, { ...pace, next_at: taken.next_at });
    hosts.changed.add(host);
  }
  return slots;
}
