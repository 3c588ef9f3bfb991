import { defineEntity, type EntityManager, type InferEntity, LockMode, p } from '@mikro-orm/postgresql';
import { DomainError } from '../../kernel/errors.ts';
import type { Ports } from '../../kernel/services.ts';
import { hashToken } from '../identity/token-text.ts';
import { Member } from '../organizations/member.entity.ts';
import { isSecretText, secretText } from './sessions.ts';
import { beginAttempt } from './throttle.ts';

/** Why a link was made; also the first part of its path. */
export type LinkKind = 'setup' | 'join' | 'reset';

/** A link that is good for one use. */
export const OneTimeLink = defineEntity({
  name: 'OneTimeLink',
  tableName: 'one_time_link',
  properties: {
    id: p.integer().primary().autoincrement(),
    kind: p.text().$type<LinkKind>(),
    /** SHA-256 of its secret, hex. */
    hash: p.text().unique(),
    user_id: p.integer().nullable(),
    /** Of a `join` link. */
    member_id: p.integer().nullable(),
    created_at: p.datetime(3),
    expires_at: p.datetime(3),
  },
});
export type OneTimeLink = InferEntity<typeof OneTimeLink>;

const hour = 3600_000;
const lives: Record<LinkKind, number> = { setup: 24 * hour, join: 7 * 24 * hour, reset: hour };

type Maker = Pick<Ports, 'clock' | 'settings'>;

/**
 * Makes a link, in place of those of its kind that were made for the same before.
 * @returns its address: the secret is the fragment, which reaches no access log and no referrer
 */
export async function makeLink(
  em: EntityManager,
  { clock, settings }: Maker,
  kind: LinkKind,
  whose: { user_id?: number; member_id?: number } = {},
): Promise<{ url: string; expires_at: Date }> {
  const { user_id = null, member_id = null } = whose;
  const secret = secretText();
  const created_at = clock.now();
  const expires_at = new Date(created_at.getTime() + lives[kind]);
  await em.nativeDelete(OneTimeLink, { kind, user_id, member_id });
  await em.insert(OneTimeLink, { kind, hash: hashToken(secret), user_id, member_id, created_at, expires_at });
  return { url: `${settings.public_url}/${kind}#${secret}`, expires_at };
}

/**
 * Ends the link by which an account could be given a password. The right to make it ends when its person joins another organisation, and the link
 * would last longer.
 */
export async function endResetLink(em: EntityManager, user_id: number): Promise<void> {
  await em.nativeDelete(OneTimeLink, { kind: 'reset', user_id });
}

/**
 * Ends the links by which people of organisations could be given a password: an Owner who has made some may be one no longer, and the links would
 * last longer.
 */
export async function endResetLinksIn(em: EntityManager, organizations: readonly number[]): Promise<void> {
  const members = await em.find(Member, { organization_id: { $in: [...organizations] } }, { fields: ['user_id'] });
  await em.nativeDelete(OneTimeLink, { kind: 'reset', user_id: { $in: members.map(({ user_id }) => user_id) } });
}

const gone: Record<LinkKind, string> = {
  setup: 'This set-up link is no longer valid: the newest one is in the log and in first-run.json',
  join: 'This invitation is no longer valid: ask for a new one',
  reset: 'This link is no longer valid: ask for a new one',
};

const goneLink = (kind: LinkKind) =>
  new DomainError('forbidden', gone[kind], {
    details: { errors: [{ field: '/secret', code: 'link_gone', message: gone[kind] }] },
  });

const validLink = (kind: LinkKind, secret: string, now: Date) => ({
  kind,
  hash: hashToken(secret),
  expires_at: { $gt: now },
});

interface Opener {
  em: EntityManager;
  services: Pick<Ports, 'orm' | 'clock'>;
  address: string | null;
}

/**
 * Finds a link before a transaction is begun, so that what takes long holds no connection. A secret that opens nothing counts as a failed sign-in:
 * anyone can send any number of them, and each leaves an audit row.
 * @throws DomainError `forbidden` when it was used, replaced or has expired, `rate_limited` after too many of these
 */
export async function findLink(
  { em, services, address }: Opener,
  kind: LinkKind,
  secret: string,
): Promise<OneTimeLink> {
  const attempt = await beginAttempt(services, `${kind} link ${hashToken(secret)}`, address);
  const found = isSecretText(secret)
    ? await em.findOne(OneTimeLink, validLink(kind, secret, services.clock.now()), { disableIdentityMap: true })
    : null;
  if (!found) throw goneLink(kind);
  await attempt.succeeded();
  return found;
}

/**
 * Uses a link up, in the transaction of `em`: of two callers the second waits, and finds it gone.
 * @throws DomainError `forbidden` when it was used, replaced or has expired
 */
export async function redeemLink(
  em: EntityManager,
  { clock }: Pick<Ports, 'clock'>,
  kind: LinkKind,
  secret: string,
): Promise<OneTimeLink> {
  const lock = { lockMode: LockMode.PESSIMISTIC_WRITE } as const;
  const found = isSecretText(secret) ? await em.findOne(OneTimeLink, validLink(kind, secret, clock.now()), lock) : null;
  if (!found) throw goneLink(kind);
  await em.nativeDelete(OneTimeLink, { id: found.id });
  return found;
}
