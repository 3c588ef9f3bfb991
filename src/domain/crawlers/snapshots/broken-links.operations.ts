import { z } from 'zod';
import { pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import { crawlerName } from '../config/crawler.schema.ts';
import { locateCrawler } from '../config/find-crawler.ts';
import { type CrawlerContext, crawlerOperation } from '../crawlers.ts';
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
    select id, url, url_hash, redirect_to from crawl_url where run_id = ? and redirect_to is not null
  ), ways as (
    select id as target, id, url, url_hash, 0 as hops from crawl_url
    where run_id = ? and id in (select value::bigint from json_array_elements_text(?::json))
    union all
    select target, redirects.id, redirects.url, redirects.url_hash, hops + 1
    from ways join redirects on redirects.redirect_to = ways.url where hops < 20
  ), keys as (
    select distinct target, id as via, url, ${keyOf('url_hash')} as key from ways
  ), links as (
    select distinct target, from_id, first_value(via) over (partition by target, from_id order by keys.url) as via
    from crawl_link cross join unnest(to_keys) as key join keys using (key)
    where run_id = ? and to_keys && (select array_agg(key) from keys)
  ), sources as (
    select target, from_id, via, row_number() over (partition by target order by page.url collate "C") as place,
      count(*) over (partition by target) as link_count
    from links join crawl_url as page on page.run_id = ? and page.id = from_id
  )
  select target, from_id, via, link_count from sources where place <= ${mostShown} order by target, place`;

const among = 'from crawl_url where run_id = ? and id in (select value::bigint from json_array_elements_text(?::json))';
const sizesSql = `select id, octet_length(url) as bytes ${among}`;
const urlsSql = `select id, url ${among}`;

/**
 * Which pages of a run link to some of its URLs, also by way of redirects. Each of their URLs is read once, when room has been taken for all
 * the places that show it.
 * @param ids of rows of the frontier
 */
async function linksTo(
  { em, room }: Pick<CrawlerContext, 'em' | 'room'>,
  run_id: number,
  ids: readonly string[],
): Promise<Map<string, LinksTo>> {
  const found = new Map<string, LinksTo>();
  if (ids.length === 0) return found;
  const links = await em.execute<{ target: string; from_id: string; via: string; link_count: string }[]>(linksSql, [
    run_id,
    run_id,
    JSON.stringify(ids),
    run_id,
    run_id,
  ]);
  const named = [run_id, JSON.stringify([...new Set(links.flatMap(({ from_id, via }) => [from_id, via]))])];
  const sizes = await em.execute<{ id: string; bytes: number }[]>(sizesSql, named);
  const sizeOf = new Map(sizes.map(({ id, bytes }) => [id, bytes]));
  await room(links.reduce((sum, { from_id, via }) => sum + (sizeOf.get(from_id) ?? 0) + (sizeOf.get(via) ?? 0), 0));
  const urls = await em.execute<{ id: string; url: string }[]>(urlsSql, named);
  const urlOf = new Map(urls.map(({ id, url }) => [id, url]));
  for (const { target, from_id, via, link_count } of links) {
    const of = found.get(target) ?? { link_count: Number(link_count), linked_from: [] };
    of.linked_from.push({ url: urlOf.get(from_id) ?? '', via: urlOf.get(via) ?? '' });
    found.set(target, of);
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
  async execute(context, { crawler: name, run_id, ...paging }) {
    const { em } = context;
    const crawler = await locateCrawler(context, name);
    await findRun(em, crawler.id, run_id);
    const window = windowOf(paging);
    const [{ count }] = (await em.execute(`select count(*) ${broken}`, [run_id])) as [{ count: string }];
    const rows = await em.execute<Row[]>(
      `select id, url, kind, http_status, error, error_message ${broken} order by id limit ? offset ?`,
      [run_id, window.limit, window.offset],
    );
    const sources = await linksTo(
      context,
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
