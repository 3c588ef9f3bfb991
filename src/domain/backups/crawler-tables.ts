import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { timestamp } from '../../kernel/shapes.ts';
import { Crawler, type StoredSettings } from '../crawlers/config/crawler.entity.ts';
import { crawlerSettings } from '../crawlers/config/crawler.schema.ts';
import { CrawlerSchedule } from '../crawlers/schedules/crawler-schedule.entity.ts';
import { ensureWebhookSecret } from '../notifications/webhook-secret.ts';
import { nextFireOf } from '../schedules/next-fire.ts';
import { cronString, timeZone } from '../schedules/schedules.schema.ts';
import { type BackedUpTable, live } from './backed-up-table.ts';

const number = z.int32().min(1);

/** Crawlers without their credentials; what they have captured is captured again. */
export const crawlerTable = {
  name: 'crawler',
  entity: Crawler,
  key: ['id'],
  isNamed: 'serial',
  ofProject: async (_em, project_id) => live(project_id),
  row: z.object({
    id: number,
    name: z.string(),
    domain: z.string(),
    host: z.string(),
    // Loose: a setting that came later is kept as it is.
    settings: crawlerSettings
      .omit({ name: true, domain: true })
      .extend({ start_urls_unset: z.boolean().optional() })
      .loose(),
    created_at: timestamp,
    updated_at: timestamp,
  }),
  left: {
    uuid: 'given anew: its addresses are of this server',
    project_id: 'that of the project it is restored into',
    secrets: 'a secret',
    webhook_secret: 'a secret; another one is made',
    version: 'counts the secrets',
    verification_checks: 'counts requests to this server',
    published_snapshot_id: 'snapshots are made again by crawling',
    deleted_at: 'only crawlers that are there are backed up',
  },
  async anew({ services, project }, { settings }) {
    const crawler = { uuid: randomUUID(), settings: settings as StoredSettings, webhook_secret: null as string | null };
    await ensureWebhookSecret(services, project, crawler);
    const { uuid, webhook_secret } = crawler;
    return { uuid, webhook_secret, secrets: null, version: 1, published_snapshot_id: null, deleted_at: null };
  },
} satisfies BackedUpTable;

/** Schedules of crawlers; they are due next as seen from when they are restored. */
export const crawlerScheduleTable = {
  name: 'crawler_schedule',
  entity: CrawlerSchedule,
  key: ['id'],
  below: { column: 'crawler_id', table: 'crawler' },
  async ofProject(em, project_id) {
    const crawlers = await em.find(Crawler, live(project_id), { fields: ['id'], disableIdentityMap: true });
    return { crawler_id: { $in: crawlers.map(({ id }) => id) } };
  },
  row: z.object({
    crawler_id: number,
    name: z.string(),
    schedule_cron_string: cronString,
    timezone: timeZone,
    enabled: z.boolean(),
    created_at: timestamp,
    updated_at: timestamp,
  }),
  left: { id: 'given anew', next_fire_at: 'is reckoned anew', last_run_id: 'runs are not backed up' },
  async anew({ services }, row) {
    const timing = row as { schedule_cron_string: string; timezone: string; enabled: boolean };
    return {
      last_run_id: null,
      next_fire_at: nextFireOf(timing, services.clock.now()),
    };
  },
} satisfies BackedUpTable;
