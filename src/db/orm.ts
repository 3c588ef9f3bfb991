import { Migrator } from '@mikro-orm/migrations';
import { type EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import type { Pool, PoolClient } from 'pg';
import { AuditRow } from '../domain/audit/audit.entity.ts';
import { Crawler } from '../domain/crawlers/config/crawler.entity.ts';
import { CrawlUrl } from '../domain/crawlers/frontier/crawl-url.entity.ts';
import { CrawlerRun } from '../domain/crawlers/runs/crawler-run.entity.ts';
import { CrawlerSchedule } from '../domain/crawlers/schedules/crawler-schedule.entity.ts';
import { CrawlSnapshot, SnapshotImport } from '../domain/crawlers/snapshots/snapshot.entity.ts';
import { DomainVerification } from '../domain/crawlers/verification/domain-verification.entity.ts';
import { Token } from '../domain/identity/token.entity.ts';
import { DataKey } from '../domain/keys/data-key.entity.ts';
import { NotificationAttempt, NotificationRow } from '../domain/notifications/notification.entity.ts';
import { Organization } from '../domain/organizations/organization.entity.ts';
import { Project } from '../domain/projects/project.entity.ts';
import { ScheduleFire } from '../domain/schedules/schedule-fire.entity.ts';
import { Setting } from '../domain/setting.entity.ts';
import { Deployment, DeploymentJob, DeploymentLog } from '../domain/studio/deployments/deployment.entity.ts';
import { Environment } from '../domain/studio/environments/environment.entity.ts';
import { Pull } from '../domain/studio/pulls/pull.entity.ts';
import { Upstream, UpstreamBranch } from '../domain/studio/upstream/upstream.entity.ts';
import { Delivery } from '../domain/workflows/deliveries/delivery.entity.ts';
import { Execution } from '../domain/workflows/executions/execution.entity.ts';
import { StepRun } from '../domain/workflows/executions/step-run.entity.ts';
import { WorkflowRefusal, WorkflowTrigger } from '../domain/workflows/triggers/trigger.entity.ts';
import { Workflow, WorkflowSecret, WorkflowVersion } from '../domain/workflows/workflow.entity.ts';
import { IdempotencyKey } from '../kernel/idempotency.ts';
import { migrations } from './migrations/index.ts';
import type { StallWatch } from './stall-watch.ts';

/**
 * A text as a literal of SQL, as libpq's `PQescapeLiteral` writes it. The mapper's own goes character by character, which took longer than
 * the statements themselves where a batch of rows is one text of JSON.
 */
export function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}

/**
 * Makes a pool forget a connection that was lost while a transaction had it. The query builder below the mapper never hands back the connection
 * of a transaction whose `begin`, `commit` or `rollback` fails: every restart of the database would leave the pool smaller, and its end would
 * wait for connections that are never returned.
 */
function forgetLostConnections(pool: Pool): void {
  const taken = new WeakSet<PoolClient>();
  pool.on('acquire', (client) => taken.add(client));
  pool.on('release', (_error, client) => taken.delete(client));
  pool.on('connect', (client) =>
    client.once('end', () => {
      if (!taken.has(client)) return;
      client.release(true);
      // Who has it may still hand it back, and a pool takes nothing back twice.
      client.release = () => {};
    }),
  );
}

type Callback = Parameters<Pool['connect']>[0];

/**
 * Makes a pool take back a connection that was opened only when the pool was being closed. The query builder has let go of its pool by then, fails
 * with the connection in its hand, and the end of the pool would wait for it for ever.
 */
function takeBackLateConnections(pool: Pool): void {
  const connect = pool.connect.bind(pool);
  const inTime = async (): Promise<PoolClient> => {
    const client = await connect();
    if (!pool.ending) return client;
    client.release();
    throw new Error('the connections to the database are being closed');
  };
  // With a callback the pool itself asks, for its own `query`.
  pool.connect = ((callback?: Callback) => (callback ? connect(callback) : inTime())) as Pool['connect'];
}

/** Everything that has rows. */
const everything = [
  Organization,
  Project,
  Token,
  AuditRow,
  DataKey,
  IdempotencyKey,
  Setting,
  Pull,
  Upstream,
  UpstreamBranch,
  Environment,
  Deployment,
  DeploymentJob,
  DeploymentLog,
  CrawlerRun,
  CrawlUrl,
  Crawler,
  DomainVerification,
  CrawlSnapshot,
  SnapshotImport,
  CrawlerSchedule,
  ScheduleFire,
  NotificationRow,
  NotificationAttempt,
  Workflow,
  WorkflowVersion,
  WorkflowSecret,
  WorkflowTrigger,
  WorkflowRefusal,
  Delivery,
  Execution,
  StepRun,
];

interface OrmOptions {
  /** Everything that has rows, when nothing else is said. */
  entities?: EntitySchema[];
  /** Under one name, a mapper takes part in the transactions of another. */
  contextName?: string;
  /** Gives up what waits for a database that hangs; without it that waits as long. */
  watch?: StallWatch;
}

/** How long a query waits for a connection, be it a free one or a new one, before the database counts as away. */
const connectionTimeoutMillis = 10_000;

/** Opens the object mapper on a database; `pool` is the most connections it takes. */
export function openOrm(
  url: string,
  pool: number,
  { entities = everything, contextName = 'default', watch }: OrmOptions = {},
): MikroORM {
  const onPoolCreated = (created: Pool) => {
    forgetLostConnections(created);
    takeBackLateConnections(created);
    watch?.watch(created);
  };
  const orm = new MikroORM({
    clientUrl: url,
    entities,
    contextName,
    extensions: [Migrator],
    migrations: {
      migrationsList: migrations,
      tableName: 'migration',
      snapshot: false,
      silent: true,
      allOrNothing: true,
      transactional: true,
    },
    pool: { min: 0, max: pool },
    // For transactions that ask for many things at once (`transactPipelined`); the mapper itself waits for each answer all the same.
    driverOptions: { onPoolCreated, pipeline: true, connectionTimeoutMillis },
    // A mistyped name must not become an empty database.
    ensureDatabase: false,
    debug: false,
  });
  Object.assign(orm.em.getPlatform(), { escapeLiteral: quoteLiteral });
  return orm;
}

/**
 * Opens what looks after wrapped keys. Secrets are sealed and opened within transactions, and keys outlive transactions that are rolled back: with a
 * connection of its own, a key never waits for one that belongs to a transaction which waits for the key.
 */
export const openKeyOrm = (url: string, watch: StallWatch): MikroORM =>
  openOrm(url, 1, { entities: [DataKey, Setting], contextName: 'keys', watch });

const migrationLock = 0x706f7274;

/** Brings the database to the newest schema; of several processes that start at once, one does it and the others wait. */
export async function migrate(orm: MikroORM): Promise<void> {
  if (await isCurrent(orm)) return;
  await orm.em.fork().transactional(async (em) => {
    await em.execute(`select pg_advisory_xact_lock(${migrationLock})`);
    if (!(await isCurrent(orm))) await orm.migrator.up();
  });
}

/** Whether every migration has run: one cheap query, so that a later start costs no migrator. */
export async function isCurrent(orm: MikroORM): Promise<boolean> {
  const em = orm.em.fork();
  const [{ exists }] = (await em.execute("select to_regclass('migration') is not null as exists")) as [
    { exists: boolean },
  ];
  if (!exists) return false;
  const rows = (await em.execute('select name from migration')) as { name: string }[];
  const done = new Set(rows.map((row) => row.name));
  return migrations.every(({ name }) => done.has(name));
}
