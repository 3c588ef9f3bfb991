import type * as Client from 'openid-client';
import { DomainError } from '../../kernel/errors.ts';
import type { GuardedHttp } from '../../ports/http.ts';
import type { OpenId } from '../../ports/openid.ts';

interface Options {
  http: GuardedHttp;
  /** https, or http on a loopback address. */
  issuer: string;
  clientId: string;
  /** Absent for a public client. */
  clientSecret?: string | undefined;
}

/** Loaded with the first sign-in: most servers have no provider. */
const load = () => import('openid-client');

/** Largest answer of a provider, bytes. */
const maxBytes = 1024 * 1024;

/** The library's requests through the guarded client: the provider the settings name may be on an inner address, what it names may not. */
function guardedFetch(http: GuardedHttp, issuer: URL): Client.CustomFetch {
  const trusted = issuer.port === '' ? issuer.hostname : issuer.host;
  return async (url, { method, headers, body, signal }) => {
    const answer = await http.request(url, {
      method,
      headers,
      body: body == null ? null : body instanceof Uint8Array ? body : String(body),
      policy: { trustedNames: [trusted] },
      maxBytes,
      ...(signal && { signal }),
    });
    const flat = Object.entries(answer.headers).map(([name, value]) => [name, [value].flat().join(', ')] as const);
    const bytes = await answer.bytes();
    const isEmpty = answer.status === 204 || answer.status === 304;
    return new Response(isEmpty ? null : new Uint8Array(bytes), {
      status: answer.status,
      headers: Object.fromEntries(flat),
    });
  };
}

/** Faults of the answer itself: what the provider refused, or what does not hold. The library wraps those of a request, too. */
const isAboutAnswer = (client: typeof Client, error: unknown) =>
  error instanceof client.AuthorizationResponseError ||
  error instanceof client.ResponseBodyError ||
  error instanceof client.WWWAuthenticateChallengeError ||
  (error instanceof client.ClientError && !(error.cause instanceof DomainError));

/** Of an answer that is no refusal in the form of OAuth 2.0 (RFC 6749 5.2). */
const failingCodes = new Set<unknown>(['OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON']);

/** Whether the place at which a code is redeemed has failed, or is no longer there. */
const isFailing = (client: typeof Client, error: unknown) =>
  (error instanceof client.ResponseBodyError && error.status === 404) ||
  (error instanceof client.ClientError && failingCodes.has(error.code));

/**
 * Whether a text can name an account (OpenID Connect Core 2: at most 255 characters). What cannot be stored as it is could be taken for another one's
 * name: PostgreSQL's driver writes every half of a surrogate pair alike.
 */
const isSubject = (sub: string) => sub !== '' && sub.length <= 255 && sub.isWellFormed() && !sub.includes('\0');

/** The provider is not reached before the first sign-in; its metadata is read once, and again after a failure. */
export function createOpenId({ http, issuer, clientId, clientSecret }: Options): OpenId {
  const server = new URL(issuer);
  const { host } = server;
  let known: Promise<Client.Configuration> | null = null;
  /** Its metadata may be what was wrong, and is read again. */
  const away = (cause: unknown) => {
    known = null;
    return new DomainError('unavailable', `${host} cannot be reached at the moment; try again`, { cause });
  };
  const configuration = (client: typeof Client) => {
    known ??= client
      .discovery(server, clientId, clientSecret, clientSecret === undefined ? client.None() : undefined, {
        [client.customFetch]: guardedFetch(http, server),
        // The library takes an ID token unverified that comes from the token endpoint itself, as it may where TLS vouches for that.
        execute: [
          client.enableNonRepudiationChecks,
          ...(server.protocol === 'http:' ? [client.allowInsecureRequests] : []),
        ],
      })
      .catch((error: unknown) => {
        throw away(error);
      });
    return known;
  };

  return {
    host,
    async begin(callback) {
      const client = await load();
      const checks = {
        issuer: server.href,
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      };
      const config = await configuration(client);
      const parameters = {
        redirect_uri: callback,
        scope: 'openid',
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(checks.verifier),
        code_challenge_method: 'S256',
      };
      try {
        return { url: client.buildAuthorizationUrl(config, parameters).href, checks };
      } catch (error) {
        throw away(error);
      }
    },

    async finish(url, { issuer, state, nonce, verifier }) {
      if (issuer !== server.href)
        throw new DomainError('forbidden', 'This sign-in was begun at another provider; try again');
      const client = await load();
      const config = await configuration(client);
      const unconfirmed = (cause: unknown) =>
        new DomainError('forbidden', `${host} did not confirm who you are; try again`, { cause });
      const tokens = await client
        .authorizationCodeGrant(config, new URL(url), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        })
        .catch((error: unknown) => {
          throw isAboutAnswer(client, error) && !isFailing(client, error) ? unconfirmed(error) : away(error);
        });
      const { iss, sub } = tokens.claims() ?? {};
      if (iss === undefined || sub === undefined || !isSubject(sub))
        throw unconfirmed(new Error('The ID token names no account'));
      return { issuer: iss, subject: sub };
    },
  };
}
