import { counted } from '../../../plural.ts';
import type { UrlDraft } from '../../frontier/url-draft.ts';
import type { LogLine } from '../../runs/run-feed.ts';

/** Most addresses told in one line. */
const mostTold = 20;

/**
 * What is told of sitemaps that a run does not ask for, a line for each rule that leaves some of them out: why pages are missing shows nowhere
 * else.
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
    data: { rule, count: urls.length, sitemaps: urls.slice(0, mostTold) },
  }));
}
