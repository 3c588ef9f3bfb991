import { z } from 'zod';
import { crawlerName } from '../crawlers/config/crawler.schema.ts';
import { findCrawler } from '../crawlers/config/find-crawler.ts';
import { DomainError } from '../errors.ts';
import { projectOperation } from '../operation.ts';
import { webhookSecret } from './deliveries.schema.ts';
import { openWebhookSecret, renewWebhookSecret } from './webhook-secret.ts';

const none = () => new DomainError('not_found', 'This crawler has no notification secret yet: set webhook_url first');

export const revealWebhookSecret = projectOperation({
  name: 'crawlers.revealWebhookSecret',
  kind: 'command',
  permission: 'manage_crawlers',
  fresh: true,
  summary: 'Show the secret that signs the notifications of a crawler',
  input: z.object(crawlerName),
  output: webhookSecret,
  audit: ({ crawler }) => ({ type: 'crawler', id: crawler }),
  async execute(context, { crawler: name }) {
    const { services, project } = context;
    const secret = await openWebhookSecret(services, project, await findCrawler(context, name));
    if (secret === null) throw none();
    return { secret };
  },
});

export const rotateWebhookSecret = projectOperation({
  name: 'crawlers.rotateWebhookSecret',
  kind: 'command',
  permission: 'manage_crawlers',
  fresh: true,
  summary: 'Rotate the notification secret of a crawler; the previous one stops working at once',
  input: z.object(crawlerName),
  output: webhookSecret,
  audit: ({ crawler }) => ({ type: 'crawler', id: crawler }),
  async execute(context, { crawler: name }) {
    const { em, services, project } = context;
    const crawler = await findCrawler(context, name, { lock: true });
    if (!crawler.webhook_secret) throw none();
    const secret = await renewWebhookSecret(services, project, crawler);
    await em.flush();
    return { secret };
  },
});
