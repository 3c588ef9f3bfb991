import type { Services } from '../../../services.ts';
import type { Census } from '../../frontier/census.ts';
import type { LogLine } from '../../runs/run-feed.ts';
import type { Crawling } from '../crawling.ts';
import type { FetchContext } from '../fetch/fetch-context.ts';
import type { OpenRun } from '../open/open-run.ts';
import type { RunHosts } from '../open/run-hosts.ts';
import type { CrawlTiming } from '../timing.ts';

/** What a slice works with. */
export interface SliceOptions {
  services: Services;
  crawling: Crawling;
  open: OpenRun;
  snapshot: { id: number; base_id: number | null };
  context: Omit<FetchContext, 'signal'>;
  census: Census;
  timing: CrawlTiming;
  hosts: RunHosts;
  /** What happened beside the URLs, since it was last asked. */
  takeLog(): LogLine[];
  /** The limit of the server that is reached; null: none is. */
  serverLimit(urls: number, bytes: number): Promise<string | null>;
}
