import type { EntityManager } from '@mikro-orm/postgresql';
import { urlHash } from '../frontier/url-draft.ts';
import { normalise } from '../urls/normalise.ts';
import type { SnapshotCheck } from './snapshot.entity.ts';

/** What sealing needs to know of a run that ends. */
export interface EndedRun {
  id: number;
  crawler_id: number;
  /** Null when the run ended before it had one. */
  snapshot_id: number | null;
  mode: 'full' | 'list' | 'partial';
  status: 'completed' | 'stopped' | 'canceled' | 'failed';
  /** Scheme and host the run settled on. */
  origin: string | null;
  settings: {
    start_urls: readonly string[];
    urls: readonly string[];
    status_ok: readonly number[];
    allowed_domains: readonly string[];
    publish: { auto: boolean; max_lost_percent: number; max_error_percent: number };
  };
}

/** What became of a run's snapshot. */
export interface SealedSnapshot {
  id: number;
  state: 'ready' | 'held' | 'partial';
  /** Whether it is the live copy now. */
  published: boolean;
  /** What it was looked over for. */
  checks: readonly SnapshotCheck[];
  /** Captured URLs of any kind that the snapshot it is compared with has and it lacks; 0 unless the run completed. */
  removed: number;
  collisions: Collisions;
}

/** As many as a run follows. */
const mostHops = 20;

/** Whether a URL of a snapshot leads to a captured content, over redirects of the same snapshot. */
async function leadsToContent(em: EntityManager, snapshot_id: number, url: string): Promise<boolean> {
  let next: string | null = url;
  for (let hop = 0; hop <= mostHops && next !== null; hop += 1) {
    const rows: { sha256: string | null; redirect_to: string | null }[] = await em.execute(
      `select sha256, redirect_to from snapshot_entry where snapshot_id = ? and url_hash = decode(?, 'hex')`,
      [snapshot_id, urlHash(next).toString('hex')],
    );
    const [entry] = rows;
    if (entry?.sha256) return true;
    next = entry?.redirect_to ?? null;
  }
  return false;
}

/** The first start URL; null when a run has none, because it begins at a sitemap. */
export function homeOf({ settings, origin }: EndedRun, stripParams: readonly string[]): string | null {
  const first = settings.start_urls[0] ?? settings.urls[0];
  if (first === undefined || origin === null) return null;
  return normalise(first, origin, { origin: new URL(origin), stripParams });
}

/** Whether the first start URL has been captured. */
async function checkHome(em: EntityManager, url: string, snapshot_id: number): Promise<SnapshotCheck> {
  const passed = await leadsToContent(em, snapshot_id, url);
  return { name: 'home', passed, detail: passed ? `${url} was captured` : `${url} was not captured` };
}

/** Paths that several hosts of one tree have with different contents: only the first of them is served there, and imported. */
export interface Collisions {
  count: number;
  /** The first of them in the order of their paths. */
  examples: string[];
}

const mostExamples = 10;

const collisionsSql = `
  select path, count(*) over () as count from (
    select substring(url from '^[^/]*//[^/]*(.*)$') as path from snapshot_entry
    where snapshot_id = ? and sha256 is not null
      and split_part(url, '/', 1) || '//' || split_part(url, '/', 3) = any (string_to_array(?, ' '))
    group by 1 having count(distinct sha256) > 1) as found
  order by path collate "C" limit ${mostExamples}`;

/** Looks for paths of a snapshot on which its hosts collide. @param tree schemes and hosts that share one tree */
export async function collisionsIn(
  em: EntityManager,
  snapshot_id: number,
  tree: readonly string[],
): Promise<Collisions> {
  if (tree.length < 2) return { count: 0, examples: [] };
  const rows = await em.execute<{ path: string; count: string }[]>(collisionsSql, [snapshot_id, tree.join(' ')]);
  return { count: Number(rows[0]?.count ?? 0), examples: rows.map(({ path }) => path) };
}

/** The most that may be lost, or go wrong, is itself still allowed. */
const within = (name: SnapshotCheck['name'], found: number, limit: number, what: string): SnapshotCheck => ({
  name,
  passed: found <= limit,
  detail: `${found} ${what}, at most ${limit} may be`,
  found,
  limit,
});

const lostPages = ({ pages, lost }: { pages: number; lost: number }, percent: number): SnapshotCheck =>
  within('lost_pages', lost, Math.ceil((pages * percent) / 100), `of ${pages} published pages are gone`);

async function errors(em: EntityManager, run: EndedRun): Promise<SnapshotCheck> {
  const { status_ok, publish } = run.settings;
  const [row] = await em.execute<{ fetched: string; errors: string }[]>(
    `select count(*) as fetched, count(*) filter (where coalesce(http_status, 0) not in (404, 410)
         and (state = 'error' or (http_status >= 400 and not http_status = any (string_to_array(?, ',')::integer[])))) as errors
       from crawl_url where run_id = ? and state in ('done', 'error')`,
    [status_ok.join(','), run.id],
  );
  const [fetched, found] = [Number(row?.fetched ?? 0), Number(row?.errors ?? 0)];
  const limit = Math.floor((fetched * publish.max_error_percent) / 100);
  return within('errors', found, limit, `of ${fetched} URLs ended in an error`);
}

/**
 * Checks a captured site before it may replace the live copy.
 * @param options.home the first start URL; null: none
 * @param options.pages HTML pages that were captured
 * @param options.live pages of the published snapshot, and how many of them are no pages any more; null: it is not compared
 */
export async function checkSnapshot(
  em: EntityManager,
  run: EndedRun,
  snapshot_id: number,
  { home, pages, live }: { home: string | null; pages: number; live: { pages: number; lost: number } | null },
): Promise<SnapshotCheck[]> {
  const checks: SnapshotCheck[] = [
    {
      name: 'not_empty',
      passed: pages > 0,
      detail: pages > 0 ? `${pages} HTML pages` : 'No HTML page was captured',
      found: pages,
    },
  ];
  if (home !== null) checks.unshift(await checkHome(em, home, snapshot_id));
  if (live) checks.push(lostPages(live, run.settings.publish.max_lost_percent));
  checks.push(await errors(em, run));
  return checks;
}
