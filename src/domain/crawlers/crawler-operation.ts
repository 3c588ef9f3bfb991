import type { Extension } from '../../kernel/operation.ts';
import { localStudioOperation } from '../studio/studio-operation.ts';
import type { CrawlersRuntime } from './crawlers.ts';

const crawlers: Extension<'project', { crawlers: CrawlersRuntime }, { crawlers: CrawlersRuntime }> = {
  provide: ({ crawlers }) => ({ crawlers }),
};

/** An operation of the crawlers of one project. */
export const crawlerOperation = localStudioOperation.with(crawlers);
