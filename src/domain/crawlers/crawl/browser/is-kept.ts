import type { FetchedHeaders } from '../../../ports/fetcher.ts';
import type { CrawlerRun } from '../../runs/crawler-run.entity.ts';

/** Fetched by scripts for their own use. */
const apis = new Set(['xhr', 'fetch', 'eventsource', 'ping']);

const isHtml = (headers: FetchedHeaders) =>
  /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(String(headers['content-type'] ?? ''));

/** What a page asked for, as the browser names it (such as `image` or `xhr`), and where it is. */
export interface Asked {
  type: string;
  isInScope: boolean;
}

/** Whether what a page asked for belongs into the snapshot. */
function belongs({ assets, browser_config }: CrawlerRun['settings'], { type, isInScope }: Asked): boolean {
  if (assets.network_intercept.enabled) return true;
  if (apis.has(type)) return browser_config.capture_api_responses && isInScope;
  return isInScope && type !== 'document' && assets.parser.enabled;
}

/**
 * Whether the answer to what a page asked for is kept as it came. HTML in scope is not: it may be a page of its own, which the run has to come
 * to by itself.
 */
export const isKept = (settings: CrawlerRun['settings'], asked: Asked, headers: FetchedHeaders): boolean =>
  !(asked.isInScope && isHtml(headers)) && belongs(settings, asked);

/** Whether such HTML is to be asked for by the run, as what the page needs unless anything links to it as a page. */
export const isLeftToRun = (settings: CrawlerRun['settings'], asked: Asked, headers: FetchedHeaders): boolean =>
  asked.isInScope && isHtml(headers) && belongs(settings, asked);
