/**
 * The way to the OpenID provider and back: `GET /auth/oidc` sends the browser there, with `?link` to link an account instead of signing in;
 * `GET /auth/oidc/callback` is where it comes back. What the answer is checked against waits in a cookie of these two paths.
 */
import express, { type Request, type Response, type Router } from 'express';
import { authenticateRequest, browserOf, sessionCookie } from '../domain/identity/authenticate.ts';
import type { AllServices } from '../domain/services.ts';
import { linkIdentity, signInWithProvider } from '../domain/users/openid.operations.ts';
import { DomainError, type ErrorCode } from '../kernel/errors.ts';
import type { Call } from '../kernel/operation.ts';
import { run } from '../kernel/run.ts';

const cookieName = 'portico-oidc';
/** How long a person may take at the provider, seconds. */
const patience = 600;

const callbackOf = ({ public_url }: { public_url: string }) => `${public_url}/auth/oidc/callback`;

function setCookie(response: Response, secure: boolean, value: string, seconds: number): void {
  const end = secure ? '; Secure' : '';
  response.append(
    'Set-Cookie',
    `${cookieName}=${value}; Path=/auth/oidc; Max-Age=${seconds}; HttpOnly; SameSite=Lax${end}`,
  );
}

/** What the browser kept; empty texts, which match nothing, where it kept nothing. */
function keptBy(request: Request) {
  const [, text = ''] = new RegExp(`(?:^|; *)${cookieName}=([^;]*)`).exec(request.headers.cookie ?? '') ?? [];
  const kept = new URLSearchParams(text);
  const of = (name: string) => kept.get(name) ?? '';
  return { checks: { state: of('state'), nonce: of('nonce'), verifier: of('verifier') }, isLink: kept.has('link') };
}

/** Sends the browser to the page that shows who is signed in, or with the code of a refusal why not (the dashboard has the texts). */
function goTo(response: Response, { public_url }: { public_url: string }, code?: ErrorCode): void {
  response.redirect(303, `${public_url}/sign-in${code === undefined ? '' : `#${code}`}`);
}

/** The two paths; where the settings name no provider they are left to later handlers. */
export function createOpenIdRoutes(services: AllServices): Router {
  const { openid, settings } = services;
  const router = express.Router({ strict: true, caseSensitive: true });
  if (openid === null) return router;
  const secure = settings.public_url.startsWith('https:');
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
      const { url, checks } = await openid.begin(callbackOf(settings));
      const kept = new URLSearchParams({ ...checks, ...(isLink && { link: '1' }) });
      setCookie(response, secure, kept.toString(), patience);
      response.redirect(303, url);
    }),
  );

  router.get(
    '/auth/oidc/callback',
    guarded(async (request, response) => {
      setCookie(response, secure, '', 0);
      const { checks, isLink } = keptBy(request);
      if (checks.state === '')
        throw new DomainError('forbidden', 'This sign-in was not begun in this browser, or took too long; try again');
      const call: Call<AllServices> = {
        services,
        actor: isLink ? await authenticateRequest(services, { headers: request.headers, isSafe: true }) : null,
        conditions: {},
        signal: AbortSignal.timeout(30_000),
        request_id: String(response.getHeader('X-Request-Id')),
        address: request.ip ?? null,
        browser: browserOf(settings, request.headers),
        facts: {},
      };
      const url = new URL(request.originalUrl, settings.public_url).href;
      if (isLink) await run(linkIdentity, call, { url, ...checks });
      else await run(signInWithProvider, call, { url, ...checks });
      if (call.facts.session !== undefined) response.append('Set-Cookie', sessionCookie(settings, call.facts.session));
      goTo(response, settings);
    }),
  );
  return router;
}
