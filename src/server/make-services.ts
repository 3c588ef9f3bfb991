import path from 'node:path';
import type { MikroORM } from '@mikro-orm/postgresql';
import { createContentCache } from '../db/content-cache.ts';
import { PostgresEventFeed } from '../db/event-feed.ts';
import { SessionLocks } from '../db/session-locks.ts';
import type { StallWatch } from '../db/stall-watch.ts';
import { TransactionLimit } from '../db/transaction-limit.ts';
import { modelSlots, Replies } from '../domain/assistant/replies/replies.ts';
import { mostSuggestions } from '../domain/assistant/suggestions.operations.ts';
import { createAuditLog } from '../domain/audit/audit.ts';
import { catalogue } from '../domain/catalogue.ts';
import { Crawling } from '../domain/crawlers/crawl/crawling.ts';
import { GrantCache } from '../domain/identity/grant-cache.ts';
import { createSecrets } from '../domain/keys/secrets.ts';
import { NamedPlaces } from '../domain/projects/places.ts';
import type { AllServices } from '../domain/services.ts';
import { createStudio } from '../domain/studio/make-studio.ts';
import { Engine } from '../domain/workflows/engine/engine.ts';
import { Backlog } from '../domain/workflows/executions/backlog.ts';
import { stepOperationsOf } from '../domain/workflows/step-operations.ts';
import { createPageAnnotator } from '../engines/annotations/page-annotations.ts';
import { createArchiveStore } from '../engines/archive/archive-store.ts';
import { createBlobStore } from '../engines/blobs/blob-store.ts';
import { SeparateBrowser } from '../engines/browser/separate-browser.ts';
import { createDatabaseClock, systemClock } from '../engines/clock/clocks.ts';
import { createCrawlFetcher } from '../engines/crawler/fetcher.ts';
import { SeparatePageReader } from '../engines/crawler/page-reader.ts';
import { createDeployer } from '../engines/deployer/deployer.ts';
import { buildDirectory } from '../engines/deployer/limits.ts';
import { createDnsResolver } from '../engines/dns/dns-resolver.ts';
import { createExpressions } from '../engines/expressions/expressions.ts';
import { createGitStore } from '../engines/git/store.ts';
import { createGuardedHttp } from '../engines/http/guarded-http.ts';
import { createMetrics } from '../engines/metrics/prometheus.ts';
import { anthropicUrl, createModels } from '../engines/model/model.ts';
import { createOpenId } from '../engines/openid/openid-provider.ts';
import { createSpools } from '../engines/spool/spool.ts';
import { createQueue } from '../jobs/queue.ts';
import { IdempotencyKeys } from '../kernel/idempotency.ts';
import type { Ports, Settings } from '../kernel/services.ts';
import { Activity } from '../lib/timing.ts';
import type { Clock, SharedClock } from '../ports/clock.ts';
import type { Deployer } from '../ports/deployer.ts';
import type { GuardedHttp } from '../ports/http.ts';
import type { Kms } from '../ports/kms.ts';
import type { Log } from '../ports/log.ts';
import type { Models } from '../ports/model.ts';
import { type Config, previewUrlFor, secretFilesOf } from './config.ts';
import { crawlLimitsOf, webhookLimitsOf } from './feature-settings.ts';
import { removeSetupUrl } from './first-run-record.ts';

/** What services are made of: the database with its keys, and the settings. */
interface Ingredients {
  config: Config;
  databaseUrl: string;
  log: Log;
  /** Completed here, and kept as the same object. */
  settings: Pick<Settings, 'public_url' | 'public_host'>;
  clock: Clock;
  /** Of the program: what it writes into backups and calls itself. */
  version: string;
  orm: MikroORM;
  /** For keys alone. */
  keyOrm: MikroORM;
  kms: Kms;
  watch: StallWatch;
}

/** What runs builds under these settings. */
export function deployerFor(config: Config): Deployer {
  return createDeployer({
    directory: buildDirectory(config.PORTICO_DATA_DIR, config.PORTICO_BUILD_DIR),
    dataDirectory: config.PORTICO_DATA_DIR,
    secretFiles: secretFilesOf(config, process.env),
    strict: config.PORTICO_BUILD_ISOLATION === 'strict',
    ...(config.PORTICO_CA_FILE !== undefined && { caFile: path.resolve(config.PORTICO_CA_FILE) }),
  });
}

function modelsFor(config: Config, http: GuardedHttp, log: Log): Models {
  const { PORTICO_ASSISTANT_MODEL: name, PORTICO_ASSISTANT_PROVIDER: provider } = config;
  return createModels({
    usual:
      name === undefined
        ? null
        : {
            ...{ provider, name, url: config.PORTICO_ASSISTANT_URL ?? anthropicUrl },
            key: config.PORTICO_ASSISTANT_KEY ?? null,
          },
    ownAddresses: config.PORTICO_ASSISTANT_ORG_URL === 'on',
    maxTokens: config.PORTICO_ASSISTANT_MAX_TOKENS,
    caFile: config.PORTICO_CA_FILE,
    http,
    log,
  });
}

/** Makes every part that operations use: the only place that names which implementation stands behind which port. */
export function makeServices(ingredients: Ingredients) {
  const { config, databaseUrl, log, settings, clock, version, orm, keyOrm, kms, watch } = ingredients;
  const metrics = createMetrics();
  const http = createGuardedHttp({
    allowedCidrs: config.PORTICO_ALLOWED_CIDRS,
    ...(config.PORTICO_CA_FILE !== undefined && { caFile: config.PORTICO_CA_FILE }),
  });
  const spools = createSpools(path.join(config.PORTICO_DATA_DIR, 'spool'));
  const git = createGitStore({
    spools,
    dataDir: config.PORTICO_DATA_DIR,
    log,
    committer: { name: 'Portico', email: `portico@${settings.public_host}` },
    now: () => clock.now(),
    onMoved: (repository, branches) => services.studio.moves.note(repository, branches),
    metrics,
    resolveUpstream: (url) => http.check(url, {}),
    ...(config.PORTICO_CA_FILE !== undefined && { caFile: config.PORTICO_CA_FILE }),
    ...(config.PORTICO_SSH_KNOWN_HOSTS !== undefined && {
      sshKnownHosts: path.resolve(config.PORTICO_SSH_KNOWN_HOSTS),
    }),
  });
  const events = new PostgresEventFeed(orm, log);
  const locks = new SessionLocks(databaseUrl);
  const queue = createQueue({ url: databaseUrl, log, onPoolCreated: (pool) => watch.watch(pool) });
  const blobs = createBlobStore(path.join(config.PORTICO_DATA_DIR, 'blobs'), {
    journal: path.join(config.PORTICO_DATA_DIR, 'blob-journal'),
  });
  const secrets = createSecrets({ kms, em: keyOrm.em, clock });
  const cache = createContentCache(orm, log);
  // A clock that stands in for the machine's stands in for the database's, too.
  const sharedClock: SharedClock =
    clock === systemClock ? createDatabaseClock() : { now: async () => clock.now(), recent: () => clock.now() };
  const ports: Ports = {
    orm,
    git,
    archives: createArchiveStore({ product_version: version }),
    blobs,
    spools,
    events,
    expressions: createExpressions(),
    deployer: deployerFor(config),
    http,
    dns: createDnsResolver(config.PORTICO_DNS_SERVERS),
    fetcher: createCrawlFetcher({ http, blobs }),
    pages: new SeparatePageReader(),
    annotator: createPageAnnotator(),
    browser: new SeparateBrowser(
      {
        path: config.PORTICO_CHROMIUM_PATH ?? null,
        noSandbox: ['1', 'on'].includes(config.PORTICO_CHROMIUM_NO_SANDBOX),
        onRestart: () => metrics.browserRestart(),
      },
      log,
    ),
    secrets,
    openid:
      config.PORTICO_OIDC_ISSUER === undefined || config.PORTICO_OIDC_CLIENT_ID === undefined
        ? null
        : createOpenId({
            http,
            issuer: config.PORTICO_OIDC_ISSUER,
            clientId: config.PORTICO_OIDC_CLIENT_ID,
            clientSecret: config.PORTICO_OIDC_CLIENT_SECRET,
          }),
    models: modelsFor(config, http, log),
    jobs: queue,
    locks,
    clock,
    sharedClock,
    metrics,
    log,
    settings: Object.assign(settings, {
      preview_url: previewUrlFor(config),
      media_limit: config.PORTICO_MEDIA_LIMIT * 1024 * 1024,
      version,
      password_sign_in: config.PORTICO_PASSWORD_SIGN_IN === 'on',
      schedule_grace: config.PORTICO_SCHEDULE_GRACE,
    }),
  };
  const grants = new GrantCache();
  const activity = new Activity();
  const services: AllServices = {
    ...ports,
    activity,
    grants,
    places: new NamedPlaces(grants),
    setupNote: { remove: () => removeSetupUrl(config.PORTICO_DATA_DIR) },
    audit: createAuditLog(ports),
    idempotency: new IdempotencyKeys(ports),
    transactions: new TransactionLimit(config.PORTICO_DATABASE_POOL),
    studio: createStudio(ports, () => services, { activity, cache, keyOrm, kms }),
    assistant: {
      replies: new Replies(() => services, { parallel: config.PORTICO_ASSISTANT_REPLIES }),
      suggesting: modelSlots(mostSuggestions),
    },
    crawlers: { crawling: new Crawling(), limits: crawlLimitsOf(config) },
    workflows: {
      engine: new Engine(() => services, { calls: config.PORTICO_WORKFLOW_CALLS }),
      stepOperations: stepOperationsOf(catalogue),
      limits: webhookLimitsOf(config),
      backlog: new Backlog(orm),
    },
  };
  return { services, metrics, queue, locks, events, git, http, secrets };
}
