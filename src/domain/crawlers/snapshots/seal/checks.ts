import type { EntityManager } from '@mikro-orm/postgresql';
import type { SnapshotCheck } from '../snapshot.entity.ts';
import type { EndedRun } from './ended-run.ts';
import { checkHome } from './home.ts';

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
 * Looks a captured site over before it may take the place of the live copy.
 * @param options.home the first start URL; null: there is none
 * @param options.pages HTML pages that were captured
 * @param options.live pages of the published snapshot, and how many of them are none any more; null: it is not compared
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
