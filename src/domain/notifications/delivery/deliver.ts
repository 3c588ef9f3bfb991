import type { EntityManager } from '@mikro-orm/postgresql';
import { Crawler } from '../../crawlers/config/crawler.entity.ts';
import { openCrawlerSecrets } from '../../crawlers/config/crawler-secrets.ts';
import type { Services } from '../../services.ts';
import { type WaitingDelivery, wakeDelivery } from '../notify.ts';
import { openWebhookSecret } from '../webhook-secret.ts';
import {
  type Claimed,
  claimableAt,
  claimDelivery,
  crawlerOf,
  recordAttempt,
  settleDelivery,
  type Verdict,
} from './claim.ts';
import { nextPause, retryAfter } from './retry-schedule.ts';
import { type SendResult, send } from './send.ts';
import { signedHeaders } from './sign.ts';

/** The receiver says that it is gone for good (RFC 9110 15.5.11). */
const gone = 410;

interface Receiver {
  url: string;
  secret: string;
  authorization: string | undefined;
}

/** Where and how a crawler wants to be told now; null when nobody is to be told any more. */
async function receiverOf(services: Services, em: EntityManager, crawler_id: number): Promise<Receiver | null> {
  const crawler = await em.findOne(Crawler, { id: crawler_id }, { disableIdentityMap: true });
  const url = crawler?.settings.webhook_url;
  const [owner] = await em.execute<{ organization_id: number }[]>(
    'select organization_id from project join crawler on project.id = project_id where crawler.id = ?',
    [crawler_id],
  );
  if (!crawler || !owner || !url) return null;
  const secret = await openWebhookSecret(services, owner, crawler);
  if (secret === null) return null;
  const { webhook_auth_header } = await openCrawlerSecrets(services, owner, crawler);
  return { url, secret, authorization: webhook_auth_header };
}

function verdictOf({ status, error, retryAfter: asked }: SendResult, tries: number, now: Date): Verdict {
  if (error === null) return { status: 'delivered', next_attempt_at: null };
  const pause = status === gone ? null : nextPause(tries, retryAfter(asked, now), Math.random());
  if (pause === null) return { status: 'failed', next_attempt_at: null };
  return { status: 'pending', next_attempt_at: new Date(now.getTime() + pause) };
}

/** Makes the attempt, and writes down what came of it with the job of the next one. */
async function attempt(
  services: Services,
  { id, crawler_id }: WaitingDelivery,
  { event_id, payload, tries }: Claimed,
  { url, secret, authorization }: Receiver,
  signal: AbortSignal,
): Promise<void> {
  const { clock, metrics, orm, settings } = services;
  const at = clock.now();
  const began = performance.now();
  const headers = {
    ...signedHeaders({ secret, id: event_id, version: settings.version }, payload, at),
    ...(authorization !== undefined && { Authorization: authorization }),
  };
  const result = await send(services, url, { headers, body: payload, signal });
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
