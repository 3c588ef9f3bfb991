import type { MikroORM } from '@mikro-orm/postgresql';
import type { GrantCache } from './identity/grant-cache.ts';
import type { Secrets } from './keys/secrets.ts';
import type { ArchiveStore } from './ports/archive.ts';
import type { BlobStore } from './ports/blobs.ts';
import type { Clock } from './ports/clock.ts';
import type { Deployer } from './ports/deployer.ts';
import type { EventFeed } from './ports/event-feed.ts';
import type { GitStore } from './ports/git.ts';
import type { GuardedHttp } from './ports/http.ts';
import type { JobQueue } from './ports/jobs.ts';
import type { Log } from './ports/log.ts';
import type { Metrics } from './ports/metrics.ts';
import type { ContentIndex } from './studio/content/content-index.ts';
import type { DeploymentFeed } from './studio/deployments/deployment-feed.ts';
import type { Building } from './studio/deployments/run/building.ts';
import type { Previews } from './studio/previews/previews.ts';
import type { PullRetests } from './studio/pulls/pull-retests.ts';
import type { BranchesMoved } from './studio/repository/branches-moved.ts';
import type { RoutesCache } from './studio/routes/routes-cache.ts';
import type { UpstreamSync } from './studio/upstream/upstream-sync.ts';

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
}

/** Everything an operation may reach, behind ports; made once by the composition root. */
export interface Services {
  orm: MikroORM;
  git: GitStore;
  archives: ArchiveStore;
  blobs: BlobStore;
  previews: Previews;
  content: ContentIndex;
  routes: RoutesCache;
  moves: BranchesMoved;
  events: EventFeed;
  retests: PullRetests;
  upstreams: UpstreamSync;
  deployer: Deployer;
  building: Building;
  feed: DeploymentFeed;
  http: GuardedHttp;
  secrets: Secrets;
  jobs: JobQueue;
  clock: Clock;
  grants: GrantCache;
  metrics: Metrics;
  log: Log;
  settings: Settings;
}
