import type { EntityManager } from '@mikro-orm/postgresql';
import { forEachYielding } from '../../../../lib/concurrency.ts';
import type { CrawlerServices } from '../../crawlers.ts';
import { insertUrls } from '../../frontier/insert-urls.ts';
import { Ledger } from '../../frontier/ledger.ts';
import { LostRun } from '../../frontier/run-row.ts';
import { hostOfUrl, priorities, type UrlDraft } from '../../frontier/url-draft.ts';
import { limitIdleTransaction, lockCrawlerOf, notifyRun } from '../../runs/end-run.ts';
import { type LogLine, writeLog } from '../../runs/run-feed.ts';
import { normalise } from '../../urls/normalise.ts';
import { skippedSitemaps } from '../fetch/sitemap.ts';
import type { OpenRun } from './open-run.ts';
import type { RunSite } from './run-site.ts';

interface BeginningRun {
  id: number;
  crawler_id: number;
  /** Scheme and host the run has settled on. */
  origin: string;
}

const beginSql = `
  with begun as (
    insert into snapshot (crawler_id, run_id, state, host, origin, base_id, created_at)
    select ?, ?, 'building', ?, ?,
      (select max(id) from snapshot where crawler_id = ? and state in ('ready', 'held', 'partial')), ?
    returning id, base_id
  ), noted as (
    update crawler_run set snapshot_id = (select id from begun) where id = ?
  )
  select id, base_id from begun`;

/**
 * Begins the snapshot of a run and notes it on the run's row: once, in the transaction that settles the run's origin.
 * @returns its id, and the newest sealed snapshot of the crawler (null: none), whose validators the run may use
 */
export async function beginSnapshot(
  em: EntityManager,
  { id, crawler_id, origin }: BeginningRun,
  now: Date,
): Promise<{ id: number; base_id: number | null }> {
  const { host } = new URL(origin);
  const rows = await em.execute<{ id: number; base_id: number | null }[]>(beginSql, [
    crawler_id,
    id,
    host,
    origin,
    crawler_id,
    now,
    id,
  ]);
  const [begun] = rows;
  if (!begun) throw new Error(`the snapshot of run ${id} was not begun`);
  return begun;
}

type Entry = { link: string; kind: 'page' | 'sitemap'; follows: boolean };

/** Where a run begins, by its mode. */
function entriesOf({ run: { mode, urls, settings } }: OpenRun): Entry[] {
  const pages = (links: readonly string[], follows: boolean): Entry[] =>
    links.map((link) => ({ link, kind: 'page', follows }));
  if (mode === 'partial') return pages(urls ?? [], false);
  if (mode === 'list') return pages(settings.urls, false);
  return [
    ...pages(settings.start_urls, true),
    ...pages(settings.urls, false),
    ...settings.sitemap.map(({ url, recursive }): Entry => ({ link: url, kind: 'sitemap', follows: recursive })),
  ];
}

/** The URLs a run begins with, as its frontier takes them. */
export async function entryDrafts(open: OpenRun, site: RunSite): Promise<UrlDraft[]> {
  const drafts: UrlDraft[] = [];
  await forEachYielding(entriesOf(open), async ({ link, kind, follows }) => {
    const url = normalise(link, site.origin, { origin: site.origin, stripParams: site.stripParams });
    if (url === null) return;
    const rule = await site.skips(url, hostOfUrl(url), kind, true);
    const priority = priorities[kind];
    drafts.push({ url, kind, is_entry: true, follows, depth: 0, priority, hop: 0, level: 0, parent_id: null, rule });
  });
  return drafts;
}

const startSql = `
  update crawler_run set status = 'running', origin = ?, started_at = coalesce(started_at, ?), progress_at = now(), counts = ?::json,
    updated_at = ?
  where id = ? and epoch = ? and status = 'provisioning' returning stop_requested`;

/**
 * Begins a run: its snapshot, its first URLs, its state, and the word of it; all or nothing.
 * @throws LostRun
 */
export async function startRun(
  services: CrawlerServices,
  open: OpenRun,
  site: RunSite,
  log: readonly LogLine[],
): Promise<void> {
  const { run } = open;
  const now = services.clock.now();
  const drafts = await entryDrafts(open, site);
  await services.orm.em.fork().transactional(async (em) => {
    await limitIdleTransaction(em);
    // Its snapshot and its notification refer to the crawler.
    await lockCrawlerOf(em, run.id);
    const [row] = await em.execute<unknown[]>(
      `select id from crawler_run where id = ? and epoch = ? and status = 'provisioning' for update`,
      [run.id, run.epoch],
    );
    if (!row) throw new LostRun(`run ${run.id} is not ours any more`);
    const origin = site.origin.origin;
    const snapshot = await beginSnapshot(em, { id: run.id, crawler_id: run.crawler_id, origin }, now);
    const ledger = new Ledger(run.counts);
    await insertUrls(em, run.id, drafts, ledger);
    await em.execute(startSql, [origin, now, JSON.stringify(ledger.counts), now, run.id, run.epoch]);
    await writeLog(em, services, run, [
      ...log,
      { level: 'info', event: 'run.started', message: `The run begins at ${origin}`, data: { origin, mode: run.mode } },
      ...skippedSitemaps(drafts, 'the crawler'),
    ]);
    Object.assign(run, {
      status: 'running',
      origin,
      started_at: run.started_at ?? now,
      counts: ledger.counts,
      snapshot_id: snapshot.id,
    });
    await notifyRun(em, services, run, 'crawler.run.started');
  });
}
