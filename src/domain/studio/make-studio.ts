import type { MikroORM } from '@mikro-orm/postgresql';
import type { Ports } from '../../kernel/services.ts';
import type { Activity } from '../../lib/timing.ts';
import type { ContentCache } from '../../ports/content-cache.ts';
import type { Kms } from '../../ports/kms.ts';
import type { IdentityServices } from '../identity/authenticate.ts';
import { ContentIndex } from './content/content-index.ts';
import { SnippetCache } from './content/search.ts';
import { DeploymentFeed } from './deployments/deployment-feed.ts';
import { Building } from './deployments/run/building.ts';
import { deployMoved } from './deployments/tick.ts';
import { forgetDrafts } from './drafts/draft-record.ts';
import { forgetDraftPreviews } from './environments/draft-previews.ts';
import { createPreviews } from './previews/previews.ts';
import { followHeads, PullRetests, retestPulls } from './pulls/pull-retests.ts';
import { publishMoves } from './repository/branch-moves.operations.ts';
import { BranchesMoved, type BranchFollower } from './repository/branches-moved.ts';
import { RoutesCache } from './routes/routes-cache.ts';
import { type StudioRuntime, type StudioServices, studioFor } from './studio.ts';
import { UpstreamSync } from './upstream/upstream-sync.ts';
import { ChangeLog } from './watch/change-log.ts';

/** Takes in what a save, a push, a merge or an upstream brought to the default branch, before it is read. */
const indexMoved: BranchFollower = async ({ git, studio }, project, branches) => {
  const repository = git.open(project.uuid);
  const branch = await repository.defaultBranch();
  const head = branches.includes(branch) ? await repository.head(branch) : null;
  if (head) await studioFor(studio, project).content.site(repository, await repository.snapshot(head));
};

interface Options {
  activity: Activity;
  cache: ContentCache;
  /** For keys alone. */
  keyOrm: MikroORM;
  kms: Kms;
}

/**
 * Makes the studio of a process.
 * @param services those of the process, which hold the studio when they are first used
 */
export function createStudio(
  ports: Ports,
  services: () => StudioServices & IdentityServices,
  { activity, cache, keyOrm, kms }: Options,
): StudioRuntime {
  return {
    content: new ContentIndex({ cache, activity, log: ports.log }),
    routes: new RoutesCache(),
    snippets: new SnippetCache(),
    previews: createPreviews(services, ports, { keyOrm, kms }),
    moves: new BranchesMoved(services, [
      publishMoves,
      indexMoved,
      followHeads,
      forgetDrafts,
      forgetDraftPreviews,
      retestPulls,
      deployMoved,
    ]),
    retests: new PullRetests(services),
    upstreams: new UpstreamSync(services),
    building: new Building(),
    feed: new DeploymentFeed(),
    changes: new ChangeLog(ports.clock),
  };
}
