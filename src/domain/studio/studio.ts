/**
 * What the studio keeps of its own while the process lives, and what its operations know beside the ports. Its parts stand below this file, but
 * for parts that use operations' own functions: these are named here by what they do and made in `make-studio.ts`.
 */
import type { Permission } from '../../kernel/actor.ts';
import type { Services } from '../../kernel/services.ts';
import type { Oid } from '../../ports/git-records.ts';
import type { ProjectContext } from '../projects/operation.ts';
import type { ProjectRef } from '../projects/project.entity.ts';
import type { ContentIndex } from './content/content-index.ts';
import type { SnippetCache } from './content/search.ts';
import type { DeploymentFeed } from './deployments/deployment-feed.ts';
import type { Building } from './deployments/run/building.ts';
import type { Resolution, ResolutionPermission } from './merge/merge.schema.ts';
import type { Previews } from './previews/previews.ts';
import type { RoutesCache } from './routes/routes-cache.ts';
import type { ChangeLog } from './watch/change-log.ts';

/** What follows when branches have moved. */
export interface BranchMoves {
  /**
   * Follows in the background.
   * @param repository its id, which is the project's uuid
   * @param branches short names; one that is gone has been deleted
   */
  note(repository: string, branches: readonly string[]): void;
  /** Resolves when everything noted so far has been followed. */
  settled(): Promise<void>;
}

/** Background tests of which pull requests merge. */
export interface PullTests {
  /** Has the open pull requests of some branches (short names) tested soon, and pairs of commits that are compared. */
  want(project: ProjectRef, branches: Iterable<string>, pairs?: readonly { current: Oid; incoming: Oid }[]): void;
  close(): Promise<void>;
}

/** One round of fetching, merging and pushing. */
export interface SyncPass {
  fetch: boolean;
  /** `as_set`: as the upstream's settings have it. */
  push: 'as_set' | 'always' | 'never';
  /** Short names; null means all. */
  branches: readonly string[] | null;
  /** What conflicts are settled with; null: they are left. */
  resolutions: readonly Resolution[] | null;
  /** Default: the service itself. */
  author?: { name: string; email: string };
  require?(permission: ResolutionPermission): void;
  /** Called behind each fetch, which can take minutes. @throws DomainError when the rights of the requester have ended meanwhile */
  checkRights?(): Promise<void>;
  signal: AbortSignal;
}

/** Projects in step with their upstreams. */
export interface Upstreams {
  /** Before content is used: fetches what is too old, in the background for reads, within the request for writes. */
  freshen(project: ProjectRef, kind: 'read' | 'write'): Promise<void>;
  /** After an upstream has been named: fetches and pushes, and waits for that for a few seconds. */
  begin(project: ProjectRef): Promise<void>;
  /** After a command: pushes branches it moved, and waits for that for a few seconds. */
  publish(project: ProjectRef, branches: Iterable<string>): Promise<void>;
  /** Fetches and pushes in the background: the upstream is said to have moved. */
  notice(project: ProjectRef): void;
  /**
   * Fetches at once, and takes what came.
   * @throws DomainError `upstream_unavailable`
   */
  fetch(project: ProjectRef, signal: AbortSignal): Promise<void>;
  /**
   * A pass of one's own.
   * @throws DomainError `not_found` without an upstream, `busy`, `merge_conflict`, `upstream_unavailable`
   */
  run(project: ProjectRef, pass: SyncPass): Promise<void>;
  /** Resolves when no pass is under way or wanted. */
  settled(): Promise<void>;
  /** Ends what is under way; it goes on in the next process. */
  close(): Promise<void>;
}

/** What the studio of a process keeps. */
export interface StudioRuntime {
  content: ContentIndex;
  routes: RoutesCache;
  snippets: SnippetCache;
  previews: Previews;
  moves: BranchMoves;
  retests: PullTests;
  upstreams: Upstreams;
  building: Building;
  feed: DeploymentFeed;
  changes: ChangeLog;
}

/** The services of a process with its studio. */
export interface StudioServices extends Services {
  studio: StudioRuntime;
}

/** What an operation of the studio knows. */
export interface StudioContext<Also extends Permission = never> extends ProjectContext<Also> {
  studio: StudioRuntime;
}

/** The studio as a project uses it: where its site stands decides how its content is read. */
export function studioFor(studio: StudioRuntime, project: Pick<ProjectRef, 'settings'>): StudioRuntime {
  const content = studio.content.below(project.settings.content_root);
  return content === studio.content ? studio : { ...studio, content };
}
