import { mkdir, stat } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { MikroORM } from '@mikro-orm/postgresql';
import express from 'express';
import { limitBodyTime } from './body-timer.ts';
import { limitCallers } from './caller-limits.ts';
import { answerClientError } from './client-error.ts';
import { type Config, previewUrlFor } from './config.ts';
import { crawlLimitsOf } from './config-crawls.ts';
import { doorLimitsOf } from './config-door.ts';
import { createContentCache } from './db/content-cache/content-cache.ts';
import { databaseClock } from './db/database-clock.ts';
import { eventChannel, PostgresEventFeed } from './db/event-feed.ts';
import { type Listener, listen } from './db/listener.ts';
import { isCurrent, migrate, openOrm } from './db/orm.ts';
import { Crawling } from './domain/crawlers/crawl/crawling.ts';
import { takeUpAllRuns, takeUpRuns } from './domain/crawlers/crawl/take-up-runs.ts';
import { sliceJob } from './domain/crawlers/runs/slice-job.ts';
import { snapshotImportJob } from './domain/crawlers/snapshots/import/import-job.ts';
import { DomainError } from './domain/errors.ts';
import { GrantCache, grantChannel } from './domain/identity/grant-cache.ts';
import { createSecrets } from './domain/keys/secrets.ts';
import { notifyJob } from './domain/notifications/delivery/notify-job.ts';
import type { Clock } from './domain/ports/clock.ts';
import type { Kms } from './domain/ports/kms.ts';
import type { Log } from './domain/ports/log.ts';
import type { Services, Settings } from './domain/services.ts';
import { ContentIndex } from './domain/studio/content/content-index.ts';
import { indexMoved } from './domain/studio/content/index-moved.ts';
import { deployMoved } from './domain/studio/deployments/auto-deploy.ts';
import { deployJob, deployNoticeJob } from './domain/studio/deployments/deploy-job.ts';
import { DeploymentFeed, deploymentChannel } from './domain/studio/deployments/deployment-feed.ts';
import { Building } from './domain/studio/deployments/run/building.ts';
import { recoverDeployments } from './domain/studio/deployments/run/recover.ts';
import { importJob } from './domain/studio/import-job.ts';
import { previewChannel } from './domain/studio/previews/preview-targets.ts';
import { createPreviews } from './domain/studio/previews/previews.ts';
import { followHeads } from './domain/studio/pulls/follow-heads.ts';
import { PullRetests, retestPulls } from './domain/studio/pulls/pull-retests.ts';
import { publishMoves } from './domain/studio/repository/branch-moves.ts';
import { BranchesMoved } from './domain/studio/repository/branches-moved.ts';
import { RoutesCache } from './domain/studio/routes/routes-cache.ts';
import { syncJob } from './domain/studio/upstream/sync-job.ts';
import { UpstreamSync } from './domain/studio/upstream/upstream-sync.ts';
import { asUnavailable } from './domain/unavailable.ts';
import { WebhookDoor } from './domain/workflows/door/door.ts';
import { advanceJob } from './domain/workflows/engine/advance-job.ts';
import { abandonAll } from './domain/workflows/engine/due.ts';
import { Engine } from './domain/workflows/engine/engine.ts';
import { stepOperationsOf } from './domain/workflows/step-operations.ts';
import { triggerChannel } from './domain/workflows/triggers/trigger-cache.ts';
import { createArchiveStore } from './engines/archive/archive-store.ts';
import { createBlobStore } from './engines/blobs/blob-store.ts';
import { ChromiumBrowser } from './engines/browser/chromium-browser.ts';
import { systemClock } from './engines/clock/system-clock.ts';
import { createCrawlFetcher } from './engines/crawler/fetcher.ts';
import { ThreadedPageReader } from './engines/crawler/page-reader/threaded-page-reader.ts';
import { buildDirectory } from './engines/deployer/build-directory.ts';
import { createDeployer } from './engines/deployer/deployer.ts';
import { createDnsResolver } from './engines/dns/dns-resolver.ts';
import { createExpressions } from './engines/expressions/expressions.ts';
import { createGitStore } from './engines/git/store.ts';
import { createGuardedHttp } from './engines/http/guarded-http.ts';
import { createMetrics, type PrometheusMetrics } from './engines/metrics/prometheus.ts';
import { addExecutionGauges } from './execution-gauges.ts';
import { createGitHttp } from './git-http/git-http.ts';
import { crawlSliceJobFor, lookForRuns } from './jobs/crawl-slice.job.ts';
import { deployJobFor } from './jobs/deploy.job.ts';
import { deployNoticeJobFor } from './jobs/deploy-notice.job.ts';
import { importJobFor } from './jobs/import.job.ts';
import { notifyJobFor } from './jobs/notify.job.ts';
import { createQueue, type RunningQueue } from './jobs/queue.ts';
import { beginSchedules } from './jobs/schedules.ts';
import { snapshotImportJobFor } from './jobs/snapshot-import.job.ts';
import { syncJobFor } from './jobs/sync.job.ts';
import { scheduleUpkeep } from './jobs/upkeep.ts';
import { workflowAdvanceJobFor } from './jobs/workflow-advance.job.ts';
import { beginWorkflowClock } from './jobs/workflow-clock.ts';
import { type KeyProvider, openKeys } from './open-keys.ts';
import { refuse } from './refuse.ts';
import { requestLog } from './request-log.ts';
import { createHealth, type Phase } from './rest/health.ts';
import { createRouter } from './rest/router.ts';
import { routes } from './rest/routes.ts';
import { createSite } from './rest/site.ts';
import { candidateOf } from './rest/table.ts';
import { createWebhook } from './rest/webhook.ts';
import { StartError } from './start-error.ts';

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
    const error = asUnavailable(thrown);
    if (!(error instanceof DomainError) || error.code !== 'unavailable') throw error;
    const reason = (error.cause as { code?: string }).code ?? (error.cause as Error).message;
    throw new StartError(`The database cannot be reached (${reason}); see DATABASE_URL`, { cause: error });
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
  const orm = openOrm(databaseUrl, config.PORTICO_DATABASE_POOL);
  const keys = await prepareDatabase(config, orm, log).catch(async (error: unknown) => {
    await orm.close();
    throw error;
  });
  const { kms } = keys;
  const metrics = createMetrics();
  const http = createGuardedHttp({
    allowedCidrs: config.PORTICO_ALLOWED_CIDRS,
    ...(config.PORTICO_CA_FILE !== undefined && { caFile: config.PORTICO_CA_FILE }),
  });
  const moves = new BranchesMoved([publishMoves, indexMoved, followHeads, retestPulls, deployMoved]);
  const git = createGitStore({
    dataDir: config.PORTICO_DATA_DIR,
    log,
    committer: { name: 'Portico', email: `portico@${settings.public_host}` },
    now: () => clock.now(),
    onMoved: (repository, branches) => moves.note(services, repository, branches),
    metrics,
    resolveUpstream: (url) => http.check(url, {}),
    ...(config.PORTICO_CA_FILE !== undefined && { caFile: config.PORTICO_CA_FILE }),
    ...(config.PORTICO_SSH_KNOWN_HOSTS !== undefined && {
      sshKnownHosts: path.resolve(config.PORTICO_SSH_KNOWN_HOSTS),
    }),
  });
  const events = new PostgresEventFeed(orm, log);
  const queue = createQueue({ url: databaseUrl, log });
  const blobs = createBlobStore(path.join(config.PORTICO_DATA_DIR, 'blobs'), {
    journal: path.join(config.PORTICO_DATA_DIR, 'blob-journal'),
  });
  const secrets = createSecrets({ kms, em: orm.em, clock });
  const services: Services = {
    orm,
    git,
    archives: createArchiveStore({ product_version: version }),
    blobs,
    stepOperations: stepOperationsOf(routes.map(candidateOf)),
    expressions: createExpressions(),
    previews: createPreviews({ orm, kms, blobs }),
    http,
    fetcher: createCrawlFetcher({ http, blobs }),
    pages: new ThreadedPageReader(),
    browser: new ChromiumBrowser(
      {
        path: config.PORTICO_CHROMIUM_PATH ?? null,
        noSandbox: ['1', 'on'].includes(config.PORTICO_CHROMIUM_NO_SANDBOX),
        onRestart: () => metrics.browserRestart(),
      },
      log,
    ),
    crawling: new Crawling(),
    executing: new Engine(() => services, { calls: config.PORTICO_WORKFLOW_CALLS }),
    secrets,
    dns: createDnsResolver(config.PORTICO_DNS_SERVERS),
    clock,
    // A clock that stands in for the machine's stands in for the database's, too.
    sharedClock: clock === systemClock ? databaseClock : { now: async () => clock.now() },
    metrics,
    log,
    settings: Object.assign(settings, {
      preview_url: previewUrlFor(config),
      media_limit: config.PORTICO_MEDIA_LIMIT * 1024 * 1024,
      version,
      crawl: crawlLimitsOf(config),
      door: doorLimitsOf(config),
    }),
    content: new ContentIndex({ cache: createContentCache(orm, log), log }),
    routes: new RoutesCache(),
    moves,
    events,
    retests: new PullRetests(),
    upstreams: new UpstreamSync(),
    deployer: createDeployer({
      directory: buildDirectory(config.PORTICO_DATA_DIR, config.PORTICO_BUILD_DIR),
      dataDirectory: config.PORTICO_DATA_DIR,
      strict: config.PORTICO_BUILD_ISOLATION === 'strict',
      ...(config.PORTICO_CA_FILE !== undefined && { caFile: path.resolve(config.PORTICO_CA_FILE) }),
    }),
    building: new Building(),
    feed: new DeploymentFeed(),
    jobs: queue,
    grants: new GrantCache(),
  };
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
      events.close();
      await door.close();
      await services.building.close();
      await services.deployer.close();
      await services.crawling.close();
      await services.browser.close();
      await services.pages.close();
      await services.retests.close();
      await services.content.close();
      await services.upstreams.close();
      await moves.settled();
      await git.close();
      await services.expressions.close();
      await http.close();
      secrets.close();
      keys.close();
      await orm.close();
      metrics.stop();
    },
  };
}

/** A server that answers on its ports. */
export interface App {
  services: Services;
  port: number;
  /** Everything a start does is done: readiness may say so. */
  ready(): void;
  /** Stops taking work, finishes what runs, and closes everything this process opened. */
  stop(): Promise<void>;
}

interface ServerOptions {
  config: Config;
  core: Core;
  databaseUrl: string;
}

const kibibyte = 1024;
const maxUrl = 16 * kibibyte;
/** A JSON body must have come in after so many milliseconds. */
const bodyTime = 60_000;

/** GraphQL is a sixth of the program, and a server that nobody asks in it neither waits for it at its start nor holds it. */
function graphqlWhenAsked(services: Services, config: Config): express.RequestHandler {
  let handler: Promise<express.RequestHandler> | undefined;
  return async (request, response, next) => {
    handler ??= import('./graphql/server.ts').then(({ createGraphql }) =>
      createGraphql({ services, introspection: config.PORTICO_GRAPHQL_INTROSPECTION === 'on' }),
    );
    return (await handler)(request, response, next);
  };
}

/** An application that says how a process is, and nothing else yet. */
function beginApp(core: Core, config: Config, phase: () => Phase): express.Express {
  const { services, metrics, queue, kms } = core;
  const app = express();
  app.disable('x-powered-by');
  app.set('query parser', 'simple');
  // Versions are named by the operations; a hash of the text would change with every request id.
  app.set('etag', false);
  app.set('trust proxy', config.PORTICO_TRUSTED_PROXIES.length > 0 ? config.PORTICO_TRUSTED_PROXIES : false);
  app.use(requestLog(services.log, metrics.http));
  app.use(
    createHealth({
      phase,
      roles: config.PORTICO_ROLES,
      metrics: metrics.render,
      metricsToken: config.PORTICO_METRICS_TOKEN,
      checks: {
        database: async () => (await services.orm.em.fork().execute('select 1')).length === 1,
        migrations: () => isCurrent(services.orm),
        queue: () => queue.healthy(),
        keys: async () => (await kms.health()).ok,
        repositories: async () => (await stat(config.PORTICO_DATA_DIR)).isDirectory(),
      },
    }),
  );
  return app;
}

/** What a worker serves: how it is, and no more. */
function createWorkerApp(core: Core, config: Config, phase: () => Phase): express.Express {
  return beginApp(core, config, phase).use((request, response) =>
    refuse(
      request,
      response,
      new DomainError('not_found', 'A worker serves nothing but /healthz, /readyz and /metrics'),
      {},
    ),
  );
}

/** The express application over a core; `phase` turns readiness on when all is there and off before the listener closes. */
export function createApp(core: Core, config: Config, phase: () => Phase = () => 'ready'): express.Express {
  const { services } = core;
  const app = beginApp(core, config, phase);
  app.use(createWebhook(core.door));
  app.use((request, response, next) => {
    if (request.originalUrl.length <= maxUrl) return next();
    const error = new DomainError('uri_too_long', `The URL is longer than ${maxUrl} bytes`);
    refuse(request, response, error, { Connection: 'close' });
  });
  const limits = {
    clock: services.clock,
    failureLimit: config.PORTICO_AUTH_FAILURE_LIMIT,
    rateLimit: config.PORTICO_RATE_LIMIT,
    isAccepted: (credential: string) => services.grants.isAccepted(credential),
  };
  app.use(['/api/v2', '/graphql', '/git'], limitCallers(limits));
  app.use(['/api/v2', '/graphql'], limitBodyTime(bodyTime));
  app.use(createGitHttp(services));
  app.use('/graphql', graphqlWhenAsked(services, config));
  app.use(createSite(services.settings, routes));
  app.use(createRouter(routes, services));
  return app;
}

function listenOn(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE'
          ? 'is in use; set PORTICO_PORT to another one, or 0 for any'
          : `cannot be taken (${error.code})`;
      reject(new StartError(`Port ${port} on ${host} ${reason}`));
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

/** An HTTP server with the limits of a public one: header block 32 KiB, slow headers 10 s, idle connections 65 s. */
export function createHttpServer(app: RequestListener): Server {
  const server = createServer(
    {
      maxHeaderSize: 32 * kibibyte,
      headersTimeout: 10_000,
      requestTimeout: 3600_000,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 1_000,
    },
    app,
  );
  return server.on('clientError', answerClientError);
}

/** What an earlier process of this machine left in the middle is taken up at once; a weak isolation is said aloud. */
async function takeUpDeployments(services: Services): Promise<void> {
  try {
    await recoverDeployments(services);
    if (process.getuid?.() === 0) return;
    const isolation = await services.deployer.isolation();
    if ('level' in isolation && isolation.level === 'process')
      services.log.warn({}, 'Builds run as the user of the server: install bubblewrap to keep them apart from it');
  } catch (err) {
    services.log.warn({ err }, 'deployments that were left are looked at within a minute');
  }
}

/** Runs an earlier process left go on at once, when no other process can be at them. */
async function takeUpCrawls(services: Services, isAlone: boolean): Promise<void> {
  try {
    await (isAlone ? takeUpAllRuns(services) : takeUpRuns(services));
  } catch (err) {
    services.log.warn({ err }, 'runs of crawlers that were left are looked at within a minute');
  }
}

/** No other process can be at executions of an embedded database: those an earlier one left go on at once. */
async function takeUpExecutions(services: Services): Promise<void> {
  try {
    await abandonAll(services);
  } catch (err) {
    services.log.warn({ err }, 'executions that were left are taken up within seconds');
  }
}

/** Listens and begins the background work of this process's roles. */
export async function startApp({ config, core, databaseUrl }: ServerOptions): Promise<App> {
  const { services, queue } = core;
  let phase: Phase = 'starting';
  const isWeb = config.PORTICO_ROLES.includes('web');
  const isWorker = config.PORTICO_ROLES.includes('worker');
  const server = createHttpServer((isWeb ? createApp : createWorkerApp)(core, config, () => phase));
  const port = await listenOn(server, config.PORTICO_PORT, config.PORTICO_HOST).catch(async (error: unknown) => {
    await core.close();
    throw error;
  });
  const listener: Listener = listen({
    url: databaseUrl,
    log: services.log,
    channels: {
      [eventChannel]: (payload) => core.hear(payload),
      [grantChannel]: (payload) => services.grants.evict(Number(payload)),
      [triggerChannel]: (payload) => core.door.triggers.evict(payload),
      [previewChannel]: () => services.previews.targets.forget(),
      [deploymentChannel]: (payload) => services.feed.hear(payload),
    },
    onState: (listening) => {
      services.grants.setListening(listening);
      services.previews.targets.setListening(listening);
      core.door.triggers.setListening(listening);
    },
  });
  void queue.start({
    kinds: [advanceJob, sliceJob, snapshotImportJob, notifyJob, importJob, syncJob, deployJob, deployNoticeJob],
    jobs: isWorker
      ? [
          workflowAdvanceJobFor(services),
          importJobFor(services),
          crawlSliceJobFor(services),
          snapshotImportJobFor(services),
          notifyJobFor(services),
          syncJobFor(services),
          deployJobFor(services, config.PORTICO_BUILD_SLOTS),
          deployNoticeJobFor(services),
        ]
      : [],
  });
  if (isWorker) void takeUpDeployments(services);
  const endLook = isWorker ? lookForRuns(services) : () => {};
  if (isWorker && config.DATABASE_URL === undefined) void takeUpExecutions(services);
  if (isWorker) void takeUpCrawls(services, config.DATABASE_URL === undefined);
  const endUpkeep = isWorker ? scheduleUpkeep(services, config.PORTICO_AUDIT_DAYS) : async () => {};
  const endWorkflowClock = isWorker ? beginWorkflowClock(services, queue) : async () => {};
  const endSchedules = isWorker ? beginSchedules(services) : async () => {};
  return {
    services,
    port,
    ready() {
      phase = 'ready';
    },
    async stop() {
      phase = 'draining';
      if (config.PORTICO_DRAIN_DELAY > 0)
        await new Promise((resolve) => setTimeout(resolve, config.PORTICO_DRAIN_DELAY * 1000));
      core.endStreams();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // A connection kept alive becomes idle only when the request under way on it has been answered.
      const idle = setInterval(() => server.closeIdleConnections(), 25);
      // What has not ended shortly before the limit is cut, so that the rest of the stop still happens in order.
      const patience = Math.max(config.PORTICO_SHUTDOWN_TIMEOUT - 5, 1) * 1000;
      const cut = setTimeout(() => server.closeAllConnections(), patience);
      await closed;
      clearInterval(idle);
      clearTimeout(cut);
      await endUpkeep();
      endLook();
      await endSchedules();
      await Promise.all([services.building.close(), services.crawling.close(), services.executing.close()]);
      await endWorkflowClock();
      await queue.stop(config.PORTICO_SHUTDOWN_TIMEOUT);
      await listener.close();
      await core.close();
    },
  };
}
