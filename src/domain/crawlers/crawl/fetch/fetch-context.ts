import type { Services } from '../../../../kernel/services.ts';
import type { BrowserAnswer } from '../../../../ports/browser.ts';
import type { CrawlFetcher } from '../../../../ports/fetcher.ts';
import type { HttpPolicy } from '../../../../ports/http.ts';
import type { PageReader } from '../../../../ports/page-reader.ts';
import type { CrawlerSettings } from '../../config/crawler.schema.ts';
import type { LeasedUrl } from '../../frontier/lease.ts';
import type { Discovery } from '../discover.ts';
import type { BaseEntry } from './base-entries.ts';
import type { ShownPage } from './captured.ts';
import type { CookieJar } from './cookies.ts';
import type { OutlinkStore } from './outlinks.ts';

/** What the fetching of pages asks of a browser. */
export interface PageBrowser {
  /** Whether the document as scripts have left it is what is stored. */
  readonly storesDom: boolean;
  /** What the newest sealed snapshot holds of a page, to be shown once more; null: it is too large. */
  answerOf(of: LeasedUrl, base: BaseEntry): Promise<BrowserAnswer | null>;
  /**
   * Shows a page whose document has been fetched.
   * @throws BrowserFault; the signal's reason once it is aborted
   */
  show(context: FetchContext, of: LeasedUrl, document: BrowserAnswer): Promise<ShownPage>;
}

/** Everything the fetching of one URL of a run needs. */
export interface FetchContext {
  services: Pick<Services, 'blobs' | 'clock' | 'log'>;
  fetcher: CrawlFetcher;
  reader: Pick<PageReader, 'read'>;
  run: { id: number };
  settings: Pick<CrawlerSettings, 'status_ok' | 'assets'>;
  discovery: Discovery;
  outlinks: OutlinkStore;
  policy: HttpPolicy;
  /** Headers of a request for a URL, and their name. */
  headersFor(url: string): { headers: Record<string, string>; hash: string };
  cookies: CookieJar;
  /** Sitemaps the run knows of. */
  sitemaps: { known: number };
  /** Null: pages are not loaded in a browser. */
  browser: PageBrowser | null;
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
