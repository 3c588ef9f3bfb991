import { setTimeout } from 'node:timers/promises';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { loadProject } from '../../projects/project-ref.ts';
import type { BranchMoves, StudioServices } from '../studio.ts';

/** Does something about branches that have moved: `branches` are short names; one that is gone has been deleted. */
export type BranchFollower = (
  services: StudioServices,
  project: ProjectRef,
  branches: readonly string[],
) => Promise<void>;

/** Writers come first: while branches keep moving, following them rests twice as long as it works, at most so many milliseconds. */
const longestRest = 1_000;
/** How long following gives way to requests, such as the one that moved the branch, milliseconds. */
const longestWait = 250;

/**
 * Runs what follows when branches have moved, by an operation, a git client or the upstream. In the background, one run at
 * a time for a repository; moves that happen meanwhile are followed together by the next one. A failure is logged and blocks nothing: a
 * follower must be able to find out for itself what it has missed.
 */
export class BranchesMoved implements BranchMoves {
  readonly #services: () => StudioServices;
  readonly #followers: readonly BranchFollower[];
  readonly #waiting = new Map<string, Set<string>>();
  readonly #running = new Map<string, Promise<void>>();

  constructor(services: () => StudioServices, followers: readonly BranchFollower[]) {
    this.#services = services;
    this.#followers = followers;
  }

  /** @param repository its id, which is the project's uuid */
  note(repository: string, branches: readonly string[]): void {
    const waiting = this.#waiting.get(repository) ?? new Set();
    for (const branch of branches) waiting.add(branch);
    this.#waiting.set(repository, waiting);
    if (this.#running.has(repository)) return;
    const run = this.#run(repository).finally(() => this.#running.delete(repository));
    this.#running.set(repository, run);
  }

  /** Resolves when everything noted so far has been followed. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  async #run(repository: string): Promise<void> {
    const services = this.#services();
    while (this.#waiting.has(repository)) {
      await services.activity.quiet(longestWait);
      const branches = this.#take(repository);
      const began = performance.now();
      try {
        const project = await loadProject(services.orm.em.fork(), { uuid: repository });
        // A repository is made, and may be filled, before its project's row is committed.
        if (!project) continue;
        for (const follow of this.#followers) await follow(services, project, branches);
      } catch (err) {
        services.log.warn({ err, repository }, 'what follows a moved branch was not done');
      }
      const rest = Math.min(2 * (performance.now() - began), longestRest);
      if (this.#waiting.has(repository)) await setTimeout(rest);
    }
  }

  #take(repository: string): string[] {
    const waiting = this.#waiting.get(repository) ?? [];
    this.#waiting.delete(repository);
    return [...waiting];
  }
}
