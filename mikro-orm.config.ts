/**
 * The object mapper's configuration, for the server and the tests (`src/db/orm.ts`) and for `npx mikro-orm`.
 *
 * `npx mikro-orm migration:check` compares the entities with a migrated database: columns, defaults, keys and unique constraints. What only
 * SQL says stands in the migrations alone: other indexes, foreign keys, checks, triggers, and the tables of hot paths, which have no entity.
 */
import { UnderscoreNamingStrategy } from '@mikro-orm/core';
import { Migrator } from '@mikro-orm/migrations';
import { defineConfig, MikroORM, type Options } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import { adaptPlatform, adaptPool } from './src/db/mapper-patches.ts';
import { isCurrent } from './src/db/migrate.ts';
import { migrations } from './src/db/migrations/index.ts';
import {
  AssistantCall,
  AssistantMessage,
  AssistantReservation,
  AssistantUsage,
  Conversation,
} from './src/domain/assistant/conversation.entity.ts';
import { OrganizationModel } from './src/domain/assistant/organization-model.entity.ts';
import { AuditRow } from './src/domain/audit/audit.entity.ts';
import { Crawler } from './src/domain/crawlers/config/crawler.entity.ts';
import { CrawlUrl } from './src/domain/crawlers/frontier/crawl-url.entity.ts';
import { CrawlerRun } from './src/domain/crawlers/runs/crawler-run.entity.ts';
import { CrawlerSchedule } from './src/domain/crawlers/schedules/crawler-schedule.entity.ts';
import { CrawlSnapshot, SnapshotImport } from './src/domain/crawlers/snapshots/snapshot.entity.ts';
import { DomainVerification } from './src/domain/crawlers/verification/domain-verification.entity.ts';
import { Token } from './src/domain/identity/token.entity.ts';
import { DataKey } from './src/domain/keys/data-key.entity.ts';
import { NotificationAttempt, NotificationRow } from './src/domain/notifications/notification.entity.ts';
import { Member } from './src/domain/organizations/member.entity.ts';
import { Organization } from './src/domain/organizations/organization.entity.ts';
import { Project } from './src/domain/projects/project.entity.ts';
import { ScheduleFire } from './src/domain/schedules/schedule-fire.entity.ts';
import { Setting } from './src/domain/setting.entity.ts';
import { Deployment, DeploymentJob, DeploymentLog } from './src/domain/studio/deployments/deployment.entity.ts';
import { Draft } from './src/domain/studio/drafts/draft.entity.ts';
import { Environment } from './src/domain/studio/environments/environment.entity.ts';
import { Pull } from './src/domain/studio/pulls/pull.entity.ts';
import { Upstream, UpstreamBranch } from './src/domain/studio/upstream/upstream.entity.ts';
import { SavedView } from './src/domain/studio/views/saved-view.entity.ts';
import { OneTimeLink } from './src/domain/users/one-time-link.ts';
import { UserSession } from './src/domain/users/sessions.ts';
import { SignInThrottle } from './src/domain/users/throttle.ts';
import { User, UserIdentity } from './src/domain/users/user.entity.ts';
import { Delivery } from './src/domain/workflows/deliveries/delivery.entity.ts';
import { Execution } from './src/domain/workflows/executions/execution.entity.ts';
import { StepRun } from './src/domain/workflows/executions/step-run.entity.ts';
import { WorkflowRefusal, WorkflowTrigger } from './src/domain/workflows/triggers/trigger.entity.ts';
import { Workflow, WorkflowSecret, WorkflowVersion } from './src/domain/workflows/workflow.entity.ts';
import { IdempotencyKey } from './src/kernel/idempotency.ts';

/** Everything that has rows. */
export const entities = [
  Organization,
  Project,
  Token,
  User,
  UserIdentity,
  Member,
  UserSession,
  OneTimeLink,
  SignInThrottle,
  AuditRow,
  DataKey,
  IdempotencyKey,
  Setting,
  Pull,
  Draft,
  SavedView,
  Conversation,
  AssistantMessage,
  AssistantCall,
  AssistantUsage,
  AssistantReservation,
  OrganizationModel,
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

/** Constraints are named as PostgreSQL names them. */
class NamesOfPostgres extends UnderscoreNamingStrategy {
  override indexName(
    table: string,
    columns: string[],
    type: 'primary' | 'foreign' | 'unique' | 'index' | 'sequence' | 'check',
  ): string {
    return type === 'unique' ? `${table}_${columns.join('_')}_key` : super.indexName(table, columns, type);
  }
}

/** How long a query waits for a connection, be it a free one or a new one, before the database counts as away. */
const connectionTimeoutMillis = 10_000;

/** What every mapper is opened with. */
export const mapperOptions = defineConfig({
  entities,
  namingStrategy: NamesOfPostgres,
  discovery: { afterDiscovered: (_entities, platform) => adaptPlatform(platform) },
  extensions: [Migrator],
  migrations: {
    migrationsList: migrations,
    tableName: 'migration',
    snapshot: false,
    silent: true,
    allOrNothing: true,
    transactional: true,
    dropTables: false,
  },
  schemaGenerator: { ignoreTriggers: true, ignoreRoutines: true },
  // For transactions that ask for many things at once (`transactPipelined`); the mapper itself waits for each answer all the same.
  driverOptions: { onPoolCreated: adaptPool, pipeline: true, connectionTimeoutMillis },
  // A mistyped name must not become an empty database.
  ensureDatabase: false,
  debug: false,
});

/**
 * The database of a command: `DATABASE_URL`, or the embedded PostgreSQL of the data directory, which is joined when a server runs it and
 * otherwise started for as long as the command needs it.
 * @throws Error when a comparison is wanted with a database that lacks migrations
 */
async function databaseOfCommand() {
  const [{ readConfig }, { createLog }, { joinDatabase }] = await Promise.all([
    import('./src/server/config.ts'),
    import('./src/server/log.ts'),
    import('./src/server/database.ts'),
  ]);
  const log = createLog({ level: 'silent', redactHeaders: [] });
  const database = await joinDatabase(readConfig(process.env).config, log, new AbortController().signal);
  if (!process.argv.includes('migration:check')) return database;
  const orm = new MikroORM({ ...mapperOptions, clientUrl: database.url });
  const isComparable = await isCurrent(orm).finally(() => orm.close());
  if (isComparable) return database;
  await database.stop();
  throw new Error('Migrations have not run on this database yet: run "npx mikro-orm migration:up", then compare');
}

/** What `npx mikro-orm` reads. */
export default async (): Promise<Options> => {
  const { url, stop } = await databaseOfCommand();
  const onPoolCreated = (pool: Pool) => {
    adaptPool(pool);
    // A command closes its connections and then ends the process, whatever still runs.
    const end = pool.end.bind(pool) as () => Promise<void>;
    pool.end = (() => end().then(stop)) as Pool['end'];
  };
  return { ...mapperOptions, clientUrl: url, driverOptions: { ...mapperOptions.driverOptions, onPoolCreated } };
};
