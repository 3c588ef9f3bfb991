import type { Settings } from '../../../kernel/services.ts';
import type { OrganizationRef } from '../../organizations/organization.entity.ts';
import type { TrustedDomain } from '../verification/trusted-domains.ts';

/** Current defaults of settings that a crawler leaves out. */
export interface CrawlDefaults {
  /** The limit of the organisation. */
  max_html: number;
  user_agent: string;
}

/** The defaults that follow the organisation and the service. */
export function crawlDefaults(
  { version, public_url }: Pick<Settings, 'version' | 'public_url'>,
  crawl: Pick<CrawlLimits, 'max_html'>,
  { limits }: Pick<OrganizationRef, 'limits'>,
): CrawlDefaults {
  return {
    max_html: limits.crawl_max_html ?? crawl.max_html,
    user_agent: `Mozilla/5.0 (compatible; Portico/${version}; +${public_url})`,
  };
}

/** The start page, unless a list of URLs is given. */
export const usualStartUrls = (urls: readonly string[]): string[] => (urls.length === 0 ? ['/'] : []);

/** What the operator has set for all crawls. */
export interface CrawlLimits {
  /** Domains that count as verified. */
  trusted_domains: readonly TrustedDomain[];
  /** HTML pages of a crawler that says nothing, where the organisation has no limit of its own. */
  max_html: number;
  /** Link hops of a crawl without a limit. */
  max_depth: number;
  /** Largest decoded body, bytes. */
  max_body_bytes: number;
  /** Seconds a page may take in a browser, whatever the crawler says. */
  max_page_timeout: number;
  /** Bytes of snapshots per organisation that has no limit of its own; null: none. */
  quota_bytes: number | null;
  /** Ports crawls may reach. */
  ports: readonly number[];
  /** Names of parameters taken off addresses; `*` at the end stands for any. */
  strip_params: readonly string[];
}
