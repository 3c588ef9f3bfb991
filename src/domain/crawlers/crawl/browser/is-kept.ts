import type { FetchedHeaders } from '../../../ports/fetcher.ts';
import type { CrawlerRun } from '../../runs/crawler-run.entity.ts';

/** Fetched by scripts for their own use. */
const apis = new Set(['xhr', 'fetch', 'eventsource', 'ping']);

const isHtml = (headers: FetchedHeaders) =>
  /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(String(headers['content-type'] ?? ''));

/**
 * Whether the answer to what a page asked for belongs into the snapshot. HTML in scope is a page of its own, which the run comes to by itself.
 * @param type as the browser names it, such as `image` or `xhr`
 */
export function isKept(
  { assets, browser_config }: CrawlerRun['settings'],
  type: string,
  isInScope: boolean,
  headers: FetchedHeaders,
): boolean {
  if (isInScope && isHtml(headers)) return false;
  if (assets.network_intercept.enabled) return true;
  if (apis.has(type)) return browser_config.capture_api_responses && isInScope;
  return isInScope && type !== 'document' && assets.parser.enabled;
}
