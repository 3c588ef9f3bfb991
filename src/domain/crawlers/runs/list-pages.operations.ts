import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { findPage, pageInput, pageOf } from '../../paging.ts';
import { holding } from '../../text-pattern.ts';
import { crawlerName } from '../config/crawler.schema.ts';
import { findCrawler } from '../config/find-crawler.ts';
import { plainText } from '../config/text-fields.ts';
import { CrawlUrl, urlErrors, urlKinds, urlStates } from '../frontier/crawl-url.entity.ts';
import { findRun } from './run-record.ts';
import { crawlerPage, runNumber } from './runs.schema.ts';

/** URLs of a run as callers see them, in the order given. */
export async function pageRecords(
  em: EntityManager,
  run_id: number,
  rows: readonly CrawlUrl[],
): Promise<z.output<typeof crawlerPage>[]> {
  const ids = [...new Set(rows.flatMap(({ parent_id }) => parent_id ?? []))];
  const parents =
    ids.length === 0 ? [] : await em.find(CrawlUrl, { run_id, id: { $in: ids } }, { fields: ['id', 'url'] });
  const urls = new Map(parents.map(({ id, url }) => [id, url]));
  return rows.map((row) => ({
    id: row.id,
    url: row.url,
    kind: row.kind,
    state: row.state,
    depth: row.depth,
    http_status: row.http_status ?? null,
    content_type: row.content_type ?? null,
    bytes: row.bytes ?? null,
    sha256: row.sha256 ?? null,
    attempts: row.attempts,
    error: row.error ?? null,
    error_message: row.error_message ?? null,
    rule: row.rule ?? null,
    redirect_to: row.redirect_to ?? null,
    canonical: row.canonical ?? null,
    parent_url: row.parent_id == null ? null : (urls.get(row.parent_id) ?? null),
    from_cache: row.from_cache,
    fetched_at: row.fetched_at ?? null,
    duration_ms: row.duration_ms ?? null,
  }));
}

export const listRunPages = projectOperation({
  name: 'crawlers.listRunPages',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List the URLs of a run, in the order they were found',
  input: z.object({
    ...crawlerName,
    ...runNumber,
    ...pageInput,
    state: z.enum(urlStates).optional(),
    kind: z.enum(urlKinds).optional(),
    http_status: z.int().min(100, 'must be at least 100').max(599, 'must be at most 599').optional(),
    error: z.enum(urlErrors).optional(),
    q: plainText('must be text')
      .max(2_048, 'must be at most 2048 characters')
      .optional()
      .describe('Part of the URL, in letters of either case'),
  }),
  output: pageOf(crawlerPage),
  async execute(context, { crawler, run_id, state, kind, http_status, error, q, ...paging }) {
    const { id } = await findCrawler(context, crawler);
    await findRun(context.em, id, run_id);
    const { rows, asPage } = await findPage(
      context.em,
      paging,
      CrawlUrl,
      {
        run_id,
        ...(state !== undefined && { state }),
        ...(kind !== undefined && { kind }),
        ...(http_status !== undefined && { http_status }),
        ...(error !== undefined && { error }),
        ...(q !== undefined && q !== '' && { url: { $ilike: holding(q) } }),
      },
      { orderBy: { id: 'asc' }, disableIdentityMap: true },
    );
    return asPage(await pageRecords(context.em, run_id, rows));
  },
});
