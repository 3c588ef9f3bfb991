import type { Permission } from '../../kernel/actor.ts';
import type { Extension } from '../../kernel/operation.ts';
import type { Services } from '../../kernel/services.ts';
import type { StudioContext } from '../studio/studio.ts';
import { localStudioOperation } from '../studio/studio-operation.ts';
import type { CrawlLimits } from './config/crawl-limits.ts';
import type { Crawling } from './crawl/crawling.ts';

/** What the crawlers of a process keep. */
export interface CrawlersRuntime {
  crawling: Crawling;
  /** What the operator has set for all crawls. */
  limits: CrawlLimits;
}

/** The services of a process with its crawlers. */
export interface CrawlerServices extends Services {
  crawlers: CrawlersRuntime;
}

/** What an operation of crawlers knows; snapshots are shown by previews, and imported into repositories. */
export interface CrawlerContext<Also extends Permission = never> extends StudioContext<Also> {
  crawlers: CrawlersRuntime;
}

const crawlers: Extension<'project', { crawlers: CrawlersRuntime }, { crawlers: CrawlersRuntime }> = {
  provide: ({ crawlers }) => ({ crawlers }),
};

/** An operation of the crawlers of one project. */
export const crawlerOperation = localStudioOperation.with(crawlers);
