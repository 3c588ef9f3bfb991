import type { EntityManager } from '@mikro-orm/postgresql';
import { transactPipelined } from '../../../kernel/sql.ts';
import { settleAll } from '../../../lib/concurrency.ts';
import type { CrawlerServices } from '../crawlers.ts';
import {
  afterSignal,
  allowance,
  gapOf,
  type HostPace,
  horizon,
  type SlotClock,
  takeSlots,
} from '../hosts/host-pace.ts';
import { addHosts, readHosts, saveHosts } from '../hosts/host-rows.ts';
import { announceRun, type LogLine, writeLog } from '../runs/run-feed.ts';
import { type BatchInput, type BatchResult, htmlLeft, type Slot, spent } from './batch.ts';
import { type CompletedRun, completeUrls } from './complete.ts';
import type { UrlKind, UrlState } from './crawl-url.entity.ts';
import { insertUrls } from './insert-urls.ts';
import { failWaiting, type LeasedUrl, leaseUrls, skipWaiting } from './lease.ts';
import { type CountedUrl, Ledger } from './ledger.ts';
import type { Outcome } from './outcome.ts';
import { lockRun, saveRun } from './run-row.ts';
import type { FrontierStatistics } from './statistics.ts';
import { hostOfUrl, type UrlDraft, urlHash } from './url-draft.ts';

const hashesSql = `(select decode(hash, 'hex') from unnest(string_to_array(?, ' ')) as hash)`;

/** URLs that wait, and URLs skipped only because they are out of scope: a page has requested them all the same. */
const leaseSql = `
  with found as (
    select id, state, rule from crawl_url
    where run_id = ? and url_hash in ${hashesSql} and kind <> 'sitemap'
      and (state = 'pending' or (state = 'skipped' and rule = 'scope'))
    for update)
  update crawl_url set state = 'leased', rule = null, not_before = null from found
  where crawl_url.run_id = ? and crawl_url.id = found.id
  returning crawl_url.id, crawl_url.ctid as place, url, host, kind, is_entry, follows, depth, priority, hop, level, attempts,
    found.state as stood, found.rule as stood_by`;

type LeasedRow = Omit<LeasedUrl, 'id'> & { id: string; stood: UrlState; stood_by: string | null };

const hashesOf = (urls: Iterable<string>) => [...urls].map((url) => urlHash(url).toString('hex')).join(' ');

function draftOf({ of }: Outcome): UrlDraft {
  const { url, kind, is_entry, follows, depth, priority, hop, level, id } = of;
  return { url, kind, is_entry, follows, depth, priority, hop, level, parent_id: id, rule: null };
}

async function leaseNow(em: EntityManager, run_id: number, urls: Iterable<string>, ledger: Ledger) {
  const rows = await em.execute<LeasedRow[]>(leaseSql, [run_id, hashesOf(urls), run_id]);
  return rows.map(({ id, stood, stood_by, ...row }): LeasedUrl => {
    const { kind, host, depth } = row;
    ledger.move(
      { kind, host, depth, state: stood, rule: stood_by },
      { kind, host, depth, state: 'leased', rule: null },
    );
    return { ...row, id: Number(id) };
  });
}

/**
 * Writes what the browsers of completed pages have requested beside them: URLs that were not leased. One that another page has leased or
 * completed meanwhile keeps what it has, and the request is only counted. The caller holds the run's row.
 * @returns the outcomes that were written
 */
async function recordUrls(
  em: EntityManager,
  { run_id, ...of }: CompletedRun,
  pages: readonly Outcome[],
  ledger: Ledger,
): Promise<Outcome[]> {
  const besides = pages.flatMap(({ beside }) => beside ?? []);
  if (besides.length === 0) return [];
  for (const { requests, bytes_wire } of besides) {
    ledger.counts.requests += requests;
    ledger.counts.bytes_wire += bytes_wire;
  }
  const all = besides.flatMap(({ outcomes }) => outcomes);
  if (all.length === 0) return [];
  const byUrl = new Map(all.map((outcome) => [outcome.of.url, outcome] as const).reverse());
  await insertUrls(em, run_id, [...byUrl.values()].map(draftOf), ledger);
  const leased = await leaseNow(em, run_id, byUrl.keys(), ledger);
  const written = new Set<Outcome>();
  const outcomes = leased.flatMap((of) => {
    const outcome = byUrl.get(of.url);
    if (!outcome) return [];
    written.add(outcome);
    return [{ ...outcome, of }];
  });
  const completed = await completeUrls(em, { run_id, ...of }, outcomes, ledger);
  const others = all.filter((outcome) => !written.has(outcome));
  for (const { of, bytes_wire } of others) {
    ledger.counts.requests += 1;
    ledger.counts.bytes_wire += bytes_wire;
    await em.execute('update crawl_url set attempts = attempts + 1 where run_id = ? and url_hash = ?', [
      run_id,
      urlHash(of.url),
    ]);
  }
  return completed;
}

/** Follows redirects from a URL until they come back to it; a chain has at most 20 of them. */
const loopSql = `
  with recursive chain as (
    select id, url, redirect_to, 1 as length from crawl_url where run_id = ? and id = ?
    union all
    select next.id, next.url, next.redirect_to, chain.length + 1 from chain
    join crawl_url as next on next.run_id = ? and next.url_hash = sha256(convert_to(chain.redirect_to, 'UTF8'))
    where chain.redirect_to is not null and next.redirect_to is not null and chain.length <= 21 and next.id <> ?
  ), closed as (
    select exists (select 1 from chain join crawl_url as start on start.run_id = ? and start.id = ? where chain.redirect_to = start.url) as is_loop
  ), ended as (
    update crawl_url set state = 'error', error = 'redirect_loop', error_message = 'The redirects lead back to where they began'
    from chain where crawl_url.run_id = ? and crawl_url.id = chain.id and crawl_url.state = 'done' and (select is_loop from closed)
    returning crawl_url.kind, crawl_url.host, crawl_url.depth, crawl_url.url_hash
  ), removed as (
    delete from snapshot_entry using ended where snapshot_id = ? and snapshot_entry.url_hash = ended.url_hash
  )
  select kind, host, depth from ended`;

/** Ends every member of a chain of redirects that leads back to one of them in `redirect_loop`. */
async function endRedirectLoop(
  em: EntityManager,
  { run_id, snapshot_id }: { run_id: number; snapshot_id: number },
  id: number,
  ledger: Ledger,
): Promise<void> {
  const members = await em.execute<{ kind: UrlKind; host: string; depth: number }[]>(loopSql, [
    run_id,
    id,
    run_id,
    id,
    run_id,
    id,
    run_id,
    snapshot_id,
  ]);
  for (const member of members) {
    const standing: Omit<CountedUrl, 'state'> = { ...member, rule: null };
    ledger.move({ ...standing, state: 'done' }, { ...standing, state: 'error' });
    ledger.counts.redirects -= 1;
  }
}

/** Ends what the limits leave no room for, and says so. */
async function applyLimits(
  em: EntityManager,
  { run, budget }: BatchInput,
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
  { run, isDown }: BatchInput,
  names: readonly string[],
  { down }: BatchHosts,
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

const unlimited = 2 ** 31 - 1;

/** The hosts of a batch, as read from their rows and as the batch changes them. */
interface BatchHosts {
  paces: Map<string, HostPace>;
  clock: SlotClock;
  changed: Set<string>;
  /** Slowed down or paused in this batch. */
  slowed: Set<string>;
  down: Set<string>;
}

const isBad = ({ signal }: Outcome) => signal !== null && signal.kind !== 'good';

/** Hosts a batch may touch, as far as is known before it: those of waiting, fetched and found URLs. */
async function prefetchHosts(
  em: EntityManager,
  { run, statistics, outcomes, delayOf }: BatchInput,
  clock: SlotClock,
): Promise<Map<string, HostPace>> {
  const found = outcomes.flatMap(({ of, drafts }) => [
    of.host,
    ...drafts.filter(({ rule }) => rule === null).map(({ url }) => hostOfUrl(url)),
  ]);
  const names = [...new Set([...statistics.waiting.keys(), ...found])];
  return readHosts(em, run.project_id, names, outcomes.some(isBad) || names.some((name) => delayOf(name) > 0), clock);
}

/**
 * Opens the hosts of a batch, and locks their rows when it takes slots of them or changes them: with no delay and no failure
 * they are only read.
 * @param seen by `prefetchHosts`
 */
async function openHosts(
  em: EntityManager,
  { run, delayOf }: BatchInput,
  names: readonly string[],
  completed: readonly Outcome[],
  seen: ReadonlyMap<string, HostPace>,
  clock: SlotClock,
): Promise<BatchHosts> {
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

/** Applies the signals of requests to their hosts. */
function applySignals(hosts: BatchHosts, { delayOf }: BatchInput, outcomes: readonly Outcome[]): void {
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

/** Milliseconds until one of the hosts may be claimed from; null: at once, or no host is left. */
function waitOf({ paces, clock }: BatchHosts, { delayOf }: BatchInput): number | null {
  const now = clock.now();
  const waits = [...paces.values()].map((pace) => {
    const ahead = gapOf(pace, delayOf(pace.host)) === 0 ? 0 : pace.next_at - now - horizon;
    return Math.max(pace.paused_until - now, ahead);
  });
  const least = Math.min(...waits);
  return Number.isFinite(least) && least > 0 ? least : null;
}

/** Leases the next URLs, and takes slots of their hosts. */
async function leaseSlots(
  em: EntityManager,
  hosts: BatchHosts,
  { run, budget, delayOf }: BatchInput,
  statistics: FrontierStatistics,
  most: number,
  ledger: Ledger,
): Promise<Slot[]> {
  const { paces, clock } = hosts;
  const now = clock.now();
  const gaps = new Map([...paces].map(([host, pace]) => [host, gapOf(pace, delayOf(host))]));
  const open = [...paces.values()]
    .map((pace) => ({ host: pace.host, most: allowance(pace, gaps.get(pace.host) ?? 0, now, most) }))
    .filter((host) => host.most > 0);
  const depth = budget.depth < 0 ? unlimited : (statistics.frontDepth ?? unlimited);
  const claimed = await leaseUrls(em, run.id, { most, depth, hosts: open, base_id: run.base_id }, ledger);
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

const draftsOf = (outcomes: readonly Outcome[]) => outcomes.flatMap(({ drafts }) => drafts);

/**
 * Writes outcomes with the URLs they lead to. Both are sent together, unless browsers requested more URLs, which are written in between:
 * an outcome that an unconfirmed batch has written before leads to URLs that are there already.
 * @returns outcomes of URLs that were still leased
 */
async function writeOutcomes(
  em: EntityManager,
  { run, outcomes }: BatchInput,
  ledger: Promise<Ledger>,
): Promise<Outcome[]> {
  const of = { run_id: run.id, snapshot_id: run.snapshot_id, base_id: run.base_id, epoch: run.epoch };
  const isPlain = outcomes.every(({ beside }) => beside === null);
  const insert = (from: readonly Outcome[]) => insertUrls(em, run.id, draftsOf(from), ledger, run.epoch);
  const [finished, inserted] = await settleAll([
    completeUrls(em, of, outcomes, ledger),
    isPlain ? insert(outcomes) : null,
  ]);
  const completed = isPlain ? finished : [...finished, ...(await recordUrls(em, of, finished, await ledger))];
  const known = inserted ?? (await insert(completed));
  for (const { of: from, redirect_to } of completed)
    if (redirect_to !== null && (redirect_to === from.url || known.has(urlHash(redirect_to).toString('hex'))))
      await endRedirectLoop(em, of, from.id, await ledger);
  return completed;
}

/**
 * One transaction of a run: writes the outcomes of leased URLs with the URLs they lead to, and leases the next ones. So a crash loses no link
 * and counts nothing twice.
 * @throws LostRun when the run is not the caller's any more
 */
export async function commitBatch(
  em: EntityManager,
  services: CrawlerServices,
  input: BatchInput,
): Promise<BatchResult> {
  const { run, statistics, budget, want } = input;
  const { clock } = services.crawlers.crawling;
  const write = async (within: EntityManager) => {
    // All statements are sent at once: each round trip costs an iteration of the event loop.
    const holding = lockRun(within, run);
    const counting = holding.then(({ counts }) => new Ledger(counts));
    const [row, ledger, completed, seen] = await settleAll([
      holding,
      counting,
      writeOutcomes(within, input, counting),
      prefetchHosts(within, input, clock),
    ]);
    let hits = row.hits_reserved - completed.filter(({ refund }) => refund).length;
    const log = [...input.log, ...completed.flatMap((outcome) => outcome.log)];
    log.push(...(await applyLimits(within, input, ledger, hits)));
    const present = statistics.after(ledger);
    const signaled = completed.flatMap(({ of, signal }) => (signal ? [of.host] : []));
    const names = [...new Set([...present.waiting.keys(), ...signaled])];
    const hosts = await openHosts(within, input, names, completed, seen, clock);
    applySignals(hosts, input, completed);
    log.push(...(await giveUp(within, input, names, hosts, ledger)));
    const room = Math.min(
      want,
      htmlLeft(budget, ledger.counts, present.leasedPages),
      budget.max_hits > 0 ? budget.max_hits - hits : want,
    );
    const mayClaim = room > 0 && row.stop_requested === null;
    const [slots] = await settleAll([
      mayClaim ? leaseSlots(within, hosts, input, statistics.after(ledger), room, ledger) : [],
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
  statistics.follow(ledger);
  return result;
}
