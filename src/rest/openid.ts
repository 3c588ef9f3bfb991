/**
 * The way to the OpenID provider and back: `GET /auth/oidc` sends the browser there, with `?link` to link an account instead of signing in;
 * `GET /auth/oidc/callback` is where it comes back. What the answer is checked against waits in a cookie. A link is bound to the session that began
 * it, since another person may have signed in to this browser meanwhile; a sign-in ends the session it replaces.
 */
import express, { type Request, type Response, type Router } from 'express';
import { authenticateRequest, boundToSession, browserOf, sessionCookie } from '../domain/identity/authenticate.ts';
import type { AllServices } from '../domain/services.ts';
import { linkIdentity, signInWithProvider } from '../domain/users/openid.operations.ts';
import type { Actor } from '../kernel/actor.ts';
import { DomainError, type ErrorCode } from '../kernel/errors.ts';
import type { Call } from '../kernel/operation.ts';
import { run } from '../kernel/run.ts';

/**
 * Cookie of what the answer is checked against. On https no page of a neighbouring host can set it (RFC 6265bis 4.1.3): one that could would have
 * the person come back from a sign-in of its own, and link its account to theirs.
 */
const cookieOf = ({ public_url }: { public_url: string }) =>
  public_url.startsWith('https:')
    ? { name: '__Host-portico-oidc', place: 'Path=/; Secure' }
    : { name: 'portico-oidc', place: 'Path=/auth/oidc' };
/** How long a person may take at the provider, seconds. */
const patience = 600;

const callbackOf = ({ public_url }: { public_url: string }) => `${public_url}/auth/oidc/callback`;

function setCookie(response: Response, settings: { public_url: string }, value: string, seconds: number): void {
  const { name, place } = cookieOf(settings);
  response.append('Set-Cookie', `${name}=${value}; ${place}; Max-Age=${seconds}; HttpOnly; SameSite=Lax`);
}

/** What the browser kept; empty texts, which match nothing, where it kept nothing. */
function keptBy(request: Request, settings: { public_url: string }) {
  const { name } = cookieOf(settings);
  const [, text = ''] = new RegExp(`(?:^|; *)${name}=([^;]*)`).exec(request.headers.cookie ?? '') ?? [];
  const kept = new URLSearchParams(text);
  const of = (name: string) => kept.get(name) ?? '';
  const checks = { issuer: of('issuer'), state: of('state'), nonce: of('nonce'), verifier: of('verifier') };
  return { checks, link: kept.get('link') };
}

/** Sends the browser to the page that shows who is signed in, or with the code of a refusal why not (the dashboard has the texts). */
function goTo(response: Response, { public_url }: { public_url: string }, code?: ErrorCode): void {
  response.redirect(303, `${public_url}/sign-in${code === undefined ? '' : `#${code}`}`);
}

/** Who is signed in to this browser; null where that session has ended. */
const signedIn = (services: AllServices, { headers }: Request): Promise<Actor | null> =>
  authenticateRequest(services, { headers, isSafe: true }).catch((error: unknown) => {
    if (error instanceof DomainError && error.code === 'unauthenticated') return null;
    throw error;
  });

/** The two paths; where the settings name no provider they are left to later handlers. */
export function createOpenIdRoutes(services: AllServices): Router {
  const { openid, settings } = services;
  const router = express.Router({ strict: true, caseSensitive: true });
  if (openid === null) return router;
  const guarded =
    (answer: (request: Request, response: Response) => Promise<void>) => (request: Request, response: Response) => {
      response.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
      return answer(request, response).catch((error: unknown) => {
        const isKnown = error instanceof DomainError;
        if (!isKnown || error.cause !== undefined)
          services.log.warn({ err: isKnown ? error.cause : error }, 'sign-in with the OpenID provider failed');
        goTo(response, settings, isKnown ? error.code : 'internal');
      });
    };

  router.get(
    '/auth/oidc',
    guarded(async (request, response) => {
      const isLink = request.query.link !== undefined;
      // Another site must not link an account of its choice to the one that is signed in here.
      if (isLink && !browserOf(settings, request.headers).same_origin)
        throw new DomainError('forbidden', 'Link an account from a page of this service');
      if (isLink && !(await authenticateRequest(services, { headers: request.headers, isSafe: true })))
        throw new DomainError('unauthenticated', 'Sign in before you link an account');
      const { url, checks } = await openid.begin(callbackOf(settings));
      const link = isLink ? boundToSession(settings, request.headers, checks.state) : null;
      const kept = new URLSearchParams({ ...checks, ...(link !== null && { link }) });
      setCookie(response, settings, kept.toString(), patience);
      response.redirect(303, url);
    }),
  );

  router.get(
    '/auth/oidc/callback',
    guarded(async (request, response) => {
      setCookie(response, settings, '', 0);
      const { checks, link } = keptBy(request, settings);
      if (checks.state === '')
        throw new DomainError('forbidden', 'This sign-in was not begun in this browser, or took too long; try again');
      const actor = await signedIn(services, request);
      if (link !== null && actor && link !== boundToSession(settings, request.headers, checks.state))
        throw new DomainError('conflict', 'This link was begun in another session; begin it again');
      const call: Call<AllServices> = {
        services,
        actor,
        conditions: {},
        signal: AbortSignal.timeout(30_000),
        request_id: String(response.getHeader('X-Request-Id')),
        address: request.ip ?? null,
        browser: browserOf(settings, request.headers),
        facts: {},
      };
      const answer = { url: new URL(request.originalUrl, settings.public_url).href, ...checks };
      if (link !== null) await run(linkIdentity, call, { answer });
      else await run(signInWithProvider, call, { answer });
      if (call.facts.session !== undefined) response.append('Set-Cookie', sessionCookie(settings, call.facts.session));
      goTo(response, settings);
    }),
  );
  return router;
}
