/**
 * What pages may request of other origins (Fetch, 3.2). Chromium enforces it for what it sends itself; requests that are answered for it pass without
 * the preflight, and redirects that are followed for it without being seen.
 */
import type { BrowserAnswer, BrowserRequest } from '../../../ports/browser.ts';

type Headers = BrowserAnswer['headers'];
type Crossing = Pick<BrowserRequest, 'from' | 'method' | 'headers'>;

const simpleMethods = new Set(['GET', 'HEAD', 'POST']);
const simpleTypes = new Set(['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']);

/** Of the browser's own, or with values that any page may send. */
const simpleHeaders =
  /^(accept|accept-language|content-language|content-type|cookie|origin|referer|user-agent|cache-control|pragma|priority|dnt|save-data|upgrade-insecure-requests|range|sec-.*)$/;

const isSimpleType = (type: string) => simpleTypes.has(type.split(';', 1)[0]?.trim().toLowerCase() ?? '');

/** Headers that another origin has to agree to. */
function unusualHeaders({ headers }: Crossing): string[] {
  const type = headers['content-type'];
  const names = Object.keys(headers).filter((name) => !simpleHeaders.test(name));
  return [...names, ...(type === undefined || isSimpleType(type) ? [] : ['content-type'])].sort();
}

export const isOtherOrigin = ({ from }: Pick<BrowserRequest, 'from'>, url: string): boolean =>
  from === null || from !== new URL(url).origin;

/** Headers of the preflight to another origin; null when none is needed. */
export function preflightOf(request: Crossing, url: string): Record<string, string> | null {
  if (!isOtherOrigin(request, url)) return null;
  const unusual = unusualHeaders(request);
  if (simpleMethods.has(request.method) && unusual.length === 0) return null;
  return {
    accept: '*/*',
    origin: request.from ?? 'null',
    'access-control-request-method': request.method,
    ...(unusual.length > 0 && { 'access-control-request-headers': unusual.join(',') }),
  };
}

const listed = (value: string | string[] | undefined) =>
  [value ?? []]
    .flat()
    .join(',')
    .split(',')
    .map((one) => one.trim());

/** Whether an answer may be read by scripts of the origin that has requested it. */
export function isReadable({ from }: Pick<BrowserRequest, 'from'>, headers: Headers): boolean {
  const allowed = headers['access-control-allow-origin'];
  return allowed === '*' || allowed === (from ?? 'null');
}

/** Whether the answer to a preflight agrees to the request. */
export function agrees(request: Crossing, { status, headers }: Pick<BrowserAnswer, 'status' | 'headers'>): boolean {
  if (status < 200 || status > 299 || !isReadable(request, headers)) return false;
  const methods = listed(headers['access-control-allow-methods']);
  const names = listed(headers['access-control-allow-headers']).map((name) => name.toLowerCase());
  const isMethod = simpleMethods.has(request.method) || methods.includes(request.method) || methods.includes('*');
  const takesAll = names.includes('*');
  return (
    isMethod && unusualHeaders(request).every((name) => names.includes(name) || (takesAll && name !== 'authorization'))
  );
}

const escapes: Record<string, string> = { '&': '&amp;', '"': '&quot;', '<': '&lt;', '>': '&gt;' };

/** A document for a frame that goes on to another origin by itself: given the content of that, it could be read as this one's. */
export function onward(url: string): BrowserAnswer {
  const to = url.replace(/[&"<>]/g, (char) => escapes[char] ?? char);
  return {
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'referrer-policy': 'no-referrer' },
    body: Buffer.from(`<!doctype html><meta http-equiv="refresh" content="0; url=${to}">`),
  };
}
