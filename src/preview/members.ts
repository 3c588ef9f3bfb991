import type { IncomingMessage } from 'node:http';
import { linkParameter, type PreviewAccess, passSeconds } from '../domain/studio/previews/preview-access.ts';
import type { PreviewTarget } from '../domain/studio/previews/previews.ts';
import { parseRequestPath } from '../domain/studio/previews/request-path.ts';
import type { Origin } from './host.ts';

/**
 * Whether a request may see a members' preview; `exchange` when it came by a link that has become a cookie, `spent` by one that has been opened
 * before, `unopened` by one that only a navigation opens.
 */
export type Admission =
  | 'admitted'
  | 'refused'
  | 'spent'
  | 'unopened'
  | { exchange: { location: string; cookie: string } };

const cookieName = ({ isTrustworthy }: Origin) => `${isTrustworthy ? '__Host-' : ''}portico-preview`;

/**
 * Where browsers take `Secure` cookies a preview may stand in a frame of the dashboard, and its cookie is kept apart per embedding site
 * (Partitioned). Elsewhere it opens in a tab of its own.
 */
function cookieText(origin: Origin, pass: string): string {
  const scope = origin.isTrustworthy ? 'Secure; SameSite=None; Partitioned' : 'SameSite=Lax';
  return `${cookieName(origin)}=${pass}; HttpOnly; ${scope}; Path=/; Max-Age=${passSeconds.cookie}`;
}

function cookieIn({ headers }: IncomingMessage, name: string): string | null {
  for (const pair of headers.cookie?.split(';') ?? []) {
    const [key, value = ''] = pair.trim().split('=', 2);
    if (key === name) return value;
  }
  return null;
}

/** The pass in a URL and the URL without it; null without a pass, or when the path is invalid and no redirect to it is possible. */
function linkIn(target: string): { pass: string; location: string } | null {
  if (!target.includes(`${linkParameter}=`)) return null;
  const request = parseRequestPath(target);
  if (request === null) return null;
  const pairs = request.query.slice(1).split('&');
  const ours = pairs.find((pair) => pair.startsWith(`${linkParameter}=`));
  if (ours === undefined) return null;
  const rest = pairs.filter((pair) => !pair.startsWith(`${linkParameter}=`)).join('&');
  return { pass: ours.slice(linkParameter.length + 1), location: request.raw + (rest && `?${rest}`) };
}

/**
 * Whether a person opens the address, as far as headers show (W3C Fetch Metadata): not a HEAD, nor a prefetch of a browser or a messenger, nor
 * a script or an image. Clients that send no such headers navigate.
 */
function isNavigation({ method, headers }: IncomingMessage): boolean {
  const purposes = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].map((name) => String(headers[name] ?? ''));
  if (method !== 'GET' || purposes.some((purpose) => /prefetch|prerender|preview/i.test(purpose))) return false;
  return (headers['sec-fetch-mode'] ?? 'navigate') === 'navigate';
}

/** Checks the link or the cookie of a request for a members' preview, and the rights of the member it was made for. */
export async function admit(
  access: PreviewAccess,
  origin: Origin,
  target: PreviewTarget,
  request: IncomingMessage,
): Promise<Admission> {
  const cookie = cookieIn(request, cookieName(origin));
  const link = linkIn(request.url ?? '');
  if (link && isNavigation(request)) {
    const outcome = await access.spendLink(link.pass, target, cookie);
    if (outcome === 'spent') return outcome;
    if (outcome) return { exchange: { location: link.location, cookie: cookieText(origin, outcome.cookie) } };
  }
  if (cookie !== null && (await access.holdsCookie(cookie, target))) return 'admitted';
  return link && !isNavigation(request) ? 'unopened' : 'refused';
}
