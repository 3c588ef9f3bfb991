import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../kernel/services.ts';
import { retryAfter } from '../../lib/http-client.ts';
import { redactor } from '../../lib/redaction/encodings.ts';
import { Crawler } from '../crawlers/config/crawler.entity.ts';
import { openCrawlerSecrets } from '../crawlers/config/crawler-secrets.ts';
import { generationOfProject } from './generation.ts';
import type { DeliveryStatus } from './notification.entity.ts';
import { type WaitingDelivery, wakeDelivery } from './notify.ts';
import { type SendResult, send, signedHeaders } from './send.ts';
import { openWebhookSecret } from './webhook-secret.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** What lies between one try and the next, milliseconds; the first try is at once. */
const pauses = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour];
const jitter = 0.1;
const longestRetryAfter = hour;

/** Tries of one delivery. */
export const mostTries = pauses.length + 1;

/**
 * When to try again.
 * @param tries how many there have been
 * @param requested the receiver's Retry-After, milliseconds: obeyed when it is longer, up to an hour
 * @param random from 0 to 1: every pause is up to a tenth shorter or longer, so that many deliveries do not come at once
 * @returns milliseconds from now; null when that was the last try
 */
export function nextPause(tries: number, requested: number | null, random: number): number | null {
  const pause = pauses[tries - 1];
  if (pause === undefined) return null;
  const jittered = Math.round(pause * (1 - jitter + 2 * jitter * random));
  return Math.max(jittered, Math.min(requested ?? 0, longestRetryAfter));
}

/** Longer than an attempt can take, milliseconds. */
const lease = 30_000;

const claimSql = `
  update notification set leased_until = ?, tries = tries + 1
  where id = ? and status = 'pending' and next_attempt_at <= ? and (leased_until is null or leased_until <= ?)
  returning event_id, payload, tries`;

/** A delivery whose turn it is, held by this worker. */
interface Claimed {
  event_id: string;
  payload: string;
  /** Counts this one. */
  tries: number;
}

/** Takes a delivery for one attempt; null when it is not its turn, or another worker has it. */
async function claimDelivery(em: EntityManager, id: number, now: Date): Promise<Claimed | null> {
  const until = new Date(now.getTime() + lease);
  const [row] = await em.execute<Claimed[]>(claimSql, [until, id, now, now]);
  return row ?? null;
}

/** Whose event a delivery tells of; null when there is nothing to deliver (any more). */
async function crawlerOf(em: EntityManager, id: number): Promise<number | null> {
  const [row] = await em.execute<{ crawler_id: number }[]>(
    `select crawler_id from notification where id = ? and status = 'pending'`,
    [id],
  );
  return row?.crawler_id ?? null;
}

/** When a delivery that was not claimed can be; null when it is over. */
async function claimableAt(em: EntityManager, id: number): Promise<Date | null> {
  const [row] = await em.execute<{ at: string }[]>(
    `select greatest(next_attempt_at, leased_until) as at from notification where id = ? and status = 'pending'`,
    [id],
  );
  return row ? new Date(row.at) : null;
}

/** What becomes of a delivery after an attempt, or without one. */
interface Verdict {
  status: DeliveryStatus;
  next_attempt_at: Date | null;
}

const settleSql = `
  update notification set status = ?, next_attempt_at = ?, leased_until = null
  where id = ? and status = 'pending' and tries = ? returning id`;

const attemptSql = `
  insert into notification_attempt (notification_id, at, duration_ms, status, error, answer) values (?, ?, ?, ?, ?, ?)`;

/** Writes down an attempt. */
async function recordAttempt(
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

/** The receiver says that it is gone for good (RFC 9110 15.5.11). */
const gone = 410;

interface Receiver {
  project_id: number;
  url: string;
  secret: string;
  authorization: string | undefined;
}

/** Where and how a crawler's webhook is called now; null when it was removed, or the project deleted. */
async function receiverOf(services: Services, em: EntityManager, crawler_id: number): Promise<Receiver | null> {
  const crawler = await em.findOne(Crawler, { id: crawler_id }, { disableIdentityMap: true });
  const url = crawler?.settings.webhook_url;
  const [owner] = await em.execute<{ organization_id: number }[]>(
    `select organization_id from project join crawler on project.id = project_id
     where crawler.id = ? and project.deleted_at is null`,
    [crawler_id],
  );
  if (!crawler || !owner || !url) return null;
  const secret = await openWebhookSecret(services, owner, crawler);
  if (secret === null) return null;
  const { webhook_auth_header } = await openCrawlerSecrets(services, owner, crawler);
  const { project_id } = crawler;
  return { project_id, url, secret, authorization: webhook_auth_header };
}

function verdictOf({ status, error, retryAfter: header }: SendResult, tries: number, now: Date): Verdict {
  if (error === null) return { status: 'delivered', next_attempt_at: null };
  const pause = status === gone ? null : nextPause(tries, retryAfter(header, now), Math.random());
  if (pause === null) return { status: 'failed', next_attempt_at: null };
  return { status: 'pending', next_attempt_at: new Date(now.getTime() + pause) };
}

/** Makes the attempt, and writes down what came of it with the job of the next one. */
async function attempt(
  services: Services,
  { id, crawler_id }: WaitingDelivery,
  { event_id, payload, tries }: Claimed,
  { project_id, url, secret, authorization }: Receiver,
  signal: AbortSignal,
): Promise<void> {
  const { clock, metrics, orm, settings } = services;
  const at = clock.now();
  const began = performance.now();
  const headers = {
    ...signedHeaders({ secret, id: event_id, version: settings.version }, payload, at),
    ...(authorization !== undefined && { Authorization: authorization }),
    ...(await generationOfProject(orm.em.fork(), project_id, at)),
  };
  const sent = await send(services, url, { headers, body: payload, signal });
  // Pages of errors repeat what they were sent, and more people read attempts than settings: without the scheme it is a secret.
  const redact = await redactor({ webhook_auth_header: authorization?.replace(/^\S+ +/, '') ?? '' });
  const result = { ...sent, answer: (await redact(sent.answer)) as string | null };
  const duration_ms = Math.round(performance.now() - began);
  const verdict = verdictOf(result, tries, clock.now());
  await orm.em.fork().transactional(async (em) => {
    await recordAttempt(em, id, result, { at, duration_ms });
    const isOurs = await settleDelivery(em, id, tries, verdict);
    const wait = verdict.next_attempt_at && verdict.next_attempt_at.getTime() - clock.now().getTime();
    if (isOurs && wait !== null) await wakeDelivery(em, services, { id, crawler_id }, wait / 1000);
  });
  metrics.delivery(verdict.status === 'pending' ? 'retried' : verdict.status);
}

/** A lease that ends soon is waited for; what is due later than that, in seconds, has a job of its own. */
const soon = 60;

/**
 * Tries a delivery once, when it is its turn. While another worker holds it, somebody comes back when that one must be done.
 * @throws DomainError `unavailable` when its secrets cannot be read at the moment; what aborted it, when `signal` was
 */
export async function deliver(services: Services, id: number, signal: AbortSignal): Promise<void> {
  const { clock, orm } = services;
  const em = orm.em.fork();
  const crawler_id = await crawlerOf(em, id);
  if (crawler_id === null) return;
  const receiver = await receiverOf(services, em, crawler_id);
  const claimed = await claimDelivery(em, id, clock.now());
  if (!claimed) {
    const at = await claimableAt(em, id);
    const wait = at && Math.max(1, (at.getTime() - clock.now().getTime()) / 1000);
    if (wait !== null && wait <= soon)
      await orm.em.fork().transactional((own) => wakeDelivery(own, services, { id, crawler_id }, wait));
    return;
  }
  if (receiver) return attempt(services, { id, crawler_id }, claimed, receiver, signal);
  await settleDelivery(em, id, claimed.tries, { status: 'dropped', next_attempt_at: null });
  services.metrics.delivery('dropped');
}

/** How long a delivery may be due before it is looked for, milliseconds: its job was lost with a worker, or never put in. */
const lateness = 30_000;
const atOnce = 500;

/** Wakes workers for deliveries whose job was lost. */
export async function wakeDueDeliveries(services: Services): Promise<void> {
  const now = services.clock.now();
  const em = services.orm.em.fork();
  // Written after now: the clock was set back, and nothing says by how much, so these are due.
  await em.execute(
    `update notification set next_attempt_at = ?
     where status = 'pending' and next_attempt_at > ? and (leased_until is null or leased_until <= ?) and coalesce(
       (select max(at) from notification_attempt where notification_id = notification.id), created_at) > ?`,
    [new Date(now.getTime() - lateness - 1), now, now, new Date(now.getTime() + lateness)],
  );
  const rows = await em.execute<WaitingDelivery[]>(
    `select id, crawler_id from notification
     where status = 'pending' and next_attempt_at < ? and (leased_until is null or leased_until < ?)
     order by next_attempt_at limit ?`,
    [new Date(now.getTime() - lateness), now, atOnce],
  );
  for (const row of rows) await em.transactional((own) => wakeDelivery(own, services, row));
}
