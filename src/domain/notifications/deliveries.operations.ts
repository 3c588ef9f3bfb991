import { z } from 'zod';
import { crawlerName } from '../crawlers/config/crawler.schema.ts';
import { findCrawler } from '../crawlers/config/find-crawler.ts';
import { fieldError } from '../errors.ts';
import { projectOperation } from '../operation.ts';
import { findPage, pageOf } from '../paging.ts';
import { deliveriesWanted, deliveryName, notificationDelivery } from './deliveries.schema.ts';
import { deliveryRecord, deliveryRecords, findDelivery } from './delivery-record.ts';
import { NotificationRow } from './notification.entity.ts';
import { notify, wakeDelivery } from './notify.ts';

export const listDeliveries = projectOperation({
  name: 'crawlers.listDeliveries',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List the notifications of a crawler with the state of their delivery, the newest first',
  input: deliveriesWanted,
  output: pageOf(notificationDelivery),
  async execute(context, { crawler: name, status, ...paging }) {
    const { em } = context;
    const crawler = await findCrawler(context, name);
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

export const getDelivery = projectOperation({
  name: 'crawlers.getDelivery',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get one notification with every attempt to deliver it',
  input: z.object(deliveryName),
  output: notificationDelivery,
  async execute(context, { crawler: name, delivery }) {
    const { em } = context;
    return deliveryRecord(em, await findDelivery(em, await findCrawler(context, name), delivery));
  },
});

export const resendDelivery = projectOperation({
  name: 'crawlers.resendDelivery',
  kind: 'command',
  permission: 'edit_crawlers',
  summary: 'Send a notification again, at once and then on the usual retry schedule',
  input: z.object(deliveryName),
  output: notificationDelivery,
  audit: ({ delivery }) => ({ type: 'notification', id: String(delivery) }),
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

export const testWebhook = projectOperation({
  name: 'crawlers.testWebhook',
  kind: 'command',
  permission: 'edit_crawlers',
  summary: 'Send a notification of type crawler.test',
  input: z.object(crawlerName),
  output: notificationDelivery,
  audit: (_input, output) => ({ type: 'notification', id: output ? String(output.id) : null }),
  async execute(context, { crawler: name }) {
    const { em, services } = context;
    const crawler = await findCrawler(context, name);
    const id = await notify(em, services, crawler, 'crawler.test');
    if (id === null) throw fieldError('validation_failed', 'webhook_url', 'is not set');
    return deliveryRecord(em, await findDelivery(em, crawler, id));
  },
});
