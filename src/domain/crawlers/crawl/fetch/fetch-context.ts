import type { CrawlFetcher } from '../../../ports/fetcher.ts';
import type { HttpPolicy } from '../../../ports/http.ts';
import type { PageReader } from '../../../ports/page-reader.ts';
import type { Services } from '../../../services.ts';
import type { CrawlerSettings } from '../../config/crawler.schema.ts';
import type { RunBrowser } from '../browser/run-browser.ts';
import type { Discovery } from '../discover/discover.ts';
import type { CookieJar } from './cookies.ts';
import type { OutlinkStore } from './outlink-store.ts';

/** Everything the fetching of one URL of a run needs. */
export interface FetchContext {
  services: Pick<Services, 'blobs' | 'clock' | 'log'>;
  fetcher: CrawlFetcher;
  reader: PageReader;
  run: { id: number };
  settings: Pick<CrawlerSettings, 'status_ok' | 'assets'>;
  discovery: Discovery;
  outlinks: OutlinkStore;
  policy: HttpPolicy;
  /** Headers of a request to a host, and their name. */
  headersFor(host: string): { headers: Record<string, string>; hash: string };
  cookies: CookieJar;
  /** Sitemaps the run knows of. */
  sitemaps: { known: number };
  /** Null: pages are not loaded in a browser. */
  browser: RunBrowser | null;
  /** Largest body, bytes. */
  maxBody: number;
  /** Milliseconds before the second try. */
  firstRetry: number;
  /** A start page that leads to the sibling of its host brings that into scope. */
  adopt(host: string): Promise<void>;
  /** Milliseconds of the last time a host was throttled, on this process's clock. */
  throttled: Map<string, number>;
  signal: AbortSignal;
}
