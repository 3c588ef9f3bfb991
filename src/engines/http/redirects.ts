import type { HttpRequest } from '../../domain/ports/http.ts';
import { httpFailure } from './failures.ts';

/** A request as it goes out: address, method, headers in lower case, body. */
export interface Outgoing {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | null;
}

/** Headers that say nothing about who asks; all others stay with the origin they were meant for. */
const harmless = new Set(['accept', 'accept-language', 'accept-encoding', 'content-type', 'user-agent']);

/** Headers that frame a message or belong to the connection (RFC 9110 section 7.6.1, RFC 9112 section 6); the client's own. */
const ours = /^(host|connection|content-length|expect|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/;

/** @throws DomainError invalid_request for a header that is the client's own, or the method CONNECT. */
export function outgoing(url: URL, { method = 'GET', headers = {}, body = null }: HttpRequest): Outgoing {
  const lower: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (ours.test(name.toLowerCase())) throw httpFailure('invalid_headers', `the header ${name} cannot be set`);
    lower[name.toLowerCase()] = value;
  }
  if (method.toUpperCase() === 'CONNECT') throw httpFailure('invalid_headers', 'the method CONNECT cannot be used');
  return { url, method: method.toUpperCase(), headers: lower, body };
}

export function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

/**
 * The request a redirect asks for (RFC 9110 section 15.4): 303 turns into GET, and so does POST at 301 and 302, as browsers have
 * always done. Another origin gets no header that could carry a secret.
 * @throws DomainError upstream_unavailable (`redirect_invalid`): no usable Location.
 */
export function redirected(from: Outgoing, status: number, location: string | string[] | undefined): Outgoing {
  const target = typeof location === 'string' ? location.trim() : '';
  const url = target === '' ? null : URL.parse(target, from.url.href);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw httpFailure('redirect_invalid', `${from.url.host}: the redirect has no usable address`);
  }
  const dropsBody = status === 303 ? from.method !== 'HEAD' : status <= 302 && from.method === 'POST';
  const sameOrigin = url.origin === from.url.origin;
  const kept = Object.entries(from.headers).filter(
    ([name]) => (sameOrigin || harmless.has(name)) && !(dropsBody && name.startsWith('content-')),
  );
  return {
    url,
    method: dropsBody ? 'GET' : from.method,
    headers: Object.fromEntries(kept),
    body: dropsBody ? null : from.body,
  };
}
