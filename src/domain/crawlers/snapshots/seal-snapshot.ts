import type { EntityManager } from '@mikro-orm/postgresql';
import { siblingOf } from '../config/host.ts';
import type { CrawlerServices } from '../crawlers.ts';
import { checkSnapshot, collisionsIn, type EndedRun, homeOf, type SealedSnapshot } from './seal-checks.ts';
import { CrawlSnapshot, type SnapshotCheck, type SnapshotOrigins } from './snapshot.entity.ts';

/** Condition on a captured `snapshot_entry`: it is a page whose media type makes it an HTML page. */
const isHtmlSql = `kind = 'page'
  and coalesce(btrim(split_part(lower(content_type), ';', 1), E' \\t\\n\\x0b\\f\\r'), 'text/html') in ('text/html', 'application/xhtml+xml')`;

/** Captured URLs of one snapshot that another one lacks: HTML pages that are none there, and contents of any kind. */
interface Gone {
  pages: number;
  captured: number;
}

const goneSql = `
  select count(*) filter (where was_page and not is_page)::integer as pages,
    count(*) filter (where was_captured and not is_captured)::integer as captured
  from (
    select bool_or(snapshot_id = before and is_html) as was_page, bool_or(snapshot_id = after and is_html) as is_page,
      bool_or(snapshot_id = before) as was_captured, bool_or(snapshot_id = after) as is_captured
    from (
      select url_hash, snapshot_id, ${isHtmlSql} as is_html from snapshot_entry
      where snapshot_id in (?, ?) and sha256 is not null) as entry,
      (select ?::integer as before, ?::integer as after) as compared
    group by url_hash) as url`;

/**
 * Counts what has gone from one snapshot to another. Each side is read once, whatever the database knows of them: of a snapshot that has just
 * been written its statistics say that it is empty, and a join planned by them would read all of one side for every row of the other.
 */
async function countGone(em: EntityManager, { before, after }: { before: number; after: number }): Promise<Gone> {
  const [row] = await em.execute<Gone[]>(goneSql, [before, after, before, after]);
  return row ?? { pages: 0, captured: 0 };
}

const columns = `url_hash, url, kind, http_status, content_type, charset, headers, sha256, bytes, redirect_to, etag, last_modified,
  outlinks_sha256, request_hash, first_seen_run, fetched_at`;

/**
 * Completes a partial snapshot with the other pages of the live copy. A page that was fetched again and is gone (404, 410) is left out; one
 * that could not be fetched stays as it was.
 */
async function mergeLive(em: EntityManager, run_id: number, snapshot_id: number, live_id: number): Promise<void> {
  await em.execute(
    `insert into snapshot_entry (snapshot_id, ${columns})
     select ?, ${columns} from snapshot_entry as old
     where snapshot_id = ? and url_hash not in (select url_hash from crawl_url where run_id = ? and http_status in (404, 410))
     on conflict (snapshot_id, url_hash) do nothing`,
    [snapshot_id, live_id, run_id],
  );
}

/** Whether an entry of `allowed_domains` (a host, or `*.host` for all below it) means a host. */
const allows = (pattern: string, host: string) =>
  pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;

/** Place of a host in the order in which addresses win; -1 for one that is not part of the tree. */
function rankOf(host: string, primary: string, allowed: readonly string[]): number {
  if (host === primary) return 0;
  if (host === siblingOf(primary)) return 1;
  const at = allowed.findIndex((pattern) => allows(pattern, host));
  return at < 0 ? -1 : at + 2;
}

/** Puts origins in the order in which their addresses win. */
function orderOrigins(
  found: readonly string[],
  origin: string,
  allowed: readonly string[],
): Omit<SnapshotOrigins, 'home'> {
  const primary = new URL(origin).host;
  const ranked = found.map((each) => ({ each, rank: rankOf(new URL(each).host, primary, allowed) }));
  const inOrder = ranked.sort(
    (a, b) => a.rank - b.rank || Number(b.each === origin) - Number(a.each === origin) || (a.each < b.each ? -1 : 1),
  );
  return {
    tree: inOrder.filter(({ rank }) => rank >= 0).map(({ each }) => each),
    others: inOrder.filter(({ rank }) => rank < 0).map(({ each }) => each),
  };
}

/** Every scheme and host a snapshot has entries of. */
async function originsOf(
  em: EntityManager,
  snapshot: { id: number; origin: string },
  allowed: readonly string[],
): Promise<Omit<SnapshotOrigins, 'home'>> {
  const rows = await em.execute<{ origin: string }[]>(
    `select distinct split_part(url, '/', 1) || '//' || split_part(url, '/', 3) as origin
     from snapshot_entry where snapshot_id = ?`,
    [snapshot.id],
  );
  return orderOrigins(
    rows.map(({ origin }) => origin),
    snapshot.origin,
    allowed,
  );
}

const lockSql = `
  select crawler.published_snapshot_id as live, snapshot.run_id
  from crawler left join snapshot on snapshot.id = crawler.published_snapshot_id
  where crawler.id = ? for update of crawler`;

/** The live copy of a crawler. Holds the crawler's row until the transaction ends, so that publications come one after another. */
async function liveCopy(
  em: EntityManager,
  crawler_id: number,
): Promise<{ snapshot_id: number; run_id: number } | null> {
  const [row] = await em.execute<{ live: number | null; run_id: number | null }[]>(lockSql, [crawler_id]);
  return row?.live != null && row.run_id !== null ? { snapshot_id: row.live, run_id: row.run_id } : null;
}

/** Makes a snapshot the live copy of its crawler: readers see the copy before or this one, never a mixture. */
export async function makeLive(em: EntityManager, crawler_id: number, snapshot_id: number, now: Date): Promise<void> {
  await em.execute('update snapshot set published_at = ? where id = ?', [now, snapshot_id]);
  await em.execute('update crawler set published_snapshot_id = ? where id = ?', [snapshot_id, crawler_id]);
}

/** A discarded snapshot is neither listed nor served, and its rows go in the background. */
async function discard(em: EntityManager, run: EndedRun): Promise<null> {
  await em.execute(`update snapshot set state = 'expired' where id = ?`, [run.snapshot_id]);
  await em.execute('update crawler_run set snapshot_id = null where id = ?', [run.id]);
  return null;
}

async function totals(
  em: EntityManager,
  snapshot_id: number,
): Promise<{ pages: number; assets: number; bytes: number }> {
  const [row] = await em.execute<{ pages: string; assets: string; bytes: string }[]>(
    `select sum(pages) as pages, sum(assets) as assets, sum(bytes) as bytes from (
       select count(*) filter (where ${isHtmlSql}) as pages,
         count(*) filter (where kind <> 'sitemap' and not (${isHtmlSql})) as assets, max(bytes) as bytes
       from snapshot_entry where snapshot_id = ? and sha256 is not null group by sha256) as content`,
    [snapshot_id],
  );
  return { pages: Number(row?.pages ?? 0), assets: Number(row?.assets ?? 0), bytes: Number(row?.bytes ?? 0) };
}

function stateOf(run: EndedRun, checks: readonly SnapshotCheck[]): SealedSnapshot['state'] {
  if (run.status !== 'completed') return 'partial';
  return checks.every(({ passed }) => passed) ? 'ready' : 'held';
}

/**
 * Seals what a run captured, in the transaction that ends the run, and publishes it when it is sound, unless a newer run is live. A
 * canceled run's snapshot is discarded, and so is an empty one of a run that did not complete.
 * @returns null when there is no snapshot
 */
export async function sealSnapshot(
  em: EntityManager,
  services: Pick<CrawlerServices, 'clock' | 'crawlers'>,
  run: EndedRun,
): Promise<SealedSnapshot | null> {
  if (run.snapshot_id === null) return null;
  const snapshot = await em.findOneOrFail(CrawlSnapshot, { id: run.snapshot_id }, { refresh: true });
  if (snapshot.state !== 'building') throw new Error(`snapshot ${snapshot.id} is sealed already`);
  if (run.status === 'canceled') return discard(em, run);
  const live = await liveCopy(em, run.crawler_id);
  const published = live && (await em.findOneOrFail(CrawlSnapshot, { id: live.snapshot_id }, { refresh: true }));
  const isSameHost = published?.host === snapshot.host;
  if (run.mode === 'partial' && published && isSameHost && run.status === 'completed')
    await mergeLive(em, run.id, snapshot.id, published.id);
  const found = await totals(em, snapshot.id);
  if (run.status !== 'completed' && found.pages + found.assets === 0) return discard(em, run);
  const now = services.clock.now();
  const home = homeOf(run, services.crawlers.limits.strip_params);
  const goneFrom = (before: number) => countGone(em, { before, after: snapshot.id });
  const compared = published && isSameHost && run.mode !== 'partial' ? published : null;
  const gone = compared && (await goneFrom(compared.id));
  const was = compared && gone && { pages: compared.pages, lost: gone.pages };
  const checks = await checkSnapshot(em, run, snapshot.id, { home, pages: found.pages, live: was });
  const state = stateOf(run, checks);
  const before = run.status === 'completed' ? snapshot.base_id : null;
  const removed = before == null ? 0 : (before === compared?.id && gone ? gone : await goneFrom(before)).captured;
  const origins = {
    home: home ?? `${snapshot.origin}/`,
    ...(await originsOf(em, snapshot, run.settings.allowed_domains)),
  };
  em.assign(snapshot, { state, checks, origins, ...found, sealed_at: now });
  await em.flush();
  const isPublished = state === 'ready' && run.settings.publish.auto && (live === null || live.run_id < run.id);
  if (isPublished) await makeLive(em, run.crawler_id, snapshot.id, now);
  const collisions = await collisionsIn(em, snapshot.id, origins.tree);
  return { id: snapshot.id, state, published: isPublished, checks, removed, collisions };
}
