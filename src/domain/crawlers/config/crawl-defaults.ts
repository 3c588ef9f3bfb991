import type { OrganizationRef } from '../../organizations/organization.entity.ts';
import type { Settings } from '../../services.ts';
import type { StoredSettings } from './crawler.entity.ts';

/** What a setting that nobody chose stands for at the moment. */
export interface CrawlDefaults {
  /** The limit of the organisation. */
  max_html: number;
  user_agent: string;
}

/** The defaults that follow the organisation and the service. */
export function crawlDefaults(
  { crawl, version, public_url }: Pick<Settings, 'crawl' | 'version' | 'public_url'>,
  { limits }: Pick<OrganizationRef, 'limits'>,
): CrawlDefaults {
  return {
    max_html: limits.crawl_max_html ?? crawl.max_html,
    user_agent: `Mozilla/5.0 (compatible; Portico/${version}; +${public_url})`,
  };
}

/** The start page, unless a list of URLs is given. */
export const usualStartUrls = (urls: readonly string[]): string[] => (urls.length === 0 ? ['/'] : []);

/** The settings of a crawler that only has a domain. */
export const initialSettings = (): StoredSettings => ({
  browser_mode: false,
  urls: [],
  start_urls: ['/'],
  start_urls_unset: true,
  include: [],
  exclude: [],
  workers: 2,
  delay: 4,
  depth: -1,
  max_hits: 0,
  max_errors: 100,
  status_ok: [200],
  sitemap: [],
  allowed_domains: [],
  assets: { network_intercept: { enabled: false, timeout: 30, execute_js: true }, parser: { enabled: true } },
  ignore_robots: false,
  browser_config: { capture_api_responses: false, wait_for_network_idle: 0, use_rendered_html: false },
  publish: { auto: true, max_lost_percent: 10, max_error_percent: 10 },
});
