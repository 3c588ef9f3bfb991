import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError, fieldError } from '../../kernel/errors.ts';
import { findPage, pageInput, pageOf } from '../../kernel/paging.ts';
import { timestamp } from '../../kernel/shapes.ts';
import type { Crawler } from '../crawlers/config/crawler.entity.ts';
import { crawlerName } from '../crawlers/config/crawler.schema.ts';
import { findCrawler, locateCrawler, namedCrawler } from '../crawlers/config/find-crawler.ts';
import { crawlerOperation } from '../crawlers/crawlers.ts';
import { type EventType, eventTypes } from './event-payload.ts';
import { deliveryStatuses, NotificationAttempt, NotificationRow } from './notification.entity.ts';
import { notify, wakeDelivery } from './notify.ts';
import { openWebhookSecret, renewWebhookSecret } from './webhook-secret.ts';

const deliveryName = { ...crawlerName, delivery: z.int32().describe('Delivery ID') };

const status = z.enum(deliveryStatuses).meta({ id: 'NotificationDeliveryStatus' });

const deliveriesWanted = z.object({ ...pageInput, ...crawlerName, status: status.optional() });

const attempt = z
  .object({
    at: timestamp,
    duration_ms: z.int32(),
    status: z.int32().nullable().describe('What was answered; null: nothing'),
    error: z.string().nullable().describe('Name of what went wrong'),
    answer: z.string().nullable().describe('The first KiB of the answer'),
  })
  .meta({ id: 'NotificationAttempt' });

const notificationDelivery = z
  .object({
    id: z.int32(),
    event_id: z.string().describe('`webhook-id`, the same in every attempt'),
    type: z.enum(eventTypes),
    status,
    attempts: z.array(attempt).describe('Oldest first'),
    next_attempt_at: timestamp.nullable(),
    payload: z.record(z.string(), z.unknown()).describe('What is sent'),
    created_at: timestamp,
  })
  .meta({ id: 'NotificationDelivery' });

const webhookSecret = z
  .object({ secret: z.string().describe('`whsec_` and the key in base64 (Standard Webhooks)') })
  .meta({ id: 'WebhookSecret' });

type Record = z.output<typeof notificationDelivery>;

/**
 * A notification of a crawler; `lock` holds its row until the transaction ends.
 * @throws DomainError `not_found` for one that is unknown or of another crawler
 */
async function findDelivery(
  em: EntityManager,
  crawler: Pick<Crawler, 'id'>,
  id: number,
  { lock = false }: { lock?: boolean } = {},
): Promise<NotificationRow> {
  const where = { id, crawler_id: crawler.id };
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const row = await em.findOne(NotificationRow, where, { refresh: true, ...(lock && { lockMode }) });
  if (!row) throw new DomainError('not_found', 'Delivery not found');
  return row;
}

/** Deliveries as callers see them, in the order given. */
async function deliveryRecords(em: EntityManager, rows: readonly NotificationRow[]): Promise<Record[]> {
  const where = { notification_id: { $in: rows.map(({ id }) => id) } };
  const all = rows.length > 0 ? await em.find(NotificationAttempt, where, { orderBy: { id: 'asc' } }) : [];
  return rows.map(({ id, event_id, type, status, next_attempt_at, payload, created_at }) => ({
    id,
    event_id,
    type: type as EventType,
    status,
    attempts: all
      .filter(({ notification_id }) => notification_id === id)
      .map((one) => ({
        at: one.at,
        duration_ms: one.duration_ms,
        status: one.status ?? null,
        error: one.error ?? null,
        answer: one.answer ?? null,
      })),
    next_attempt_at: next_attempt_at ?? null,
    payload: JSON.parse(payload),
    created_at,
  }));
}

async function deliveryRecord(em: EntityManager, row: NotificationRow): Promise<Record> {
  const [record] = await deliveryRecords(em, [row]);
  return record as Record;
}

export const listDeliveries = crawlerOperation({
  name: 'crawlers.listDeliveries',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List the notifications of a crawler with the state of their delivery, the newest first',
  input: deliveriesWanted,
  output: pageOf(notificationDelivery),
  find: namedCrawler,
  async execute(context, { crawler: name, status, ...paging }) {
    const { em } = context;
    const crawler = await locateCrawler(context, name);
    const { rows, asPage } = await findPage(
      em,
      paging,
      NotificationRow,
      { crawler_id: crawler.id, ...(status !== undefined && { status }) },
      { orderBy: { id: 'desc' } },
    );
    return asPage(await deliveryRecords(em, rows));
  },
});

export const getDelivery = crawlerOperation({
  name: 'crawlers.getDelivery',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get one notification with every attempt to deliver it',
  input: z.object(deliveryName),
  output: notificationDelivery,
  find: namedCrawler,
  async execute(context, { crawler: name, delivery }) {
    const { em } = context;
    return deliveryRecord(em, await findDelivery(em, await locateCrawler(context, name), delivery));
  },
});

export const resendDelivery = crawlerOperation({
  name: 'crawlers.resendDelivery',
  kind: 'command',
  permission: 'edit_crawlers',
  summary: 'Send a notification again, at once and then on the usual retry schedule',
  input: z.object(deliveryName),
  output: notificationDelivery,
  audit: ({ delivery }) => ({ type: 'notification', id: String(delivery) }),
  find: namedCrawler,
  async execute(context, { crawler: name, delivery }) {
    const { em, services } = context;
    const row = await findDelivery(em, await findCrawler(context, name), delivery, { lock: true });
    // An attempt under way keeps its lease; what comes of it does not settle this round.
    em.assign(row, { status: 'pending', tries: 0, next_attempt_at: services.clock.now() });
    await em.flush();
    await wakeDelivery(em, services, row);
    return deliveryRecord(em, row);
  },
});

export const testWebhook = crawlerOperation({
  name: 'crawlers.testWebhook',
  kind: 'command',
  permission: 'edit_crawlers',
  summary: 'Send a notification of type crawler.test',
  input: z.object(crawlerName),
  output: notificationDelivery,
  audit: (_input, output) => ({ type: 'notification', id: output ? String(output.id) : null }),
  find: namedCrawler,
  async execute(context, { crawler: name }) {
    const { em, services } = context;
    const crawler = await findCrawler(context, name);
    const id = await notify(em, services, crawler, 'crawler.test');
    if (id === null) throw fieldError('validation_failed', 'webhook_url', 'is not set');
    return deliveryRecord(em, await findDelivery(em, crawler, id));
  },
});

const none = () => new DomainError('not_found', 'This crawler has no notification secret yet: set webhook_url first');

export const revealWebhookSecret = crawlerOperation({
  name: 'crawlers.revealWebhookSecret',
  kind: 'command',
  permission: 'manage_crawlers',
  freshGrant: true,
  recentProof: true,
  summary: 'Show the secret that signs the notifications of a crawler',
  input: z.object(crawlerName),
  output: webhookSecret,
  audit: ({ crawler }) => ({ type: 'crawler', id: crawler }),
  find: namedCrawler,
  async execute(context, { crawler: name }) {
    const { services, project } = context;
    const secret = await openWebhookSecret(services, project, await findCrawler(context, name));
    if (secret === null) throw none();
    return { secret };
  },
});

export const rotateWebhookSecret = crawlerOperation({
  name: 'crawlers.rotateWebhookSecret',
  kind: 'command',
  permission: 'manage_crawlers',
  freshGrant: true,
  recentProof: true,
  summary: 'Rotate the notification secret of a crawler; the previous one stops working at once',
  input: z.object(crawlerName),
  output: webhookSecret,
  audit: ({ crawler }) => ({ type: 'crawler', id: crawler }),
  find: namedCrawler,
  async execute(context, { crawler: name }) {
    const { em, services, project } = context;
    const crawler = await findCrawler(context, name, { lock: true });
    if (!crawler.webhook_secret) throw none();
    const secret = await renewWebhookSecret(services, project, crawler);
    await em.flush();
    return { secret };
  },
});
