import type { TrustedDomain } from '../verification/trusted-domains.ts';

/** What the operator has set for all crawls; `services.settings.crawl`. */
export interface CrawlLimits {
  /** Domains that count as verified. */
  trusted_domains: readonly TrustedDomain[];
  /** Resolvers that domain checks ask, `address[:port]`; empty: those of the system. */
  dns_servers: readonly string[];
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
  /** Minutes a schedule may run late. */
  schedule_grace: number;
  /** Null: looked for where it usually is. */
  chromium_path: string | null;
  chromium_no_sandbox: boolean;
}
