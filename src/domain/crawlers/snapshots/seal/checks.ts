import type { EntityManager } from '@mikro-orm/postgresql';
import type { SnapshotCheck } from '../snapshot.entity.ts';
import type { EndedRun } from './ended-run.ts';
import { countGone } from './gone.ts';
import { checkHome } from './home.ts';

/** A captured page whose media type makes it an HTML page. */
const htmlSql = `entry.kind = 'page' and entry.sha256 is not null
  and coalesce(split_part(lower(entry.content_type), ';', 1), 'text/html') ~ '^\\s*(text/html|application/xhtml\\+xml)\\s*$'`;

/** The most that may be lost, or go wrong, is itself still allowed. */
const within = (name: SnapshotCheck['name'], found: number, limit: number, what: string): SnapshotCheck => ({
  name,
  passed: found <= limit,
  detail: `${found} ${what}, at most ${limit} may be`,
  found,
  limit,
});

/** Captured HTML pages of a snapshot. */
export async function countPages(em: EntityManager, snapshot_id: number): Promise<number> {
  const [row] = await em.execute<{ count: string }[]>(
    `select count(*) from snapshot_entry as entry where snapshot_id = ? and ${htmlSql}`,
    [snapshot_id],
  );
  return Number(row?.count ?? 0);
}

async function lostPages(
  em: EntityManager,
  snapshot_id: number,
  live_id: number,
  percent: number,
): Promise<SnapshotCheck> {
  const before = await countPages(em, live_id);
  const lost = await countGone(em, { before: live_id, after: snapshot_id }, htmlSql);
  return within('lost_pages', lost, Math.ceil((before * percent) / 100), `of ${before} published pages are gone`);
}

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
 * Looks a captured site over before it may take the place of the live copy.
 * @param options.home the first start URL; null: there is none
 * @param options.live the published snapshot, and whether its host is the same; null: nothing is published
 */
export async function checkSnapshot(
  em: EntityManager,
  run: EndedRun,
  snapshot_id: number,
  { home, live }: { home: string | null; live: { id: number; isSameHost: boolean } | null },
): Promise<SnapshotCheck[]> {
  const pages = await countPages(em, snapshot_id);
  const checks: SnapshotCheck[] = [
    {
      name: 'not_empty',
      passed: pages > 0,
      detail: pages > 0 ? `${pages} HTML pages` : 'No HTML page was captured',
      found: pages,
    },
  ];
  if (home !== null) checks.unshift(await checkHome(em, home, snapshot_id));
  if (live?.isSameHost && run.mode !== 'partial')
    checks.push(await lostPages(em, snapshot_id, live.id, run.settings.publish.max_lost_percent));
  checks.push(await errors(em, run));
  return checks;
}
