import { randomBytes } from 'node:crypto';
import { defineEntity, type EntityManager, type InferEntity, LockMode, p } from '@mikro-orm/postgresql';
import type { Actor } from '../../kernel/actor.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { BrowserRequest } from '../../kernel/operation.ts';
import type { Ports } from '../../kernel/services.ts';
import { userChanged } from '../identity/grant-cache.ts';
import { hashToken } from '../identity/token-text.ts';
import { User } from './user.entity.ts';

/** A browser in which a person is signed in. */
export const UserSession = defineEntity({
  name: 'UserSession',
  tableName: 'user_session',
  properties: {
    id: p.integer().primary().autoincrement(),
    user_id: p.integer(),
    /** SHA-256 of its text, hex. */
    hash: p.text().unique(),
    created_at: p.datetime(3),
    last_used: p.datetime(3),
    /** When the person last gave their password, or signed in by other means. */
    proved_at: p.datetime(3),
    address: p.text().nullable(),
    /** `User-Agent` at sign-in. */
    browser: p.text().nullable(),
  },
});
export type UserSession = InferEntity<typeof UserSession>;

const day = 24 * 3600_000;
/** A session ends so long after its last use, milliseconds. */
const idleLife = 7 * day;
/** It ends so long after sign-in, milliseconds. */
const absoluteLife = 30 * day;
const longestBrowser = 300;

/** 256 random bits, base64url: the text of a session or of a link that is good for one use. */
export const secretText = (): string => randomBytes(32).toString('base64url');
export const isSecretText = (text: string): boolean => /^[\w-]{43}$/.test(text);
/** Whether a session has not ended by itself. */
export const isAlive = ({ created_at, last_used }: Pick<UserSession, 'created_at' | 'last_used'>, now: Date): boolean =>
  now.getTime() - last_used.getTime() <= idleLife && now.getTime() - created_at.getTime() <= absoluteLife;

/** What starting a session needs of the call that does. */
interface StartContext {
  actor: Actor | null;
  em: EntityManager;
  services: Pick<Ports, 'clock'>;
  address: string | null;
  browser?: BrowserRequest;
  setSession(text: string | null): void;
}

/**
 * Refuses a sign-in that another site's page may have made the browser send: it would put the person into an account of its choice.
 * @throws DomainError `forbidden`
 */
export function requireSameOrigin(browser: BrowserRequest | undefined): void {
  if (!browser?.same_origin)
    throw new DomainError(
      'forbidden',
      'Signing in works from this service only: send Sec-Fetch-Site: same-origin as its pages do, or its address as Origin',
    );
}

/** An account with the password, as stored, that it had when its person proved who they are, or that they have just set. */
type Proved = Pick<User, 'id' | 'password'>;

/** An account that is not disabled, locked until the transaction of `em` ends; null: there is no such account. */
const lockEnabled = (em: EntityManager, where: Pick<User, 'id'> & Partial<User>): Promise<User | null> =>
  em.findOne(User, { ...where, disabled_at: null }, { disableIdentityMap: true, lockMode: LockMode.PESSIMISTIC_WRITE });

/**
 * Holds an account until the transaction of `em` ends, so that a sign-in is over before a new password or a disablement ends all sessions, or finds it.
 * @throws DomainError `unauthenticated` when the account was disabled, or given another password, since its person proved who they are
 */
export async function holdAccount(em: EntityManager, { id, password }: Proved): Promise<void> {
  const held = await lockEnabled(em, { id, password: password ?? null });
  if (!held) throw new DomainError('unauthenticated', 'The account has changed meanwhile: sign in again');
}

/**
 * Holds the account of a caller until the transaction of `em` ends, so that what they do is over before their session ends, or finds that it has.
 * @throws DomainError `unauthenticated` when it has ended since the call began
 */
export async function holdSession(em: EntityManager, actor: Actor | null): Promise<void> {
  const { id = 0, session } = actor?.user ?? {};
  const held = await lockEnabled(em, { id });
  const isThere = session == null || (await em.count(UserSession, { id: session.id, user_id: id })) > 0;
  if (!held || !isThere) throw new DomainError('unauthenticated', 'Your session has ended meanwhile: sign in again');
}

/** Signs the browser in, in the transaction of `em`, with a new session: never one that was there before (session fixation), which ends. */
export async function startSession(context: StartContext, person: Proved): Promise<void> {
  requireSameOrigin(context.browser);
  await holdAccount(context.em, person);
  const before = context.actor?.user;
  if (before?.session) await endSessions(context.em, before.id, { id: before.session.id });
  const now = context.services.clock.now();
  const text = secretText();
  await context.em.insert(UserSession, {
    user_id: person.id,
    hash: hashToken(text),
    created_at: now,
    last_used: now,
    proved_at: now,
    address: context.address,
    browser: context.browser?.user_agent?.replaceAll('\u0000', '').slice(0, longestBrowser) ?? null,
  });
  context.setSession(text);
}

/** Ends sessions of a person: all of them, or the ones `which` names. @returns how many */
export async function endSessions(
  em: EntityManager,
  user_id: number,
  which: { id?: number | { $ne: number } } = {},
): Promise<number> {
  const ended = await em.nativeDelete(UserSession, { user_id, ...which });
  await userChanged(em, user_id);
  return ended;
}

/** Removes what has ended by itself. */
export async function pruneSessions({ orm, clock }: Pick<Ports, 'orm' | 'clock'>): Promise<void> {
  const now = clock.now().getTime();
  await orm.em.fork().nativeDelete(UserSession, {
    $or: [{ last_used: { $lt: new Date(now - idleLife) } }, { created_at: { $lt: new Date(now - absoluteLife) } }],
  });
}
