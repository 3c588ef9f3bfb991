import type { Request, RequestHandler, Response } from 'express';
import { LRUCache } from 'lru-cache';
import type { RequestHeaders } from '../../domain/identity/authenticate.ts';
import { hashToken } from '../../domain/identity/token-text.ts';
import { addressBlock } from '../../domain/users/throttle.ts';
import { DomainError } from '../../kernel/errors.ts';
import { upTo } from '../../lib/version-cache.ts';
import type { Clock } from '../../ports/clock.ts';
import { errorBody, statusOf } from '../../rest/errors.ts';

/** Answers a request that no protocol has seen yet, in the form its clients show: text to git, the usual body to all others. */
export function refuse(
  request: Request,
  response: Response,
  error: DomainError,
  headers: Record<string, string>,
): void {
  response.status(statusOf[error.code]).set(headers);
  if (request.originalUrl.startsWith('/git/')) return void response.type('text/plain').send(`${error.message}\n`);
  response.json(errorBody(error, String(response.getHeader('X-Request-Id'))));
}

/** Refuses a request with several credentials, of which a proxy may have checked another than the one that would count here (RFC 9110 5.3). */
export const refuseSeveralCredentials: RequestHandler = (request, response, next) => {
  if ((request.headersDistinct.authorization?.length ?? 0) <= 1) return next();
  refuse(request, response, new DomainError('invalid_request', 'Authorization: must be sent once'), {});
};

const hasBody = ({ headers }: Request) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Refuses a body that has not come in whole after some milliseconds. Uploads take the time they need. */
export function limitBodyTime(milliseconds: number): RequestHandler {
  return (request, response, next) => {
    if (!hasBody(request) || request.is('multipart/*')) return next();
    const timer = setTimeout(() => {
      if (request.complete) return;
      // Answered already, and still sending: there is nothing to wait for.
      if (response.headersSent) return void request.destroy();
      response.once('finish', () => request.destroy());
      const problem = `body: did not come in within ${milliseconds / 1000} s`;
      refuse(request, response, new DomainError('request_timeout', problem), { Connection: 'close' });
    }, milliseconds);
    request.once('close', () => clearTimeout(timer));
    next();
  };
}

interface Options {
  clock: Clock;
  /** The credential a request brings, as text; null when it brings none. */
  credentialOf(headers: RequestHeaders): string | null;
  /** Failed authentications a minute and address block. */
  failureLimit: number;
  /** Requests a minute and credential. */
  rateLimit: number | 'off';
  /** Whether a credential, by its hash, was good when it was last looked at. */
  isAccepted(credential: string): boolean;
}

const minute = 60_000;
const maxCallers = 10_000;

/** 429 with when to come back (RFC 9110 10.2.3; draft-ietf-httpapi-ratelimit-headers). */
function tooMany(
  request: Request,
  response: Response,
  policy: string,
  limit: number,
  wait: number,
  what: string,
): void {
  const seconds = Math.max(1, Math.ceil(wait / 1000));
  refuse(request, response, new DomainError('rate_limited', `${what}; try again in ${seconds} s`), {
    'Retry-After': String(seconds),
    'RateLimit-Policy': `"${policy}";q=${limit};w=60`,
    RateLimit: `"${policy}";r=0;t=${seconds}`,
  });
}

/** A token bucket per credential; a burst is a sixth of what a minute allows. @returns milliseconds to wait, 0 when it may go on */
function rateOf({ clock, rateLimit }: Options): (credential: string) => number {
  if (rateLimit === 'off') return () => 0;
  const burst = Math.max(1, rateLimit / 6);
  const perMillisecond = rateLimit / minute;
  const buckets = new LRUCache<string, { left: number; at: number }>(upTo(maxCallers));
  return (credential) => {
    const now = clock.now().getTime();
    const bucket = buckets.get(credential) ?? { left: burst, at: now };
    const left = Math.min(burst, bucket.left + Math.max(0, now - bucket.at) * perMillisecond);
    buckets.set(credential, { left: left < 1 ? left : left - 1, at: now });
    return left < 1 ? (1 - left) / perMillisecond : 0;
  };
}

/**
 * Bounds what one caller can ask of any protocol. A request whose credential has not been accepted yet counts as failed until it is, so that
 * many at once do not slip by; a credential that was accepted goes on working beside neighbours who guess. Per process.
 */
export function limitCallers(options: Options): RequestHandler {
  const { clock, credentialOf, failureLimit, rateLimit, isAccepted } = options;
  const waitOf = rateOf(options);
  const failures = new LRUCache<string, { count: number; until: number }>(upTo(maxCallers));

  return (request, response, next) => {
    const text = credentialOf(request.headers);
    if (text === null) return next();
    const credential = hashToken(text);
    const wait = waitOf(credential);
    if (wait > 0) return tooMany(request, response, 'credential', Number(rateLimit), wait, 'Too many requests');
    const now = clock.now().getTime();
    const block = addressBlock(request.ip);
    let window = failures.get(block);
    if (!window || window.until <= now || window.until > now + minute) window = { count: 0, until: now + minute };
    const wasAccepted = isAccepted(credential);
    if (!wasAccepted && window.count >= failureLimit) {
      return tooMany(
        request,
        response,
        'failures',
        failureLimit,
        window.until - now,
        'Too many failed authentications',
      );
    }
    if (!wasAccepted) window.count += 1;
    failures.set(block, window);
    response.once('close', () => {
      window.count += Number(wasAccepted) - Number(isAccepted(credential));
    });
    next();
  };
}
