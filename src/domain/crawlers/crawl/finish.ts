import type { EntityManager } from '@mikro-orm/postgresql';
import type { CrawlerRun, FinishReason, StopRequest } from '../runs/crawler-run.entity.ts';
import type { RunEnding } from '../runs/end-run.ts';

interface Standing {
  finish_reason: FinishReason | null;
  stop_requested: StopRequest | null;
  fetched: number;
  max_hits: number;
  max_html: number;
}

const standingSql = `
  select finish_reason, stop_requested, urls.* from crawler_run, (
    select count(*) filter (where is_entry and state = 'done' and sha256 is not null)::integer as fetched,
      count(*) filter (where rule = 'max_hits' and state = 'skipped')::integer as max_hits,
      count(*) filter (where rule = 'max_html' and state = 'skipped')::integer as max_html
    from crawl_url where run_id = ?) as urls
  where id = ?`;

/** Why none of the URLs a run begins with could be had, by the example of the first. */
async function startFailure(em: EntityManager, run_id: number): Promise<string> {
  const [row] = await em.execute<{ url: string; why: string | null }[]>(
    `select url, coalesce(error_message, 'left out by ' || rule, 'the answer was ' || http_status) as why
     from crawl_url where run_id = ? and is_entry order by id limit 1`,
    [run_id],
  );
  return row
    ? `No URL to begin with could be fetched: ${row.url}: ${row.why ?? 'it led nowhere'}`
    : 'There is no URL to begin with';
}

/**
 * How a run really ends, by its rows. Whoever was told that it is to be canceled finds it canceled, whatever became of it meanwhile: the caller
 * holds its crawler, so that nobody else is told so until its end is written.
 */
export async function finish(em: EntityManager, { id }: Pick<CrawlerRun, 'id'>, ending: RunEnding): Promise<RunEnding> {
  const [row] = await em.execute<Standing[]>(standingSql, [id, id]);
  if (!row) return ending;
  if (row.stop_requested === 'cancel') {
    const reason = row.finish_reason === 'crawler_deleted' ? 'crawler_deleted' : 'user';
    return { status: 'canceled', reason, message: null };
  }
  if (ending.status !== 'completed') return ending;
  if (row.fetched === 0) return { status: 'failed', reason: 'start_failed', message: await startFailure(em, id) };
  if (row.max_hits > 0) return { ...ending, reason: 'max_hits' };
  return row.max_html > 0 ? { ...ending, reason: 'max_html' } : ending;
}
