/**
 * Bounds how often a password can be guessed: by account and address block, and by address block alone. It is stored, so it holds over
 * processes and restarts. An attempt counts as failed before it is made, so that many at once do not slip by, and is taken back when it
 * succeeds. Guesses that come from elsewhere keep no one out of their account.
 */
import { defineEntity, type InferEntity, LockMode, p } from '@mikro-orm/postgresql';
import ipaddr from 'ipaddr.js';
import { DomainError } from '../../kernel/errors.ts';
import type { Ports } from '../../kernel/services.ts';
import { KeyedSemaphore } from '../../lib/concurrency.ts';
import { hashToken } from '../identity/token-text.ts';
import { verifyPassword } from './passwords.ts';

export const SignInThrottle = defineEntity({
  name: 'SignInThrottle',
  tableName: 'sign_in_throttle',
  properties: {
    /** SHA-256 of what is counted, hex. */
    key: p.text().primary(),
    failures: p.integer(),
    /** Of the first failure that counts. */
    since: p.datetime(3),
    blocked_until: p.datetime(3).nullable(),
    /** How long the last block was, seconds. */
    block_seconds: p.integer(),
  },
});
export type SignInThrottle = InferEntity<typeof SignInThrottle>;

const windowSeconds = 15 * 60;
const firstBlock = 60;
/** Failures after which an account is blocked for an address block, and the address block for all accounts. */
const limits = { pair: 10, block: 50 };

/** The network an address stands for: /24 of IPv4, /64 of IPv6, which one subscriber usually has to itself. */
export function addressBlock(address: string | null | undefined): string {
  if (address == null || !ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  const bytes = parsed.toByteArray();
  return `${parsed.kind()}:${bytes.slice(0, parsed.kind() === 'ipv4' ? 3 : 8).join('.')}`;
}

type Counter = Omit<SignInThrottle, 'key'>;
const later = (at: Date, seconds: number) => new Date(at.getTime() + seconds * 1000);
const untouched = (at: Date): Counter => ({ failures: 0, since: at, blocked_until: null, block_seconds: 0 });

/** A counter after one more failure; at its limit it blocks, each time for twice as long. */
function afterFailure(before: Counter, limit: number, now: Date): Counter {
  const isOver = now >= later(before.since, windowSeconds);
  const { failures, since, block_seconds } = isOver ? untouched(now) : before;
  const counted = { failures: failures + 1, since, blocked_until: null, block_seconds };
  if (counted.failures < limit) return counted;
  const seconds = Math.min(Math.max(firstBlock, block_seconds * 2), windowSeconds);
  return { ...counted, blocked_until: later(now, seconds), block_seconds: seconds };
}

/** By network. Anyone can send any number of attempts at once; one that waits in the database for the counters of its network takes a connection. */
const attempts = new KeyedSemaphore();

/** An attempt under way, which counts as failed. */
interface Attempt {
  /** The password was right. */
  succeeded(): Promise<void>;
}

/**
 * Begins an attempt at an account's password.
 * @param account what the caller names, whether there is such an account or not
 * @throws DomainError `rate_limited` with `details.retry_after`, seconds
 */
export async function beginAttempt(
  { orm, clock }: Pick<Ports, 'orm' | 'clock'>,
  account: string,
  address: string | null,
): Promise<Attempt> {
  const block = addressBlock(address);
  // Locked in one order, so that two attempts never wait for each other.
  const keys = [
    { key: hashToken(`block ${block}`), limit: limits.block },
    { key: hashToken(`pair ${block} ${account.toLowerCase()}`), limit: limits.pair },
  ];
  const [blockKey, pairKey] = keys.map(({ key }) => key) as [string, string];
  const change = <T>(work: (read: (key: string) => Promise<SignInThrottle>) => Promise<T>) =>
    attempts.run(blockKey, () =>
      orm.em.fork().transactional((em) =>
        work(async (key) => {
          const row = { key, ...untouched(clock.now()) };
          await em.upsert(SignInThrottle, row, { onConflictAction: 'ignore' });
          return em.findOneOrFail(SignInThrottle, { key }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true });
        }),
      ),
    );

  await change(async (read) => {
    const now = clock.now();
    const counters = [];
    for (const { key, limit } of keys) counters.push({ counter: await read(key), limit });
    const until = Math.max(...counters.map(({ counter }) => counter.blocked_until?.getTime() ?? 0));
    if (until > now.getTime()) {
      const retry_after = Math.ceil((until - now.getTime()) / 1000);
      throw new DomainError('rate_limited', `Too many failed attempts; try again in ${retry_after} s`, {
        details: { retry_after },
      });
    }
    for (const { counter, limit } of counters) Object.assign(counter, afterFailure(counter, limit, now));
  });
  return {
    succeeded: () =>
      change(async (read) => {
        const shared = await read(blockKey);
        const failures = Math.max(0, shared.failures - 1);
        Object.assign(shared, { failures, ...(failures < limits.block && { blocked_until: null }) });
        Object.assign(await read(pairKey), untouched(clock.now()));
      }),
  };
}

/**
 * Compares a password with the one of an account, as an attempt that counts.
 * @param kept as stored; null where there is no account, or none that may sign in
 * @returns whether it is right, and whether it should be stored anew
 * @throws DomainError `rate_limited` with `details.retry_after`, seconds
 */
export async function tryPassword(
  services: Pick<Ports, 'orm' | 'clock'>,
  account: string,
  address: string | null,
  given: string,
  kept: string | null | undefined,
): Promise<{ ok: boolean; isWeak: boolean }> {
  const attempt = await beginAttempt(services, account, address);
  const verdict = await verifyPassword(given, kept ?? null);
  if (verdict.ok) await attempt.succeeded();
  return verdict;
}

/** Removes counters that block nothing any more. */
export async function pruneThrottle({ orm, clock }: Pick<Ports, 'orm' | 'clock'>): Promise<void> {
  const before = later(clock.now(), -windowSeconds);
  await orm.em.fork().nativeDelete(SignInThrottle, {
    since: { $lt: before },
    $or: [{ blocked_until: null }, { blocked_until: { $lt: clock.now() } }],
  });
}
