import { forEachYielding } from '../../../../lib/concurrency.ts';
import { counted } from '../../../../lib/text.ts';
import type { Sha256 } from '../../../../ports/blobs.ts';
import type { LeasedUrl } from '../../frontier/lease.ts';
import { linkKey, packKeys, type UrlDraft, urlHash } from '../../frontier/url-draft.ts';
import { readSitemap } from '../../pages/read-sitemap.ts';
import type { SitemapItem } from '../../pages/sitemap-item.ts';
import type { LogLine } from '../../runs/run-feed.ts';
import { draftOf, type Led, mostLevels } from '../discover.ts';
import type { FetchContext } from './fetch-context.ts';

/** Most URLs listed in one log line. */
const mostListed = 20;

/**
 * Log lines for sitemaps that a run does not fetch, one for each rule that excludes some: nothing else shows why their pages are missing.
 *
 * @param source who names them
 */
export function skippedSitemaps(drafts: readonly UrlDraft[], source: string): LogLine[] {
  const byRule = new Map<string, string[]>();
  for (const { kind, rule, url } of drafts) {
    if (kind !== 'sitemap' || rule === null) continue;
    const urls = byRule.get(rule) ?? [];
    byRule.set(rule, urls);
    urls.push(url);
  }
  return [...byRule].map(([rule, urls]) => ({
    level: 'warn',
    event: 'sitemap_skipped',
    message: `${source}: ${counted(urls.length, 'sitemap')} left out by the rule ${rule}, such as ${urls[0]}`,
    data: { rule, count: urls.length, sitemaps: urls.slice(0, mostListed) },
  }));
}

/** Sitemaps a run reads. */
const mostSitemaps = 500;

type Address = Exclude<SitemapItem, { kind: 'fault' }>;

const warn = (event: string, message: string, data: Record<string, unknown>): LogLine => ({
  level: 'warn',
  event,
  message,
  data,
});

/** Newest first; entries without `lastmod` come last, in their own order. */
const byAge = (a: Address, b: Address) => (b.lastmod?.getTime() ?? 0) - (a.lastmod?.getTime() ?? 0);

/** Further files an index names: followed when the crawler is configured to, within the run's limits. */
function children(context: FetchContext, of: LeasedUrl, found: Address[]): { taken: Address[]; log: LogLine[] } {
  if (found.length === 0) return { taken: [], log: [] };
  const data = { url: of.url, sitemaps: found.length };
  if (!of.follows)
    return {
      taken: [],
      log: [
        warn('sitemap_index_not_followed', `${of.url} is an index: its ${found.length} sitemaps are not read`, data),
      ],
    };
  if (of.level >= mostLevels.indexes)
    return { taken: [], log: [warn('sitemap_too_deep', `${of.url}: indexes are nested too deeply`, data)] };
  const room = Math.max(0, mostSitemaps - context.sitemaps.known);
  const taken = found.slice(0, room);
  context.sitemaps.known += taken.length;
  const left = found.length - taken.length;
  const log =
    left === 0 ? [] : [warn('sitemap_limit', `${of.url}: ${left} sitemaps beyond ${mostSitemaps} are left out`, data)];
  return { taken, log };
}

/**
 * Reads a stored sitemap: its addresses, the newest first, and what there is to tell of it. What stands before a fault counts.
 * @throws DomainError `not_found` when the content is gone
 */
export async function readSitemapOf(
  context: FetchContext,
  of: LeasedUrl,
  sha256: Sha256,
): Promise<Led & { log: LogLine[] }> {
  const { discovery, services } = context;
  const { origin, stripParams } = discovery.site;
  const pages: Address[] = [];
  const files: Address[] = [];
  const log: LogLine[] = [];
  for await (const item of readSitemap(services.blobs.read(sha256), of.url, { origin, stripParams })) {
    if (item.kind !== 'fault') (item.kind === 'page' ? pages : files).push(item);
    else
      log.push(
        warn('sitemap_fault', `${of.url}, line ${item.line}: ${item.message}`, {
          url: of.url,
          line: item.line,
          fault: item.fault,
        }),
      );
  }
  const { taken, log: childLog } = children(context, of, files);
  const common = { is_entry: false, depth: of.depth, hop: 0, parent_id: of.id };
  const drafts: UrlDraft[] = [];
  await forEachYielding(taken, async ({ url }) =>
    drafts.push(
      await draftOf(discovery, url, { ...common, kind: 'sitemap', follows: of.follows, level: of.level + 1 }),
    ),
  );
  await forEachYielding(pages.sort(byAge), async ({ url }) =>
    drafts.push(await draftOf(discovery, url, { ...common, kind: 'page', follows: true, level: 0 })),
  );
  log.push(...childLog, ...skippedSitemaps(drafts, of.url));
  const link_keys = packKeys(
    [...new Set([...taken, ...pages].map(({ url }) => url))].map((url) => linkKey(urlHash(url))),
  );
  return { drafts, link_keys, log };
}
