import type { Crawler } from './crawler.entity.ts';
import type { CrawlerSettings } from './crawler.schema.ts';

/** The settings a run works with, however the crawler is changed meanwhile. */
export function frozenSettings({
  name,
  domain,
  settings,
}: Pick<Crawler, 'name' | 'domain' | 'settings'>): CrawlerSettings {
  const { start_urls_unset: _, ...rest } = settings;
  return { name, domain, ...rest };
}
