import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../bound-query.ts';
import { together } from '../../together.ts';
import { entryRow, insertEntriesSql } from '../snapshots/entries/insert-entries.ts';
import { storableJson } from '../storable-json.ts';
import { completeUnchanged } from './complete-unchanged.ts';
import { isLeased, leasedRows, placesOf } from './leased-rows.ts';
import type { Ledger } from './ledger.ts';
import { insertLinksSql, linkRows } from './link-rows.ts';
import { type Outcome, outcomeOf } from './outcome.ts';

const columns = `id bigint, place tid, state text, sent boolean, delay double precision, rule text, http_status integer, content_type text,
  bytes bigint, sha256 text, redirect_to text, canonical text, error text, error_message text, change text, from_cache boolean,
  duration_ms integer`;

/**
 * What a URL had before is gone with a new try; one that was leased by nobody any more stays as it is, and leaves neither entry nor links. All
 * in one statement: each costs both sides a wait for the other.
 */
const completeSql = `
  with found as materialized (
    select given.* from json_to_recordset($2::json) as given (${columns}) ${leasedRows}
    where ${isLeased('$1', '$5')}
  ), done as (
    update crawl_url set state = found.state, attempts = attempts + found.sent::integer,
      not_before = case when found.delay is not null then now() + found.delay * interval '1 ms' end,
      rule = found.rule, http_status = found.http_status, content_type = found.content_type, bytes = found.bytes, sha256 = found.sha256,
      redirect_to = found.redirect_to, canonical = found.canonical, error = found.error, error_message = found.error_message,
      change = found.change, from_cache = found.from_cache, duration_ms = found.duration_ms,
      fetched_at = case when found.sent then now() else fetched_at end
    from found where crawl_url.ctid = found.place
    returning crawl_url.id
  ), kept as (${insertEntriesSql('$3', '$4', 'from_id in (select id from done)')}
  ), linked as (${insertLinksSql('$1', '$6', '$7', '$8', 'from_id in (select id from done)')}
  )
  select id from done`;

const rowOf = ({ of, ...outcome }: Outcome) => ({
  id: of.id,
  place: of.place,
  state: outcome.state,
  sent: outcome.sent,
  delay: outcome.delay,
  rule: outcome.rule,
  http_status: outcome.http_status,
  content_type: outcome.content_type,
  bytes: outcome.bytes,
  sha256: outcome.sha256,
  redirect_to: outcome.redirect_to,
  canonical: outcome.canonical,
  error: outcome.error,
  error_message: outcome.error_message,
  change: outcome.change,
  from_cache: outcome.from_cache,
  duration_ms: outcome.duration_ms,
});

const typeOf = (contentType: string | null) => (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() || 'none';

/** What a captured response adds to the counters. */
function countCapture(ledger: Ledger, outcome: Outcome): void {
  const { counts } = ledger;
  counts.captured += 1;
  if (outcome.is_html) counts.html += 1;
  else if (outcome.of.kind !== 'sitemap') counts.assets += 1;
  if (outcome.change !== null) counts[outcome.change] += 1;
  if (outcome.change === 'new' || outcome.change === 'changed') counts.bytes_stored += outcome.bytes ?? 0;
  ledger.type(typeOf(outcome.content_type), outcome.bytes ?? 0);
}

function count(ledger: Ledger, outcome: Outcome): void {
  const { kind, host, depth } = outcome.of;
  const standing = { kind, host, depth };
  ledger.move({ ...standing, state: 'leased', rule: null }, { ...standing, state: outcome.state, rule: outcome.rule });
  if (!outcome.sent) return;
  const { counts } = ledger;
  counts.requests += 1;
  counts.bytes_wire += outcome.bytes_wire;
  if (outcome.of.attempts > 0) counts.retries += 1;
  if (outcome.state !== 'done') {
    if (outcome.state === 'error' && outcome.http_status !== null) ledger.status(outcome.http_status, 0);
    return;
  }
  if (outcome.http_status !== null) ledger.status(outcome.http_status, outcome.bytes ?? 0);
  if (outcome.sha256 !== null) countCapture(ledger, outcome);
  else if (outcome.redirect_to !== null) counts.redirects += 1;
  else if (outcome.http_status === 404 || outcome.http_status === 410) counts.broken += 1;
}

/** A run as far as its rows are written; see `RunHandle`. */
export interface CompletedRun {
  run_id: number;
  snapshot_id: number;
  /** Absent: no outcome is of an entry of an earlier snapshot. */
  base_id?: number | null;
  epoch: number;
}

/** @returns ids of those that were still leased */
async function completePlain(
  em: EntityManager,
  { run_id, snapshot_id, epoch }: CompletedRun,
  outcomes: readonly Outcome[],
): Promise<Set<number>> {
  if (outcomes.length === 0) return new Set();
  const entries = outcomes.flatMap(({ of, entry }) => (entry ? entryRow(entry, of.id) : []));
  const rows = storableJson(outcomes.map(rowOf));
  const given = [run_id, rows, snapshot_id, storableJson(entries), epoch, ...linkRows(outcomes)];
  const done = await executeBound<{ id: string }>(em, completeSql, given);
  return new Set(done.map(({ id }) => Number(id)));
}

/**
 * What is to be written again of what was not: a row that has been written meanwhile is somewhere else, and where the earlier snapshot has been
 * removed the URL waits again, and is asked for whole.
 */
async function notYet(em: EntityManager, run: CompletedRun, left: readonly Outcome[]): Promise<Outcome[]> {
  const places = await placesOf(em, run, left);
  return left.flatMap((outcome) => {
    const { of, bytes_wire, signal, again } = outcome;
    const place = places.get(of.id);
    if (place === undefined) return [];
    if (place !== of.place) return [{ ...outcome, of: { ...of, place } }];
    return again === null ? [] : [outcomeOf(of, { state: 'pending', bytes_wire, signal })];
  });
}

/**
 * Writes what has become of leased URLs: rows, snapshot entries and links, and counts them. The caller holds the run's
 * row, or has asked for it and may still learn that the run is another's: under an old epoch nothing is written, nor waited for.
 * @returns those that were still leased: the others change nothing
 */
export async function completeUrls(
  em: EntityManager,
  run: CompletedRun,
  outcomes: readonly Outcome[],
  ledger: Ledger | Promise<Ledger>,
): Promise<Outcome[]> {
  const { base_id = null } = run;
  const kept = outcomes.filter(({ again }) => again !== null);
  const plain = kept.length === 0 ? outcomes : outcomes.filter(({ again }) => again === null);
  const [done, same] = await together([
    completePlain(em, run, plain),
    completeUnchanged(em, { ...run, base_id }, kept),
  ]);
  const into = await ledger;
  const isDone = ({ of }: Outcome) => done.has(of.id) || same.has(of.id);
  const completed = outcomes.filter(isDone);
  for (const outcome of completed) count(into, outcome);
  if (completed.length === outcomes.length) return completed;
  const left = await notYet(
    em,
    run,
    outcomes.filter((outcome) => !isDone(outcome)),
  );
  return left.length === 0 ? completed : [...completed, ...(await completeUrls(em, run, left, ledger))];
}
