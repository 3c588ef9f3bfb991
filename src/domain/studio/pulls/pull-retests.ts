import { setTimeout } from 'node:timers/promises';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { mergeabilityOf, type Pair, perRequest } from '../merge/mergeability.ts';
import type { BranchFollower } from '../repository/branches-moved.ts';
import { type PullTests, type StudioServices, studioFor } from '../studio.ts';
import { closeForLostHead, keepHeads, keptHead } from './open-pulls.ts';
import { Pull } from './pull.entity.ts';
import { headsOf } from './pull-record.ts';

/**
 * Keeps open pull requests in step with their head branches: `refs/pull/<n>/head` holds what is proposed, and pull requests
 * whose branch has gone are closed with what it held last.
 */
export const followHeads: BranchFollower = async (services, project, branches) => {
  const em = services.orm.em.fork();
  const where = { project_id: project.id, state: 'open' as const, head_branch: { $in: [...branches] } };
  const pulls = await em.find(Pull, where, { orderBy: { number: 'asc' } });
  if (pulls.length === 0) return;
  const git = services.git.open(project.uuid);
  for (const [branch, of] of Map.groupBy(pulls, ({ head_branch }) => head_branch)) {
    if ((await keepHeads({ git }, of, branch)) !== null) continue;
    for (const pull of of)
      await closeForLostHead({ em, git, services }, [pull], (await keptHead({ git }, pull.number)) ?? pull.head_sha);
  }
};

/** Rest after each run, milliseconds, and in times of how long it took: a branch that moves all the time costs a fifth of a core at most. */
const rest = { least: 500, share: 4 };
/** Pull requests tested together, by one process, and for how many milliseconds. */
const batch = { size: 50, time: 10_000 };
/** Milliseconds for each that a batch has left, which is tested alone: one that takes git long may have stood before it. The last ones are the slow ones. */
const aloneFor = { first: perRequest.time, last: 30_000 };
/** Compared pairs of a project that wait for their test. */
const mostPairs = 100;

interface Wanted {
  branches: Set<string>;
  pairs: Map<string, Pair>;
}

/**
 * Finds out in the background which open pull requests merge, so that readers need not wait for it. One run at a time for a project;
 * what moves meanwhile is tested together in the next one. What fails is logged: the next who asks finds it out for himself.
 */
export class PullRetests implements PullTests {
  readonly #services: () => StudioServices;
  /** By project, what is to be tested. */
  readonly #wanted = new Map<number, Wanted>();
  readonly #running = new Map<number, Promise<void>>();
  readonly #closing = new AbortController();

  constructor(services: () => StudioServices) {
    this.#services = services;
  }

  /** Wants the open pull requests of some branches (short names) tested soon, and some pairs of commits. */
  want(project: ProjectRef, branches: Iterable<string>, pairs: readonly Pair[] = []): void {
    if (this.#closing.signal.aborted) return;
    const wanted = this.#wanted.get(project.id) ?? { branches: new Set(), pairs: new Map() };
    for (const branch of branches) wanted.branches.add(branch);
    for (const pair of pairs)
      if (wanted.pairs.size < mostPairs) wanted.pairs.set(`${pair.current}:${pair.incoming}`, pair);
    this.#wanted.set(project.id, wanted);
    if (this.#running.has(project.id)) return;
    const run = this.#run(project).finally(() => this.#running.delete(project.id));
    this.#running.set(project.id, run);
  }

  /** Begins no more runs and waits for those under way. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running.values());
  }

  async #run(project: ProjectRef): Promise<void> {
    const services = this.#services();
    const { signal } = this.#closing;
    for (let wanted = this.#take(project.id); wanted && !signal.aborted; wanted = this.#take(project.id)) {
      const began = performance.now();
      try {
        await retest(services, project, wanted, signal);
      } catch (err) {
        services.log.warn({ err, project: project.machine_name }, 'open pull requests were not tested');
      }
      const time = Math.max(rest.least, rest.share * (performance.now() - began));
      await setTimeout(time, undefined, { signal }).catch(() => {});
    }
  }

  #take(project: number): Wanted | undefined {
    const wanted = this.#wanted.get(project);
    this.#wanted.delete(project);
    return wanted;
  }
}

/** Tests the open pull requests of branches that have moved. */
export const retestPulls: BranchFollower = async (services, project, branches) =>
  services.studio.retests.want(project, branches);

async function retest(
  services: StudioServices,
  project: ProjectRef,
  { branches, pairs }: Wanted,
  signal: AbortSignal,
): Promise<void> {
  const em = services.orm.em.fork();
  const git = services.git.open(project.uuid);
  const context = { em, git, project, services, studio: studioFor(services.studio, project) };
  const names = [...branches];
  const rows = await em.find(
    Pull,
    { project_id: project.id, state: 'open', $or: [{ head_branch: { $in: names } }, { base_branch: { $in: names } }] },
    { orderBy: { number: 'desc' } },
  );
  const left = await testTogether(context, [...pairs.values()]);
  for (let at = 0; at < rows.length && !signal.aborted; at += batch.size) {
    const heads = await Promise.all(rows.slice(at, at + batch.size).map((row) => headsOf(context, row)));
    const live = heads.filter((head) => head.live).map(({ base, head }) => ({ current: base, incoming: head }));
    left.push(...(await testTogether(context, live)));
  }
  for (const [stage, time] of Object.entries(aloneFor)) {
    for (const pair of left.splice(0)) {
      if (signal.aborted) return;
      const effort = { lines: 1, fields: 1, time, alone: stage === 'last' };
      const [answer] = await mergeabilityOf(context, [pair], effort);
      if (answer === null) left.push(pair);
    }
  }
}

/** Tests pairs in one process. @returns those it left */
async function testTogether(context: Parameters<typeof mergeabilityOf>[0], pairs: readonly Pair[]): Promise<Pair[]> {
  const { size: lines, time } = batch;
  const answers = await mergeabilityOf(context, pairs, { lines, fields: lines, time });
  return pairs.filter((_, at) => answers[at] === null);
}
