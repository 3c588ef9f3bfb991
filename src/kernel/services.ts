import type { MikroORM } from '@mikro-orm/postgresql';
import type { CrawlLimits } from '../domain/crawlers/config/crawl-limits.ts';
import type { Crawling } from '../domain/crawlers/crawl/crawling.ts';
import type { GrantCache } from '../domain/identity/grant-cache.ts';
import type { Secrets } from '../domain/keys/secrets.ts';
import type { ContentIndex } from '../domain/studio/content/content-index.ts';
import type { DeploymentFeed } from '../domain/studio/deployments/deployment-feed.ts';
import type { Building } from '../domain/studio/deployments/run/building.ts';
import type { Previews } from '../domain/studio/previews/previews.ts';
import type { PullRetests } from '../domain/studio/pulls/pull-retests.ts';
import type { BranchesMoved } from '../domain/studio/repository/branches-moved.ts';
import type { RoutesCache } from '../domain/studio/routes/routes-cache.ts';
import type { UpstreamSync } from '../domain/studio/upstream/upstream-sync.ts';
import type { Engine } from '../domain/workflows/engine/engine.ts';
import type { StepOperations } from '../domain/workflows/step-operations.ts';
import type { WebhookLimits } from '../domain/workflows/webhook/admission.ts';
import type { ArchiveStore } from '../ports/archive.ts';
import type { BlobStore } from '../ports/blobs.ts';
import type { Browser } from '../ports/browser.ts';
import type { Clock, SharedClock } from '../ports/clock.ts';
import type { Deployer } from '../ports/deployer.ts';
import type { DnsResolver } from '../ports/dns.ts';
import type { EventFeed } from '../ports/event-feed.ts';
import type { Expressions } from '../ports/expressions.ts';
import type { CrawlFetcher } from '../ports/fetcher.ts';
import type { GitStore } from '../ports/git.ts';
import type { GuardedHttp } from '../ports/http.ts';
import type { JobQueue } from '../ports/jobs.ts';
import type { Log } from '../ports/log.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { PageReader } from '../ports/page-reader.ts';
import type { Spools } from '../ports/spool.ts';

/** Settings that use-cases themselves depend on. */
export interface Settings {
  /** Base of links, without a trailing slash. */
  public_url: string;
  /** Host part of the public URL: the domain of generated author addresses. */
  public_host: string;
  /** Form of the addresses on the preview origin, a label in place of `*`: `http://*.localhost:4281`. */
  preview_url: string;
  /** Largest media file, bytes. */
  media_limit: number;
  /** Of the program: what crawls call themselves. */
  version: string;
  crawl: CrawlLimits;
  webhook: WebhookLimits;
}

/** Everything an operation may reach, behind ports; made once by the composition root. */
export interface Services {
  orm: MikroORM;
  git: GitStore;
  archives: ArchiveStore;
  blobs: BlobStore;
  /** Where files of requests wait. */
  spools: Spools;
  previews: Previews;
  content: ContentIndex;
  routes: RoutesCache;
  moves: BranchesMoved;
  events: EventFeed;
  retests: PullRetests;
  upstreams: UpstreamSync;
  /** What steps of workflows may call. */
  stepOperations: StepOperations;
  expressions: Expressions;
  deployer: Deployer;
  building: Building;
  feed: DeploymentFeed;
  http: GuardedHttp;
  dns: DnsResolver;
  fetcher: CrawlFetcher;
  pages: PageReader;
  browser: Browser;
  crawling: Crawling;
  /** The executions of workflows this process advances. */
  executing: Engine;
  secrets: Secrets;
  jobs: JobQueue;
  clock: Clock;
  sharedClock: SharedClock;
  grants: GrantCache;
  metrics: Metrics;
  log: Log;
  settings: Settings;
}
