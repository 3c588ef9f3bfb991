import type { BrowserRequest } from '../../../ports/browser.ts';

/** Of a browser's request, and the client's own to set; a part of a body is no answer to be kept. */
const dropped =
  /^(host|connection|content-length|accept-encoding|cookie|user-agent|range|if-.*|proxy-.*|transfer-encoding|te|upgrade)$/;

/**
 * Headers of a request a page wants sent: its own, and on hosts in scope those of the crawler.
 * @param given those the crawler's requests to that host have
 */
export function pageHeaders(
  { headers }: BrowserRequest,
  given: Readonly<Record<string, string>>,
  isInScope: boolean,
): Record<string, string> {
  const own = Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.test(name)));
  const agent = { 'user-agent': given['user-agent'] ?? '' };
  if (!isInScope) return { ...own, ...agent };
  return { ...own, ...given, ...(own.accept !== undefined && { accept: own.accept }) };
}
