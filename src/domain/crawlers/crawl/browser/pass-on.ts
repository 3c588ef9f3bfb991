import type { BrowserAnswer, BrowserRequest } from '../../../ports/browser.ts';
import type { FetchContext } from '../fetch/fetch-context.ts';
import { mergedCookies } from '../fetch/merged-cookies.ts';
import type { BrowserParts } from './browser-parts.ts';
import { mostShown } from './captured-before.ts';
import { mayAsk } from './may-ask.ts';
import { pageHeaders } from './page-headers.ts';

/** Most milliseconds something that is sent may take. */
const longest = 30_000;

/**
 * Sends what a page sends (anything but a GET) through the guarded client. It belongs to no snapshot.
 * @param count told of each request as it goes out, and of the bytes that came back
 * @returns null when it is refused, not answered, or leads elsewhere
 * @throws the signal's reason once it is aborted
 */
export async function passOn(
  context: FetchContext,
  parts: BrowserParts,
  request: BrowserRequest,
  count: (requests: number, bytes: number) => void,
): Promise<BrowserAnswer | null> {
  const { services, budget, run } = parts;
  const { url, method, headers, body } = request;
  const target = URL.parse(url);
  if (target === null || !(await mayAsk(context, url)) || !(await budget.reserve())) return null;
  count(1, 0);
  const { cookies, policy, signal } = context;
  const given = context.headersFor(target.host).headers;
  const cookie = mergedCookies(cookies.header(target, services.clock.now()), headers.cookie);
  try {
    const answer = await services.http.request(target, {
      method,
      headers: {
        ...pageHeaders(request, given, context.discovery.site.isInScope(url)),
        ...(cookie !== null && { cookie }),
        'accept-encoding': 'identity',
      },
      body,
      policy,
      signal,
      maxBytes: mostShown,
      timeouts: { total: longest },
    });
    const set = answer.headers['set-cookie'];
    if (set !== undefined) cookies.store(target, [set].flat(), services.clock.now());
    const bytes = await answer.bytes();
    count(0, bytes.length);
    const isRedirect = answer.status >= 300 && answer.status < 400;
    return isRedirect ? null : { status: answer.status, headers: answer.headers, body: bytes };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    services.log.debug({ err: error, run: run.id, url }, 'what a page sent was not answered');
    return null;
  }
}
