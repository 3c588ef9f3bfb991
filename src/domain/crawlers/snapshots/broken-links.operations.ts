import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import { crawlerName } from '../config/crawler.schema.ts';
import { locateCrawler } from '../config/find-crawler.ts';
import { crawlerOperation } from '../crawlers.ts';
import { findRun, namedRun } from '../runs/run-record.ts';
import { pageKind, runNumber } from '../runs/runs.schema.ts';

/** Pages that link to a URL of a run. */
interface LinksTo {
  link_count: number;
  linked_from: { url: string; via: string }[];
}

const mostShown = 100;

/** A link is kept as the first eight bytes of its target's hash, as a signed number. */
const keyOf = (hash: string) => `('x' || encode(substring(${hash} for 8), 'hex'))::bit(64)::bigint`;

const linksSql = `
  with recursive redirects as materialized (
    select url, url_hash, redirect_to from crawl_url where run_id = ? and redirect_to is not null
  ), ways as (
    select id as target, url, url_hash, 0 as hops from crawl_url
    where run_id = ? and id in (select value::bigint from json_array_elements_text(?::json))
    union all
    select target, redirects.url, redirects.url_hash, hops + 1
    from ways join redirects on redirects.redirect_to = ways.url where hops < 20
  ), keys as (
    select distinct target, url as via, ${keyOf('url_hash')} as key from ways
  ), links as (
    select distinct target, from_id, min(via) over (partition by target, from_id) as via
    from crawl_link cross join unnest(to_keys) as key join keys using (key)
    where run_id = ? and to_keys && (select array_agg(key) from keys)
  ), sources as (
    select target, page.url, via, row_number() over (partition by target order by page.url collate "C") as place,
      count(*) over (partition by target) as link_count
    from links join crawl_url as page on page.run_id = ? and page.id = from_id
  )
  select target, url, via, link_count from sources where place <= ${mostShown} order by target, place`;

/**
 * Which pages of a run link to some of its URLs, also by way of redirects.
 * @param ids of rows of the frontier
 */
async function linksTo(em: EntityManager, run_id: number, ids: readonly string[]): Promise<Map<string, LinksTo>> {
  const found = new Map<string, LinksTo>();
  if (ids.length === 0) return found;
  const rows = await em.execute<{ target: string; url: string; via: string; link_count: string }[]>(linksSql, [
    run_id,
    run_id,
    JSON.stringify(ids),
    run_id,
    run_id,
  ]);
  for (const { target, url, via, link_count } of rows) {
    const links = found.get(target) ?? { link_count: Number(link_count), linked_from: [] };
    links.linked_from.push({ url, via });
    found.set(target, links);
  }
  return found;
}

const brokenLink = z
  .object({
    url: z.string(),
    kind: pageKind,
    http_status: z.int32().nullable(),
    error: z.string().nullable(),
    error_message: z.string().nullable(),
    link_count: z.int32().describe('Pages that link to it, over redirects too'),
    linked_from: z
      .array(
        z
          .object({
            url: z.string(),
            via: z.string().describe('Where its link leads: here, or to a redirect that does'),
          })
          .meta({ id: 'BrokenLinkSource' }),
      )
      .describe('At most 100 of them, by URL'),
  })
  .meta({ id: 'BrokenLink' });

type Row = Pick<z.output<typeof brokenLink>, 'url' | 'kind' | 'http_status' | 'error' | 'error_message'> & {
  id: string;
};

const broken = `
  from crawl_url where run_id = ? and (state = 'error' or http_status in (404, 410) or (http_status >= 400 and sha256 is null))`;

export const listBrokenLinks = crawlerOperation({
  name: 'crawlers.listBrokenLinks',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List the URLs a run could not fetch, with the pages that link to them',
  input: z.object({ ...crawlerName, ...runNumber, ...pageInput }),
  output: pageOf(brokenLink),
  find: namedRun,
  async execute({ em, project }, { crawler: name, run_id, ...paging }) {
    const crawler = await locateCrawler({ em, project }, name);
    await findRun(em, crawler.id, run_id);
    const window = windowOf(paging);
    const [{ count }] = (await em.execute(`select count(*) ${broken}`, [run_id])) as [{ count: string }];
    const rows = await em.execute<Row[]>(
      `select id, url, kind, http_status, error, error_message ${broken} order by id limit ? offset ?`,
      [run_id, window.limit, window.offset],
    );
    const sources = await linksTo(
      em,
      run_id,
      rows.map(({ id }) => id),
    );
    const items = rows.map(({ id, ...row }) => ({
      ...row,
      ...(sources.get(id) ?? { link_count: 0, linked_from: [] }),
    }));
    return pageFrom(items, Number(count), window);
  },
});
