/**
 * Finds the actor behind a request: an API token (`Authorization`), or the session of a browser (a cookie). Where both are sent the token counts.
 * What was found is remembered in the grant cache, by the hash of the credential.
 */
import { createHmac } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor, Grant } from '../../kernel/actor.ts';
import { presets } from '../../kernel/actor.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { BrowserRequest } from '../../kernel/operation.ts';
import type { Ports, Settings } from '../../kernel/services.ts';
import { asUnavailable } from '../../kernel/unavailable.ts';
import { Member } from '../organizations/member.entity.ts';
import { authenticateRun } from '../studio/deployments/run-token.ts';
import { isAlive as isAliveSession, isSecretText, UserSession } from '../users/sessions.ts';
import { User } from '../users/user.entity.ts';
import type { GrantCache, TokenGrant, UserGrant } from './grant-cache.ts';
import { Token } from './token.entity.ts';
import { hashToken, isTokenText, tokenKind } from './token-text.ts';

/** What of a request's headers says who sends it, by names in lower case. */
export interface RequestHeaders {
  authorization?: string | undefined;
  cookie?: string | undefined;
  origin?: string | undefined;
  'sec-fetch-site'?: string | string[] | undefined;
  'user-agent'?: string | undefined;
}

/** What finding an actor needs. */
export type IdentityServices = Pick<Ports, 'orm' | 'clock' | 'log' | 'settings'> & { grants: GrantCache };

/** The token of `Authorization`: Bearer (RFC 6750 2.1), or the password of Basic with any user name (RFC 7617), as git sends it. */
export function tokenOf(header: string | undefined): string | null {
  const [scheme = '', credentials = ''] = header?.split(/ +/, 2) ?? [];
  if (/^bearer$/i.test(scheme)) return credentials;
  if (!/^basic$/i.test(scheme)) return null;
  const text = Buffer.from(credentials, 'base64').toString('utf8');
  return text.slice(text.indexOf(':') + 1);
}

const isSecure = ({ public_url }: Pick<Settings, 'public_url'>) => public_url.startsWith('https:');

/**
 * With the prefix a browser takes the cookie from a secure page of this very host only (RFC 6265bis 4.1.3). One of the plain name counts for
 * nothing there: a page of a neighbouring host, such as a preview, can set it, and would sign the person in to an account of its choice.
 */
const cookieName = (settings: Pick<Settings, 'public_url'>) => (isSecure(settings) ? '__Host-portico' : 'portico');

/** The text of the session in a `Cookie` header (RFC 6265 4.2); null without one. */
function sessionTextOf(settings: Pick<Settings, 'public_url'>, cookie: string | undefined): string | null {
  const pairs = (cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  const name = cookieName(settings);
  return (
    pairs
      .find(([key]) => key === name)
      ?.slice(1)
      .join('=') ?? null
  );
}

/** The credential a request brings, as text; null when it brings none. */
export const credentialOf = (
  settings: Pick<Settings, 'public_url'>,
  { authorization, cookie }: RequestHeaders,
): string | null => (authorization === undefined ? sessionTextOf(settings, cookie) : tokenOf(authorization));

/** What binds a text to the session a request comes with, and to no other: a keyed digest (HMAC-SHA256); null without a session. */
export function boundToSession(
  settings: Pick<Settings, 'public_url'>,
  { cookie }: RequestHeaders,
  text: string,
): string | null {
  const session = sessionTextOf(settings, cookie);
  return session === null ? null : createHmac('sha256', session).update(text).digest('base64url');
}

/**
 * `Set-Cookie` for a browser that is signed in with a session, or with null out. It ends with the browser's session or on the server, whichever
 * comes first after 30 days.
 */
export function sessionCookie(settings: Settings, text: string | null): string {
  const life = text === null ? 0 : 30 * 24 * 3600;
  const end = isSecure(settings) ? '; Secure' : '';
  return `${cookieName(settings)}=${text ?? ''}; Path=/; Max-Age=${life}; HttpOnly; SameSite=Lax${end}`;
}

/** What the headers say of where a request comes from: Fetch Metadata, or where a browser sends none, `Origin` (RFC 6454 7). */
export function browserOf(settings: Settings, headers: RequestHeaders): BrowserRequest {
  const site = headers['sec-fetch-site'];
  const same_origin =
    site === undefined ? headers.origin === new URL(settings.public_url).origin : site === 'same-origin';
  return { user_agent: headers['user-agent'] ?? null, same_origin };
}

/** How a token's row is found again. */
type TokenKey = { hash: string } | { id: number };

async function loadGrant(
  services: IdentityServices,
  key: TokenKey,
  em: EntityManager = services.orm.em.fork(),
): Promise<TokenGrant | null> {
  const row = await em.findOne(Token, { ...key, revoked_at: null }, { disableIdentityMap: true });
  if (!row) return null;
  return {
    id: row.id,
    organization_id: row.organization_id,
    name: row.name,
    permissions: row.permissions,
    projects: row.projects ?? null,
    mcp: row.mcp,
    expires_at: row.expires_at?.getTime() ?? null,
  };
}

type Credential = { entity: typeof Token; kind: 'token' } | { entity: typeof UserSession; kind: 'session' };

/** Notes the use of a credential at most once a minute, outside any transaction; a failure costs nothing but the note. */
function noteUse(services: IdentityServices, { entity, kind }: Credential, id: number): void {
  const now = services.clock.now();
  if (!services.grants.useIsDue(`${kind}:${id}`, now)) return;
  const em = services.orm.em.fork();
  const written =
    entity === Token
      ? em.nativeUpdate(Token, { id }, { last_used: now })
      : em.nativeUpdate(UserSession, { id }, { last_used: now });
  written.catch((err: unknown) => services.log.warn({ err }, `last use of a ${kind} not written`));
}

function actorFor(services: IdentityServices, key: TokenKey, grant: TokenGrant): Actor {
  const permissions = new Set(grant.permissions);
  const projects = grant.projects ? new Set(grant.projects) : null;
  return {
    id: `token:${grant.id}`,
    author: { name: grant.name, email: `token-${grant.id}@${services.settings.public_host}` },
    instance_admin: false,
    organizations: [grant.organization_id],
    tools: grant.mcp,
    grantFor: (organization_id) =>
      organization_id === grant.organization_id ? { organization_id, permissions, projects, owner: false } : null,
    reload: async ({ fresh, within }) => {
      const now = await (fresh ? loadGrant : grantOf)(services, key, within);
      return now && isAlive(services, now) ? actorFor(services, key, now) : null;
    },
  };
}

/** The grant of a token as this process remembers it, or reads it now. */
const grantOf = (services: IdentityServices, key: TokenKey, em?: EntityManager): Promise<TokenGrant | null> =>
  services.grants.token('hash' in key ? key.hash : `id:${key.id}`, () => loadGrant(services, key, em));

const isAlive = (services: IdentityServices, grant: TokenGrant) =>
  grant.expires_at === null || grant.expires_at > services.clock.now().getTime();

/**
 * The actor behind an API token; null when it is malformed, unknown, expired or revoked. Shape and checksum are checked first, so a typing
 * error costs no query.
 */
export async function authenticateToken(services: IdentityServices, token: string): Promise<Actor | null> {
  if (tokenKind(token) === 'ptr') return authenticateRun(services, token);
  if (!isTokenText(token)) return null;
  const hash = hashToken(token);
  const grant = await grantOf(services, { hash }).catch((error: unknown) => {
    throw asUnavailable(error);
  });
  const isGood = grant !== null && isAlive(services, grant);
  services.grants.setAccepted(hash, isGood);
  if (!isGood) return null;
  noteUse(services, { entity: Token, kind: 'token' }, grant.id);
  return actorFor(services, { hash }, grant);
}

/** How a person is found: by a session's hash, or for what was handed to them earlier by a session's id or their own. */
type UserKey = { session: string } | { session_id: number } | { id: number };

async function loadUser(
  services: IdentityServices,
  key: UserKey,
  em: EntityManager = services.orm.em.fork(),
): Promise<UserGrant | null> {
  const plain = { disableIdentityMap: true } as const;
  const wanted = 'session' in key ? { hash: key.session } : 'session_id' in key ? { id: key.session_id } : null;
  const session = wanted && (await em.findOne(UserSession, wanted, plain));
  const id = 'id' in key ? key.id : session?.user_id;
  if (id === undefined) return null;
  const user = await em.findOne(User, { id, disabled_at: null }, plain);
  if (!user) return null;
  const members = await em.find(Member, { user_id: id, joined_at: { $ne: null } }, plain);
  const grants = members.map(
    ({ organization_id, role, permissions, projects }): Grant => ({
      organization_id,
      permissions: new Set([...presets[role], ...permissions]),
      projects: projects ? new Set(projects) : null,
      owner: role === 'owner',
    }),
  );
  const { name, email, instance_admin } = user;
  return { id, name, email, instance_admin, grants, session };
}

/** A person as this process remembers them, or reads them now. */
function userOf(services: IdentityServices, key: UserKey, em?: EntityManager): Promise<UserGrant | null> {
  const load = () => loadUser(services, key, em);
  if ('session' in key) return services.grants.user(`s:${key.session}`, load);
  return services.grants.user('session_id' in key ? `i:${key.session_id}` : `u:${key.id}`, load);
}

function actorOf(services: IdentityServices, key: UserKey, user: UserGrant): Actor {
  const { id, session } = user;
  return {
    id: `user:${id}`,
    author: { name: user.name, email: user.email },
    instance_admin: user.instance_admin,
    user: { id, session: session && { id: session.id, proved_at: session.proved_at } },
    organizations: user.grants.map((grant) => grant.organization_id),
    grantFor: (organization_id) => user.grants.find((grant) => grant.organization_id === organization_id) ?? null,
    reload: async ({ fresh, within }) => {
      const now = await (fresh ? loadUser : userOf)(services, key, within);
      return now && isSignedIn(services, now) ? actorOf(services, key, now) : null;
    },
  };
}

const isSignedIn = ({ clock }: IdentityServices, { session }: UserGrant) =>
  session === null || isAliveSession(session, clock.now());

/** The actor behind the session of a browser; null when it is malformed, unknown or ended. */
async function authenticateSession(services: IdentityServices, text: string): Promise<Actor | null> {
  if (!isSecretText(text)) return null;
  const session = hashToken(text);
  const user = await userOf(services, { session }).catch((error: unknown) => {
    throw asUnavailable(error);
  });
  const isGood = user?.session != null && isSignedIn(services, user);
  services.grants.setAccepted(session, isGood);
  if (!isGood || !user.session) return null;
  noteUse(services, { entity: UserSession, kind: 'session' }, user.session.id);
  return actorOf(services, { session }, user);
}

/** The credential of an actor by an id that `authenticateHolder` takes: what is handed to it ends with a session, not with the person. */
export const holderOf = ({ id, user }: Actor): string => (user?.session ? `session:${user.session.id}` : id);

/**
 * The actor of an id such as `token:12`, `session:7` or `user:3`, for what was handed to it earlier; null when its credential has ended, or the
 * id is not one of a credential.
 * @param em of the caller's transaction, which must not wait for another connection
 */
export async function authenticateHolder(
  services: IdentityServices,
  actorId: string,
  em?: EntityManager,
): Promise<Actor | null> {
  const [, kind, digits] = /^(token|user|session):(\d{1,9})$/.exec(actorId) ?? [];
  if (digits === undefined) return null;
  const key = { id: Number(digits) };
  if (kind !== 'token') {
    const person = kind === 'session' ? { session_id: key.id } : key;
    const user = await userOf(services, person, em);
    return user && isSignedIn(services, user) ? actorOf(services, person, user) : null;
  }
  const grant = await grantOf(services, key, em);
  return grant && isAlive(services, grant) ? actorFor(services, key, grant) : null;
}

/** What of a request says who sends it. */
export interface Sender {
  headers: RequestHeaders;
  /** It changes nothing: a link of another site may lead to it. */
  isSafe: boolean;
}

/**
 * The actor behind a request to the API; null when it brings no credential.
 * @throws DomainError `unauthenticated` when it brings one that is not valid; `forbidden` when another site's page may have made the browser
 *   send its cookie along
 */
export async function authenticateRequest(
  services: IdentityServices,
  { headers, isSafe }: Sender,
): Promise<Actor | null> {
  const { authorization, cookie } = headers;
  const session = authorization === undefined ? sessionTextOf(services.settings, cookie) : null;
  if (authorization === undefined && session === null) return null;
  if (session !== null && !isSafe && !browserOf(services.settings, headers).same_origin)
    throw new DomainError(
      'forbidden',
      'A request with a session has to come from a page of this service: Sec-Fetch-Site has to be same-origin, or where it is not sent, Origin the address of the service',
    );
  const token = /^Bearer +([^\s]+) *$/i.exec(authorization ?? '')?.[1];
  const actor =
    session !== null
      ? await authenticateSession(services, session)
      : token
        ? await authenticateToken(services, token)
        : null;
  if (!actor) throw new DomainError('unauthenticated', 'Unauthenticated');
  return actor;
}

/** Whether a refusal is about a session that has ended, which the browser should forget. */
export const isEndedSession = (
  settings: Pick<Settings, 'public_url'>,
  error: DomainError,
  { authorization, cookie }: RequestHeaders,
): boolean =>
  error.code === 'unauthenticated' && authorization === undefined && sessionTextOf(settings, cookie) !== null;
