import type { EntityManager } from '@mikro-orm/postgresql';
import type { DeliveryStatus } from '../notification.entity.ts';
import type { SendResult } from './send.ts';

/** Longer than an attempt can take, milliseconds. */
const lease = 30_000;

const claimSql = `
  update notification set leased_until = ?, tries = tries + 1
  where id = ? and status = 'pending' and next_attempt_at <= ? and (leased_until is null or leased_until <= ?)
  returning event_id, payload, tries`;

/** A delivery whose turn it is, held by this worker. */
export interface Claimed {
  event_id: string;
  payload: string;
  /** Counts this one. */
  tries: number;
}

/** Takes a delivery for one attempt; null when it is not its turn, or another worker has it. */
export async function claimDelivery(em: EntityManager, id: number, now: Date): Promise<Claimed | null> {
  const until = new Date(now.getTime() + lease);
  const [row] = await em.execute<Claimed[]>(claimSql, [until, id, now, now]);
  return row ?? null;
}

/** Whose event a delivery tells of; null when there is nothing to deliver (any more). */
export async function crawlerOf(em: EntityManager, id: number): Promise<number | null> {
  const [row] = await em.execute<{ crawler_id: number }[]>(
    `select crawler_id from notification where id = ? and status = 'pending'`,
    [id],
  );
  return row?.crawler_id ?? null;
}

/** When a delivery that was not claimed can be; null when it is over. */
export async function claimableAt(em: EntityManager, id: number): Promise<Date | null> {
  const [row] = await em.execute<{ at: string }[]>(
    `select greatest(next_attempt_at, leased_until) as at from notification where id = ? and status = 'pending'`,
    [id],
  );
  return row ? new Date(row.at) : null;
}

/** What becomes of a delivery after an attempt, or without one. */
export interface Verdict {
  status: DeliveryStatus;
  next_attempt_at: Date | null;
}

const settleSql = `
  update notification set status = ?, next_attempt_at = ?, leased_until = null
  where id = ? and status = 'pending' and tries = ? returning id`;

const attemptSql = `
  insert into notification_attempt (notification_id, at, duration_ms, status, error, answer) values (?, ?, ?, ?, ?, ?)`;

/** Writes down an attempt. */
export async function recordAttempt(
  em: EntityManager,
  id: number,
  { status, error, answer }: SendResult,
  time: { at: Date; duration_ms: number },
): Promise<void> {
  await em.execute(attemptSql, [id, time.at, time.duration_ms, status, error, answer]);
}

/** @returns false when the delivery was taken up anew meanwhile: then that goes on */
export async function settleDelivery(em: EntityManager, id: number, tries: number, verdict: Verdict): Promise<boolean> {
  const rows = await em.execute<unknown[]>(settleSql, [verdict.status, verdict.next_attempt_at, id, tries]);
  return rows.length > 0;
}
