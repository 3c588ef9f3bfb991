import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { MikroORM } from '@mikro-orm/postgresql';
import { type Config, previewUrlFor } from './config.ts';
import { crawlLimitsOf } from './config-crawls.ts';
import { doorLimitsOf } from './config-door.ts';
import { createContentCache } from './db/content-cache/content-cache.ts';
import { databaseClock } from './db/database-clock.ts';
import { PostgresEventFeed } from './db/event-feed.ts';
import { migrate, openOrm } from './db/orm.ts';
import { Crawling } from './domain/crawlers/crawl/crawling.ts';
import { DomainError } from './domain/errors.ts';
import { GrantCache } from './domain/identity/grant-cache.ts';
import { createSecrets } from './domain/keys/secrets.ts';
import type { Clock } from './domain/ports/clock.ts';
import type { Kms } from './domain/ports/kms.ts';
import type { Log } from './domain/ports/log.ts';
import type { Services, Settings } from './domain/services.ts';
import { ContentIndex } from './domain/studio/content/content-index.ts';
import { indexMoved } from './domain/studio/content/index-moved.ts';
import { deployMoved } from './domain/studio/deployments/auto-deploy.ts';
import { DeploymentFeed } from './domain/studio/deployments/deployment-feed.ts';
import { Building } from './domain/studio/deployments/run/building.ts';
import { createPreviews } from './domain/studio/previews/previews.ts';
import { followHeads } from './domain/studio/pulls/follow-heads.ts';
import { PullRetests, retestPulls } from './domain/studio/pulls/pull-retests.ts';
import { publishMoves } from './domain/studio/repository/branch-moves.ts';
import { BranchesMoved } from './domain/studio/repository/branches-moved.ts';
import { RoutesCache } from './domain/studio/routes/routes-cache.ts';
import { UpstreamSync } from './domain/studio/upstream/upstream-sync.ts';
import { asUnavailable } from './domain/unavailable.ts';
import { WebhookDoor } from './domain/workflows/door/door.ts';
import { Engine } from './domain/workflows/engine/engine.ts';
import { stepOperationsOf } from './domain/workflows/step-operations.ts';
import { endInOrder } from './end-in-order.ts';
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
import { createQueue, type RunningQueue } from './jobs/queue.ts';
import { type KeyProvider, openKeys } from './open-keys.ts';
import { routes } from './rest/routes.ts';
import { candidateOf } from './rest/table.ts';
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
      const { building, deployer, crawling, browser, pages, retests, content, upstreams, expressions } = services;
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
      ]);
      secrets.close();
      keys.close();
      await endInOrder(log, [['database', () => orm.close()]]);
      metrics.stop();
    },
  };
}
