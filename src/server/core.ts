import { mkdir } from 'node:fs/promises';
import type { MikroORM } from '@mikro-orm/postgresql';
import { migrate, openKeyOrm, openOrm } from '../db/orm.ts';
import { askAnything, StallWatch } from '../db/stall-watch.ts';
import type { Services, Settings } from '../domain/services.ts';
import { type ExecutionCounts, executionCounts } from '../domain/workflows/executions/execution-counts.ts';
import { WebhookDoor } from '../domain/workflows/webhook/webhook.ts';
import { systemClock } from '../engines/clock/system-clock.ts';
import type { PrometheusMetrics } from '../engines/metrics/prometheus.ts';
import type { RunningQueue } from '../jobs/queue.ts';
import type { Clock } from '../ports/clock.ts';
import type { Kms } from '../ports/kms.ts';
import type { Log } from '../ports/log.ts';
import type { Config } from './config.ts';
import { makeServices } from './make-services.ts';
import { type KeyProvider, openKeys } from './open-keys.ts';
import { databaseStartError } from './start-error.ts';

/** A part that is waited for longer than this is named, milliseconds. */
const patience = 5_000;

/** Ends parts of a process one after another. One that takes long is named in the log: nobody could tell otherwise what a stop waits for. */
export async function endInOrder(
  log: Pick<Log, 'warn'>,
  parts: readonly (readonly [name: string, end: () => Promise<void> | void])[],
): Promise<void> {
  for (const [part, end] of parts) {
    const late = setTimeout(() => log.warn({ part }, 'the stop waits for a part that has not ended'), patience);
    try {
      await end();
    } finally {
      clearTimeout(late);
    }
  }
}

/** Has the metrics say what there is to do for the engine: the same in every process, read when they are asked for. */
function addExecutionGauges(metrics: PrometheusMetrics, orm: MikroORM): void {
  let asked: Promise<ExecutionCounts> | null = null;
  // All of them are asked at once, and share one look.
  const count = () => {
    asked ??= executionCounts(orm.em.fork()).finally(() => {
      asked = null;
    });
    return asked;
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
  services: Services;
  metrics: PrometheusMetrics;
  queue: RunningQueue;
  /** Where outside services call workflows. */
  door: WebhookDoor;
  kms: Kms;
  /** Adds a key-encryption key and makes it the active one. @returns its id. */
  rotateKey(): Promise<string>;
  /** Wakes those who watch a subject, by its name. */
  hear(subject: string): void;
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
  const { services, metrics, queue, events, git, http, secrets } = makeServices({
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
  const door = new WebhookDoor(services);
  addExecutionGauges(metrics, orm);
  return {
    services,
    metrics,
    queue,
    door,
    kms,
    rotateKey: keys.rotate,
    hear: (subject) => events.hear(subject),
    endStreams: () => events.close(),
    async close() {
      const { building, deployer, crawling, browser, pages, retests, content, upstreams, moves, expressions } =
        services;
      events.close();
      await endInOrder(log, [
        ['door', () => door.close()],
        ['deployments', () => building.close()],
        ['builds', () => deployer.close()],
        ['crawls', () => crawling.close()],
        ['browser', () => browser.close()],
        ['page reader', () => pages.close()],
        ['pull requests', () => retests.close()],
        ['content', () => content.close()],
        ['upstreams', () => upstreams.close()],
        ['moved branches', () => moves.settled()],
        ['repositories', () => git.close()],
        ['expressions', () => expressions.close()],
        ['http client', () => http.close()],
        ['secrets', () => secrets.close()],
        ['keys', () => keys.close()],
        ['key rows', () => keyOrm.close()],
        ['database', () => orm.close()],
      ]);
      watch.close();
      metrics.stop();
    },
  };
}
