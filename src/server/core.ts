import { mkdir } from 'node:fs/promises';
import type { MikroORM } from '@mikro-orm/postgresql';
import { migrate } from '../db/migrate.ts';
import { openKeyOrm, openOrm } from '../db/orm.ts';
import { askAnything, StallWatch } from '../db/stall-watch.ts';
import { checkKeys, countByKek } from '../domain/keys/data-keys.ts';
import type { AllServices } from '../domain/services.ts';
import { type ExecutionCounts, executionCounts } from '../domain/workflows/executions/execution-counts.ts';
import { WebhookEndpoint } from '../domain/workflows/webhook/webhook.ts';
import { systemClock } from '../engines/clock/clocks.ts';
import { KeyringMissing, openLocalKeyring } from '../engines/kms/local-keyring.ts';
import type { PrometheusMetrics } from '../engines/metrics/prometheus.ts';
import type { RunningQueue } from '../jobs/queue.ts';
import type { Settings } from '../kernel/services.ts';
import type { Clock } from '../ports/clock.ts';
import type { Kms } from '../ports/kms.ts';
import type { Log } from '../ports/log.ts';
import type { Config } from './config.ts';
import { endInOrder } from './end-in-order.ts';
import { makeServices } from './make-services.ts';
import { databaseStartError, StartError } from './start-error.ts';

/** The provider of key-encryption keys that the settings name. */
interface KeyProvider {
  kms: Kms;
  /** Makes another key the active one. @returns its id */
  rotate(): Promise<string>;
  close(): void;
}

const startsWithout = (config: Config): boolean => ['1', 'on'].includes(config.PORTICO_KMS_ALLOW_MISSING);
const orWithout = 'or set PORTICO_KMS_ALLOW_MISSING=1 to start without those secrets.';

const missingKeys = (location: string, ids: readonly string[]): StartError =>
  new StartError(`Stored secrets need keys that are not in ${location}: ${ids.join(', ')}. Restore them, ${orWithout}`);

async function openLocal(config: Config, orm: MikroORM, log: Log): Promise<KeyProvider> {
  // A new keyring in the place of a lost one could be mistaken for it when it is restored.
  const needed = [...(await countByKek(orm.em.fork())).keys()];
  const kms = await openLocalKeyring({
    dataDirectory: config.PORTICO_DATA_DIR,
    ...(config.PORTICO_KEYRING_FILE !== undefined && { file: config.PORTICO_KEYRING_FILE }),
    mayCreate: needed.length === 0 || startsWithout(config),
  }).catch((error: unknown) => {
    if (error instanceof KeyringMissing && needed.length > 0) throw missingKeys(error.path, needed);
    throw error;
  });
  if (kms.created)
    log.info({ keyring: kms.path }, 'made a keyring; keep a copy: a database backup without it cannot be read');
  return { kms, rotate: () => kms.rotate(), close() {} };
}

/** Keys of AWS KMS are made and chosen there: to rotate is to move to the key that the setting names by now. */
async function openAws({ PORTICO_KMS_KEY: key, PORTICO_KMS_URL: url }: Config): Promise<KeyProvider> {
  if (key === undefined) throw new StartError('PORTICO_KMS=aws needs PORTICO_KMS_KEY: an id, ARN or alias of a key');
  // A large client: loaded only where keys are kept in AWS KMS.
  const { openAwsKms } = await import('../engines/kms/aws-kms.ts');
  const kms = openAwsKms({ key, ...(url !== undefined && { url }) });
  const rotate = async () => {
    const active = (await kms.describe()).keys.find(({ state }) => state === 'active');
    if (active === undefined) throw new Error(`${key} is disabled`);
    return active.id;
  };
  return { kms, rotate, close: () => kms.close() };
}

/** A start without the keys of what is stored would lose it one refusal at a time. */
async function requireKeys({ kms }: KeyProvider, config: Config, orm: MikroORM): Promise<void> {
  const { missing, unreadable } = await checkKeys({ kms, em: orm.em });
  if (startsWithout(config)) return;
  const { location } = await kms.describe();
  const damaged = [...new Set(unreadable.map((row) => row.kek_id))].filter((id) => !missing.includes(id));
  if (missing.length > 0) throw missingKeys(location, missing);
  if (damaged.length > 0)
    throw new StartError(
      `Stored secrets do not open with ${damaged.join(', ')} of ${location}, which is damaged or belongs to another installation. Restore it from its backup, ${orWithout}`,
    );
}

/**
 * Opens the keys, and checks that those are there which the database names.
 * @throws StartError
 */
async function openKeys(config: Config, orm: MikroORM, log: Log): Promise<KeyProvider> {
  const provider = await (config.PORTICO_KMS === 'aws' ? openAws(config) : openLocal(config, orm, log));
  try {
    await requireKeys(provider, config, orm);
    return provider;
  } catch (error) {
    provider.close();
    if (error instanceof StartError || config.PORTICO_KMS === 'local') throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(`The keys cannot be read (${reason}); see PORTICO_KMS_KEY`, { cause: error });
  }
}

/** Gauges of the workflow engine's queue: the same in every process, read on each scrape. */
function addExecutionGauges(metrics: PrometheusMetrics, orm: MikroORM): void {
  let counting: Promise<ExecutionCounts> | null = null;
  // The gauges of one scrape share one query.
  const count = () => {
    counting ??= executionCounts(orm.em.fork()).finally(() => {
      counting = null;
    });
    return counting;
  };
  metrics.gauge('portico_workflow_open_executions', 'Executions that have not ended, by status', 'status', async () =>
    Object.entries((await count()).open),
  );
  metrics.gauge('portico_workflow_pending_seconds', 'How long the oldest pending execution waits', null, async () => [
    ['', (await count()).pendingSeconds],
  ]);
  metrics.gauge('portico_workflow_dead_letters', 'Failed executions that are not acknowledged', null, async () => [
    ['', (await count()).deadLetters],
  ]);
}

/** All parts of a process that do not listen: what the server and the command line share. */
export interface Core {
  services: AllServices;
  metrics: PrometheusMetrics;
  queue: RunningQueue;
  /** Where outside services call workflows. */
  webhook: WebhookEndpoint;
  kms: Kms;
  /** Adds a key-encryption key and makes it the active one. @returns its id. */
  rotateKey(): Promise<string>;
  /** Wakes the subscribers of a subject, by its name. */
  notify(subject: string): void;
  /** Ends what is watched live. */
  endStreams(): void;
  close(): Promise<void>;
}

interface CoreOptions {
  config: Config;
  databaseUrl: string;
  log: Log;
  /** Kept as the same object, because the public URL is known only once the port is taken. */
  settings: Pick<Settings, 'public_url' | 'public_host'>;
  clock?: Clock;
  /** Of the program: what it writes into backups and calls itself. */
  version?: string;
}

async function prepareDatabase(config: Config, orm: MikroORM, log: Log): Promise<KeyProvider> {
  try {
    await migrate(orm);
  } catch (thrown) {
    throw databaseStartError(thrown);
  }
  return openKeys(config, orm, log);
}

/** Builds every engine on a database that is there, and migrates it. */
export async function openCore({
  config,
  databaseUrl,
  log,
  settings,
  clock = systemClock,
  version = 'unknown',
}: CoreOptions): Promise<Core> {
  await mkdir(config.PORTICO_DATA_DIR, { recursive: true, mode: 0o700 });
  const watch = new StallWatch({ log, ask: () => askAnything(databaseUrl) });
  const orm = openOrm(databaseUrl, config.PORTICO_DATABASE_POOL, { watch });
  const keys = await prepareDatabase(config, orm, log).catch(async (error: unknown) => {
    await orm.close();
    watch.close();
    throw error;
  });
  const { kms } = keys;
  const keyOrm = openKeyOrm(databaseUrl, watch);
  const { services, metrics, queue, locks, events, git, http, secrets } = makeServices({
    config,
    databaseUrl,
    log,
    settings,
    clock,
    version,
    orm,
    keyOrm,
    kms,
    watch,
  });
  const webhook = new WebhookEndpoint(services);
  addExecutionGauges(metrics, orm);
  return {
    services,
    metrics,
    queue,
    webhook,
    kms,
    rotateKey: keys.rotate,
    notify: (subject) => events.notify(subject),
    endStreams: () => events.close(),
    async close() {
      const { annotator, browser, crawlers, deployer, expressions, pages, studio } = services;
      events.close();
      await endInOrder(log, [
        ['webhook', () => webhook.close()],
        ['assistant', () => services.assistant.replies.close()],
        ['deployments', () => studio.building.close()],
        ['builds', () => deployer.close()],
        ['crawls', () => crawlers.crawling.close()],
        ['browser', () => browser.close()],
        ['page reader', () => pages.close()],
        ['pull requests', () => studio.retests.close()],
        ['content', () => studio.content.close()],
        ['upstreams', () => studio.upstreams.close()],
        ['moved branches', () => studio.moves.settled()],
        ['repositories', () => git.close()],
        ['page annotator', () => annotator.close()],
        ['expressions', () => expressions.close()],
        ['http client', () => http.close()],
        ['models', () => services.models.close()],
        ['secrets', () => secrets.close()],
        ['keys', () => keys.close()],
        ['locks', () => locks.close()],
        ['key rows', () => keyOrm.close()],
        ['database', () => orm.close()],
      ]);
      watch.close();
      metrics.stop();
    },
  };
}
