import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { machineName, oneLine, permissionName, timestamp } from '../../kernel/shapes.ts';
import { Crawler, usualSettings } from '../crawlers/config/crawler.entity.ts';
import type { StoredSettings } from '../crawlers/config/crawler.schema.ts';
import { crawlerSettings } from '../crawlers/config/crawler.schema.ts';
import { CrawlerSchedule } from '../crawlers/schedules/crawler-schedule.entity.ts';
import { ensureWebhookSecret } from '../notifications/webhook-secret.ts';
import { nextFireOf } from '../schedules/next-fires.ts';
import { cronString, timeZone } from '../schedules/schedules.schema.ts';
import { importState, repositoryChange } from '../studio/repository/repository.schema.ts';
import { newTriggerSecret, sealSecret } from '../workflows/triggers/sealed-secret.ts';
import { authModes, WorkflowTrigger, webhookMethods } from '../workflows/triggers/trigger.entity.ts';
import { Workflow, WorkflowVersion } from '../workflows/workflow.entity.ts';
import { type BackedUpTable, backedUp, live } from './backed-up-table.ts';
import {
  draftTable,
  environmentTable,
  pullTable,
  upstreamBranchTable,
  upstreamTable,
  viewTable,
} from './studio-tables.ts';

const number = z.int32().min(1);

const ofLiveWorkflows: NonNullable<BackedUpTable['ofProject']> = async (em, project_id) => {
  const workflows = await em.find(Workflow, live(project_id), { fields: ['id'], disableIdentityMap: true });
  return { workflow_id: { $in: workflows.map(({ id }) => id) } };
};

/** Workflows with all their versions; what they have done stays on the server that did it. */
const workflowTable = backedUp({
  entity: Workflow,
  key: ['id'],
  isNamed: 'uuid',
  ofProject: async (_em, project_id) => live(project_id),
  columns: {
    name: oneLine(200),
    version: number,
    latest_version: number,
  },
  left: {
    project_id: 'that of the project it is restored into',
    deleted_at: 'only workflows that are there are backed up',
  },
});

const workflowVersionTable = backedUp({
  entity: WorkflowVersion,
  key: ['workflow_id', 'number'],
  below: { column: 'workflow_id', table: 'workflow' },
  ofProject: ofLiveWorkflows,
  columns: {
    number,
    // As it was read when it was saved: an old version may name what there is no more, and is never run again.
    definition: z.record(z.string(), z.json()),
    permissions: z.array(permissionName),
  },
  left: {},
});

/** Triggers; a webhook gets another address and another secret, and a clock is due next as seen from when it is restored. */
const workflowTriggerTable = backedUp({
  entity: WorkflowTrigger,
  key: ['id'],
  below: { column: 'workflow_id', table: 'workflow' },
  ofProject: async (em, project_id) => ({ ...(await ofLiveWorkflows(em, project_id)), deleted_at: null }),
  columns: {
    type: z.enum(['webhook', 'cron']),
    auth_mode: z.enum(authModes).nullable(),
    methods: z.array(z.enum(webhookMethods)).nullable(),
    rate_limit: number.nullable(),
    schedule_cron_string: cronString.nullable(),
    timezone: timeZone.nullable(),
  },
  left: {
    id: 'given anew',
    secret: 'a secret; another one is made',
    secret_version: 'counts the secrets',
    previous_secret: 'a secret',
    previous_secret_version: 'counts the secrets',
    previous_secret_expires_at: 'goes with the secret',
    previous_secret_last_used_at: 'goes with the secret',
    next_fire_at: 'is reckoned anew',
    deleted_at: 'only triggers that are there are backed up',
  },
  async anew({ services, project }, row) {
    const trigger = row as Pick<WorkflowTrigger, 'type' | 'enabled' | 'schedule_cron_string' | 'timezone'>;
    const id = randomUUID();
    const isWebhook = trigger.type === 'webhook';
    return {
      id,
      secret: isWebhook ? await sealSecret(services, project.organization_id, id, 1, newTriggerSecret()) : null,
      secret_version: isWebhook ? 1 : 0,
      next_fire_at: nextFireOf(trigger, services.clock.now()),
    };
  },
});

const storedSettings = crawlerSettings.omit({ name: true, domain: true }).shape;

/** Loose: a setting that came later is kept as it is. One that came after the backup is as by default. */
const backedUpSettings = z.looseObject({
  ...storedSettings,
  ...Object.fromEntries(
    Object.entries(usualSettings()).map(([name, value]) => [
      name,
      (storedSettings[name as keyof typeof storedSettings] as z.ZodType).default(value),
    ]),
  ),
  start_urls_unset: z.boolean().optional(),
});

/** Crawlers without their credentials; what they have captured is captured again. */
const crawlerTable = backedUp({
  entity: Crawler,
  key: ['id'],
  isNamed: 'serial',
  ofProject: async (_em, project_id) => live(project_id),
  columns: {
    id: number,
    settings: backedUpSettings,
  },
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
});

/** Schedules of crawlers; they are due next as seen from when they are restored. */
const crawlerScheduleTable = backedUp({
  entity: CrawlerSchedule,
  key: ['id'],
  below: { column: 'crawler_id', table: 'crawler' },
  async ofProject(em, project_id) {
    const crawlers = await em.find(Crawler, live(project_id), { fields: ['id'], disableIdentityMap: true });
    return { crawler_id: { $in: crawlers.map(({ id }) => id) } };
  },
  columns: {
    crawler_id: number,
    schedule_cron_string: cronString,
    timezone: timeZone,
  },
  left: { id: 'given anew', next_fire_at: 'is reckoned anew', last_run_id: 'runs are not backed up' },
  async anew({ services }, row) {
    const timing = row as { schedule_cron_string: string; timezone: string; enabled: boolean };
    return {
      last_run_id: null,
      next_fire_at: nextFireOf(timing, services.clock.now()),
    };
  },
});

/** The project's own row. */
export const projectRow = {
  name: 'project',
  row: z.object({
    name: oneLine(200),
    machine_name: machineName,
    region: z.string().nullable(),
    import: importState.nullable(),
    // Loose: a setting that came later is kept as it is.
    settings: repositoryChange.omit({ default_branch: true, draft_preview: true }).loose().nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  }),
  left: {
    id: 'given anew',
    uuid: 'names the repository, which is another one',
    organization_id: 'where it is restored decides',
    deleted_at: 'only a project that is there is backed up',
  },
} satisfies Omit<BackedUpTable, 'entity'>;

/**
 * THE list of what a project is, beside its own row and its repository: each table whose rows a backup holds, in the order they can be
 * written. A table that belongs to projects and stands neither here nor in `notBackedUp` fails a test.
 */
export const projectTables: readonly BackedUpTable[] = [
  pullTable,
  draftTable,
  viewTable,
  upstreamTable,
  upstreamBranchTable,
  environmentTable,
  crawlerTable,
  crawlerScheduleTable,
  workflowTable,
  workflowVersionTable,
  workflowTriggerTable,
];

/** Tables that belong to projects and are no part of a backup, each with why. */
export const notBackedUp: Record<string, string> = {
  assistant_call: 'belongs to a person, who is not of the project',
  assistant_conversation: 'belongs to a person, who is not of the project',
  assistant_message: 'belongs to a person, who is not of the project',
  audit: 'says what happened on this server, and stays there',
  crawl_host: 'is found out by the next crawl',
  crawl_link: 'is made again by crawling',
  crawl_url: 'is made again by crawling',
  crawler_run: 'is made again by crawling',
  delivery: 'says what happened on this server, and stays there',
  delivery_key: 'says what happened on this server, and stays there',
  deployment: 'is made again from its commit',
  deployment_job: 'is made again with its deployment',
  deployment_log: 'is made again with its deployment',
  effect: 'goes with its execution',
  event: 'belongs to subscribers of this server',
  event_subject: 'belongs to subscribers of this server',
  execution: 'says what happened on this server, and stays there',
  mergeability: 'is found out again',
  notification: 'goes with its crawler',
  notification_attempt: 'goes with its crawler',
  replaced_output: 'matters for ten minutes after a publish',
  slot: 'says what happened on this server, and stays there',
  snapshot: 'is made again by crawling',
  snapshot_entry: 'is made again by crawling',
  snapshot_import: 'goes with its snapshot',
  step_run: 'goes with its execution',
  studio_blob: 'is read from the repository again',
  studio_last_commit: 'is read from the repository again',
  studio_marker: 'is read from the repository again',
  studio_schema: 'is read from the repository again',
  workflow_refusal: 'says what happened on this server, and stays there',
  workflow_secret: 'a secret',
};
