import type { CrawlerServices } from '../../crawlers.ts';
import type { FrontierStatistics } from '../../frontier/statistics.ts';
import type { LogLine } from '../../runs/run-feed.ts';
import type { Crawling } from '../crawling.ts';
import type { FetchContext } from '../fetch/fetch-context.ts';
import type { OpenRun } from '../open/open-run.ts';
import type { RunHosts } from '../open/open-site.ts';

/** How long things take in a crawl; milliseconds. Tests make it shorter. */
export interface CrawlTiming {
  /** A worker hands the run over after so long. */
  budget: number;
  /** Before the second try of a URL. */
  firstRetry: number;
  /** Between tries of robots.txt, times the number of the try. */
  robotsRetry: number;
  /** Results wait at most so long to be written. */
  flush: number;
  /** A worker that has nothing to do looks so often for what else there is. */
  idle: number;
  /** What requests under way get when the run is stopped, and when the server stops. */
  stop: number;
  drain: number;
}

export const usualTiming: CrawlTiming = {
  budget: 300_000,
  firstRetry: 2_000,
  robotsRetry: 1_000,
  flush: 100,
  idle: 10_000,
  stop: 30_000,
  drain: 10_000,
};

/** What a crawl loop works with. */
export interface LoopOptions {
  services: CrawlerServices;
  crawling: Crawling;
  open: OpenRun;
  snapshot: { id: number; base_id: number | null };
  context: Omit<FetchContext, 'signal'>;
  statistics: FrontierStatistics;
  timing: CrawlTiming;
  hosts: RunHosts;
  /** Log lines since the last call that belong to no URL. */
  takeLog(): LogLine[];
  /** The limit of the server that is reached; null: none is. */
  serverLimit(urls: number, bytes: number): Promise<string | null>;
}
