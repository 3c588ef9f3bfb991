import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../kernel/sql.ts';
import { settleAll } from '../../../lib/concurrency.ts';
import { entryRow, insertEntriesSql, storableJson } from '../snapshots/snapshot-entries.ts';
import type { Ledger } from './ledger.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { keyBytes } from './url-draft.ts';

/**
 * Joins the rows of leased URLs, as `leased`, to a `given` that has their `place`: found there, none but them is read, whatever the statistics
 * say of the frontier.
 */
const leasedRows = `
  cross join lateral (select ctid as place, id, run_id, url_hash, url, kind, state from crawl_url where ctid = given.place limit 1) as leased`;

/**
 * Condition on what `leasedRows` joins: that it still is what was given.
 * @param run, epoch the parameters that name them
 */
const isLeased = (run: string, epoch: string): string =>
  `leased.id = given.id and leased.run_id = ${run} and leased.state = 'leased' and (select epoch from crawler_run where id = ${run}) = ${epoch}`;

const placesSql = `
  select id, ctid as place from crawl_url
  where run_id = ? and state = 'leased' and (select epoch from crawler_run where id = ?) = ?
    and id in (select unnest(string_to_array(?, ' '))::bigint)`;

/** @returns by id the places where URLs are that still are leased in a run of this epoch */
async function placesOf(
  em: EntityManager,
  { run_id, epoch }: { run_id: number; epoch: number },
  outcomes: readonly Outcome[],
): Promise<Map<number, string>> {
  const ids = outcomes.map(({ of }) => of.id).join(' ');
  const rows = await em.execute<{ id: string; place: string }[]>(placesSql, [run_id, run_id, epoch, ids]);
  return new Map(rows.map(({ id, place }) => [Number(id), place]));
}

/** The type of `bigint` in PostgreSQL's catalogue. */
const bigintType = 20;

/** Numbers of eight bytes each, in pieces, as a `bigint[]` in the form PostgreSQL's protocol has for it (`array_send`). */
function bigintArray(pieces: readonly Uint8Array[]): Buffer {
  const count = pieces.reduce((sum, { length }) => sum + length, 0) / keyBytes;
  if (count === 0) return Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, bigintType]);
  const bytes = Buffer.allocUnsafe(20 + count * (4 + keyBytes));
  // Dimensions, no nulls, type; then size and first index of the only dimension.
  let at = 0;
  for (const word of [1, 0, bigintType, count, 1]) at = bytes.writeInt32BE(word, at);
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; from += keyBytes) {
      at = bytes.writeInt32BE(keyBytes, at);
      for (let next = 0; next < keyBytes; next += 1) bytes[at + next] = piece[from + next] as number;
      at += keyBytes;
    }
  }
  return bytes;
}

function packed(numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(numbers.length * 8);
  for (const [index, number] of numbers.entries()) bytes.writeBigInt64BE(BigInt(number), index * 8);
  return bytes;
}

/** Links of outcomes as three `bigint[]`: where they are from, the last place of each one's keys among all keys, and all keys. */
function linkRows(outcomes: readonly Outcome[]): [from: Buffer, last: Buffer, keys: Buffer] {
  const linking = outcomes.filter(({ link_keys }) => link_keys.length > 0);
  let count = 0;
  const last = linking.map(({ link_keys }) => {
    count += link_keys.length / keyBytes;
    return count;
  });
  const from = linking.map(({ of }) => of.id);
  return [
    bigintArray([packed(from)]),
    bigintArray([packed(last)]),
    bigintArray(linking.map(({ link_keys }) => link_keys)),
  ];
}

/**
 * A statement that writes the links of a run's URLs; what is there already stays as it is.
 * @param run the parameter that names the run; `from`, `last` and `keys` the parameters of `linkRows`
 * @param which condition on `from_id`
 */
const insertLinksSql = (run: string, from: string, last: string, keys: string, which: string): string => `
  insert into crawl_link (run_id, from_id, to_keys)
  select ${run}::integer, from_id, (${keys}::bigint[])[before + 1 : last] from (
    select from_id, last::integer, coalesce(lag(last) over (order by last), 0)::integer as before
    from unnest(${from}::bigint[], ${last}::bigint[]) as link (from_id, last)) as link
  where ${which} on conflict do nothing`;

/** Of an entry that is written again: everything but what the answer may have said anew. */
const same = `http_status, content_type, charset, headers, sha256, bytes, request_hash, first_seen_run, fetched_at`;

/**
 * The rows an unchanged URL leaves are those of the earlier snapshot: they are copied where they are, which costs both sides a fraction of
 * reading and sending them. Without the earlier entry the URL stays leased.
 */
const completeUnchangedSql = `
  with found as materialized (
    select leased.place, leased.id, leased.url_hash, leased.url, leased.kind, given.duration_ms, given.canonical,
      coalesce(given.etag, entry.etag) as etag, coalesce(given.last_modified, entry.last_modified) as last_modified,
      coalesce(given.outlinks_sha256, entry.outlinks_sha256) as outlinks_sha256, ${same.replaceAll(/\w+/g, 'entry.$&')}
    from json_to_recordset($5::json) as given
        (id bigint, place tid, duration_ms integer, canonical text, etag text, last_modified text, outlinks_sha256 text)
      ${leasedRows}
      cross join lateral (
        select * from snapshot_entry where snapshot_id = $2 and url_hash = leased.url_hash and sha256 is not null limit 1) as entry
    where ${isLeased('$1', '$4')}
  ), done as (
    update crawl_url set state = 'done', attempts = attempts + 1, not_before = null, rule = null, http_status = found.http_status,
      content_type = found.content_type, bytes = found.bytes, sha256 = found.sha256, redirect_to = null, canonical = found.canonical,
      error = null, error_message = null, change = 'unchanged_304', from_cache = true, duration_ms = found.duration_ms, fetched_at = now()
    from found where crawl_url.ctid = found.place
    returning crawl_url.id
  ), kept as (
    insert into snapshot_entry (snapshot_id, url_hash, url, kind, etag, last_modified, outlinks_sha256, ${same})
    select $3::integer, url_hash, url, kind, etag, last_modified, outlinks_sha256, ${same} from found
    on conflict (snapshot_id, url_hash) do nothing
  ), linked as (${insertLinksSql('$1', '$6', '$7', '$8', 'from_id in (select id from found)')}
  )
  select id from done`;

/** What has come of an unchanged URL beside what its earlier entry says. */
const unchangedRow = ({ of, duration_ms, canonical, again }: Outcome) => ({
  id: of.id,
  place: of.place,
  ...(duration_ms !== null && { duration_ms }),
  ...(canonical !== null && { canonical }),
  ...again,
});

/**
 * Writes outcomes that leave an earlier snapshot's entry as it was (`again`).
 * @returns ids of URLs that were still leased and whose earlier entry still exists
 */
async function completeUnchanged(
  em: EntityManager,
  {
    run_id,
    snapshot_id,
    base_id,
    epoch,
  }: { run_id: number; snapshot_id: number; base_id: number | null; epoch: number },
  outcomes: readonly Outcome[],
): Promise<Set<number>> {
  if (outcomes.length === 0) return new Set();
  const rows = storableJson(outcomes.map(unchangedRow));
  const given = [run_id, base_id, snapshot_id, epoch, rows, ...linkRows(outcomes)];
  const done = await executeBound<{ id: string }>(em, completeUnchangedSql, given);
  return new Set(done.map(({ id }) => Number(id)));
}

const columns = `id bigint, place tid, state text, sent boolean, delay double precision, rule text, http_status integer, content_type text,
  bytes bigint, sha256 text, redirect_to text, canonical text, error text, error_message text, change text, from_cache boolean,
  duration_ms integer`;

/**
 * A new attempt replaces what a URL had before; a URL that is no longer leased stays as it is, without entry or links. All
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

const outcomeRow = ({ of, ...outcome }: Outcome) => ({
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
  counts.bytes_stored += outcome.entry?.headers ? JSON.stringify(outcome.entry.headers).length : 0;
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

/** @returns ids of URLs that were still leased */
async function completePlain(
  em: EntityManager,
  { run_id, snapshot_id, epoch }: CompletedRun,
  outcomes: readonly Outcome[],
): Promise<Set<number>> {
  if (outcomes.length === 0) return new Set();
  const entries = outcomes.flatMap(({ of, entry }) => (entry ? entryRow(entry, of.id) : []));
  const rows = storableJson(outcomes.map(outcomeRow));
  const given = [run_id, rows, snapshot_id, storableJson(entries), epoch, ...linkRows(outcomes)];
  const done = await executeBound<{ id: string }>(em, completeSql, given);
  return new Set(done.map(({ id }) => Number(id)));
}

/**
 * Outcomes to write again: a row that was updated meanwhile has moved (`ctid`), and where the earlier snapshot has been
 * removed the URL waits again, for an unconditional request.
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
 * Writes the outcomes of leased URLs: rows, snapshot entries and links, and counts them. The caller holds the run's
 * row, or is waiting for it and may yet lose the run: under an old epoch nothing is written, nor waited for.
 * @returns outcomes of URLs that were still leased: the others change nothing
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
  const [done, same] = await settleAll([
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
