import type { EntityManager } from '@mikro-orm/postgresql';
import { type CompletedRun, completeUrls } from './complete.ts';
import type { UrlState } from './crawl-url.entity.ts';
import { insertUrls } from './insert-urls.ts';
import type { LeasedUrl } from './lease.ts';
import type { Ledger } from './ledger.ts';
import type { Outcome } from './outcome.ts';
import { type UrlDraft, urlHash } from './url-draft.ts';

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
export async function recordUrls(
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
