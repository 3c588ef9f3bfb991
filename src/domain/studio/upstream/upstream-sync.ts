import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { systemActor } from '../../../kernel/actor.ts';
import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import type { JobKind } from '../../../ports/jobs.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import type { StudioServices, SyncPass, Upstreams } from '../studio.ts';
import { syncPass } from './sync-pass.ts';

/** Brings a project in step with its upstream after an attempt within a request failed; tried again for about an hour. */
export const syncJob = {
  name: 'upstream-sync',
  payload: z.object({ project_id: z.int() }),
  retries: 12,
  expireSeconds: 20 * 60,
  policy: 'stately',
} satisfies JobKind;

/** Queues that job, unless one of the project waits already. */
export const sendSync = (
  { jobs }: Pick<Services, 'jobs'>,
  { id, organization_id }: Pick<ProjectRef, 'id' | 'organization_id'>,
): Promise<void> =>
  jobs.send(syncJob, { project_id: id }, { singletonKey: String(id), group: String(organization_id) });

/** How long a request waits for the upstream by default, and how long its pass may go on in the background; milliseconds. */
const usualPatience = 5_000;
const passTime = 60_000;
/** After a failed fetch requests do not wait for the next one for this long, milliseconds. */
const coolDown = 30_000;

const tooLong = () =>
  new DomainError('upstream_unavailable', 'The upstream took too long', { details: { reason: 'timeout' } });

/** What this process knows of one project's upstream. */
interface SyncState {
  fetchedAt: number;
  failedAt: number;
  fetching: { since: number; done: Promise<void> } | null;
  running: Promise<void>;
  /** The pass that begins next, with the requests it serves. */
  next: { promise: Promise<void>; fetch: boolean; branches: Set<string> | null } | null;
}

/**
 * Keeps projects in step with their upstreams. One pass at a time for a project; requests that arrive meanwhile share the next one.
 * A request never fails because of the upstream: it is answered with the state so far, and a job does the rest.
 */
export class UpstreamSync implements Upstreams {
  readonly #states = new Map<number, SyncState>();
  readonly #closing = new AbortController();
  readonly #patience: number;
  readonly #services: () => StudioServices;

  /** @param patience how long a request waits for the upstream, milliseconds */
  constructor(services: () => StudioServices, { patience = usualPatience } = {}) {
    this.#services = services;
    this.#patience = patience;
  }

  /** Before content is used: fetches what is too old, in the background for reads, within the request for writes. */
  async freshen(project: ProjectRef, kind: 'read' | 'write'): Promise<void> {
    const { fetchedAt, failedAt, fetching } = this.#of(project);
    const seconds = project.settings.fresh_for[kind];
    const now = this.#services().clock.now().getTime();
    // What lies ahead was written before the clock was set back.
    const isFresh = (at: number) => at <= now && now - at < seconds * 1000;
    if (isFresh(fetchedAt) || isFresh(failedAt) || (fetching && kind === 'read')) return;
    const joins = fetching && isFresh(fetching.since);
    const done = joins ? fetching.done : this.#request(project, { fetch: true, branches: null });
    if (kind === 'write') await this.#wait(project, done);
  }

  /** After an upstream has been named: fetches and pushes, and waits for that for a few seconds. */
  async begin(project: ProjectRef): Promise<void> {
    await this.#wait(project, this.#request(project, { fetch: true, branches: null }));
  }

  /** After a command: pushes branches it moved, and waits for that for a few seconds. */
  async publish(project: ProjectRef, branches: Iterable<string>): Promise<void> {
    await this.#wait(project, this.#request(project, { fetch: false, branches: new Set(branches) }));
  }

  /** Fetches and pushes in the background: somebody says that the upstream has moved. */
  notice(project: ProjectRef): void {
    void this.#request(project, { fetch: true, branches: null });
  }

  /**
   * Fetches at once, and takes what came.
   * @throws DomainError `upstream_unavailable`
   */
  fetch(project: ProjectRef, signal: AbortSignal): Promise<void> {
    return this.run(project, { fetch: true, push: 'never', branches: null, resolutions: null, signal });
  }

  /**
   * A pass of one's own.
   * @throws DomainError as `syncPass`
   */
  run(project: ProjectRef, pass: SyncPass): Promise<void> {
    const state = this.#of(project);
    const turn = state.running.then(() => this.#pass(project, pass));
    state.running = turn.catch(() => {});
    return turn;
  }

  /** Resolves when no pass is under way or requested. */
  async settled(): Promise<void> {
    for (;;) {
      // A fetch that a pass under way has requested comes after it.
      const open = [...this.#states.values()].map(({ running, next }) => next?.promise ?? running);
      await Promise.all(open);
      if ([...this.#states.values()].every(({ next }) => next === null)) return;
    }
  }

  /** Ends what is under way; it goes on in the next process. */
  async close(): Promise<void> {
    this.#closing.abort(new DomainError('unavailable', 'The server is stopping'));
    await this.settled();
  }

  /** Waits for a few seconds, but not for an upstream that has just failed or let others wait. */
  async #wait(project: ProjectRef, work: Promise<void>): Promise<void> {
    const state = this.#of(project);
    const { clock } = this.#services();
    const since = clock.now().getTime() - state.failedAt;
    if (since >= 0 && since < coolDown) return;
    if (!(await within(this.#patience, work))) state.failedAt = clock.now().getTime();
  }

  #of({ id }: ProjectRef): SyncState {
    const known = this.#states.get(id);
    if (known) return known;
    const made: SyncState = { fetchedAt: 0, failedAt: 0, fetching: null, running: Promise.resolve(), next: null };
    this.#states.set(id, made);
    return made;
  }

  /** Asks for a pass that begins after now. Never rejects. */
  #request(project: ProjectRef, wanted: { fetch: boolean; branches: ReadonlySet<string> | null }): Promise<void> {
    const state = this.#of(project);
    if (state.next) {
      const { next } = state;
      next.fetch ||= wanted.fetch;
      if (wanted.branches === null) next.branches = null;
      else for (const branch of wanted.branches) next.branches?.add(branch);
      return next.promise;
    }
    const next = { ...wanted, branches: wanted.branches && new Set(wanted.branches), promise: Promise.resolve() };
    state.next = next;
    next.promise = state.running.then(async () => {
      state.next = null;
      const branches = next.branches && [...next.branches];
      await this.#inBackground(project, { fetch: next.fetch, branches });
    });
    state.running = next.promise;
    return next.promise;
  }

  async #inBackground(project: ProjectRef, wanted: Pick<SyncPass, 'fetch' | 'branches'>): Promise<void> {
    const services = this.#services();
    const late = new AbortController();
    const timer = globalThis.setTimeout(() => late.abort(tooLong()), passTime);
    try {
      await this.#pass(project, { ...wanted, push: 'as_set', resolutions: null, signal: late.signal });
    } catch (err) {
      if (this.#closing.signal.aborted || (err instanceof DomainError && err.code === 'not_found')) return;
      services.log.warn({ err, project: project.uuid }, 'a project is not in step with its upstream');
      await sendSync(services, project).catch((error: unknown) =>
        services.log.warn({ err: error }, 'no job to bring a project in step'),
      );
    } finally {
      clearTimeout(timer);
    }
  }

  async #pass(project: ProjectRef, request: SyncPass): Promise<void> {
    const state = this.#of(project);
    const services = this.#services();
    const signal = AbortSignal.any([request.signal, this.#closing.signal]);
    const since = services.clock.now().getTime();
    const work = syncPass(services, project, { author: authorOf(services), ...request, signal });
    if (request.fetch) state.fetching = { since, done: work.catch(() => {}) };
    try {
      await work;
      Object.assign(state, { ...(request.fetch && { fetchedAt: since }), failedAt: 0 });
    } catch (error) {
      state.failedAt = services.clock.now().getTime();
      throw error;
    } finally {
      state.fetching = null;
    }
  }
}

const authorOf = ({ settings }: StudioServices) => systemActor('upstream', [], settings.public_host).author;

/** Whether something ended within a time. */
async function within(milliseconds: number, work: Promise<void>): Promise<boolean> {
  const stop = new AbortController();
  const late = setTimeout(milliseconds, false, { signal: stop.signal, ref: false }).catch(() => false);
  const isDone = await Promise.race([work.then(() => true), late]);
  stop.abort();
  return isDone;
}
