import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../kernel/actor.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { Ports } from '../../kernel/services.ts';
import { asUnavailable } from '../../kernel/unavailable.ts';
import { authenticateRun } from '../studio/deployments/run-token.ts';
import type { GrantCache, TokenGrant } from './grant-cache.ts';
import { Token } from './token.entity.ts';
import { hashToken, isTokenText, tokenKind } from './token-text.ts';

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
    expires_at: row.expires_at?.getTime() ?? null,
  };
}

/** Notes the use of a token at most once a minute, outside any transaction; a failure costs nothing but the note. */
function noteUse(services: IdentityServices, id: number): void {
  const now = services.clock.now();
  if (!services.grants.useIsDue(id, now)) return;
  services.orm.em
    .fork()
    .nativeUpdate(Token, { id }, { last_used: now })
    .catch((err: unknown) => services.log.warn({ err }, 'last use of a token not written'));
}

function actorFor(services: IdentityServices, key: TokenKey, grant: TokenGrant): Actor {
  const permissions = new Set(grant.permissions);
  const projects = grant.projects ? new Set(grant.projects) : null;
  return {
    id: `token:${grant.id}`,
    author: { name: grant.name, email: `token-${grant.id}@${services.settings.public_host}` },
    instance_admin: false,
    organizations: [grant.organization_id],
    grantFor: (organization_id) =>
      organization_id === grant.organization_id ? { organization_id, permissions, projects, owner: false } : null,
    reload: async () => {
      const fresh = await loadGrant(services, key);
      return fresh && isAlive(services, fresh) ? actorFor(services, key, fresh) : null;
    },
  };
}

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
  const grant = await services.grants
    .token(hash, () => loadGrant(services, { hash }))
    .catch((error: unknown) => {
      throw asUnavailable(error);
    });
  const isGood = grant !== null && isAlive(services, grant);
  services.grants.setAccepted(hash, isGood);
  if (!isGood) return null;
  noteUse(services, grant.id);
  return actorFor(services, { hash }, grant);
}

/**
 * The actor of an id such as `token:12`, for what was handed to it earlier; null when its credential has ended, or the id is not one of a
 * credential.
 * @param em of the caller's transaction, which must not wait for another connection
 */
export async function authenticateHolder(
  services: IdentityServices,
  actorId: string,
  em?: EntityManager,
): Promise<Actor | null> {
  const [, digits] = /^token:(\d{1,9})$/.exec(actorId) ?? [];
  if (digits === undefined) return null;
  const key = { id: Number(digits) };
  const grant = await services.grants.token(`id:${digits}`, () => loadGrant(services, key, em));
  return grant && isAlive(services, grant) ? actorFor(services, key, grant) : null;
}

/**
 * The actor behind an `Authorization: Bearer` header (RFC 6750 2.1); null when there is no header.
 * @throws DomainError `unauthenticated` when there is one that is not valid.
 */
export async function authenticateHeader(
  services: IdentityServices,
  authorization: string | undefined,
): Promise<Actor | null> {
  if (authorization === undefined) return null;
  const token = /^Bearer +([^\s]+) *$/i.exec(authorization)?.[1];
  const actor = token ? await authenticateToken(services, token) : null;
  if (!actor) throw new DomainError('unauthenticated', 'Unauthenticated');
  return actor;
}
