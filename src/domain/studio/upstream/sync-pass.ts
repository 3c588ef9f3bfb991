import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { type EntityManager, raw } from '@mikro-orm/postgresql';
import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import type { Upstream as Remote } from '../../../ports/git-transfer.ts';
import { Project, type ProjectRef } from '../../projects/project.entity.ts';
import { refuseResolution } from '../merge/resolutions.ts';
import { type StudioRuntime, type StudioServices, type SyncPass, studioFor } from '../studio.ts';
import { type Reconciled, reconcileBranch } from './reconcile-branch.ts';
import { openUpstream } from './remote.ts';
import { dropSettled } from './rescued.ts';
import { branchHeads } from './sync-record.ts';
import { Upstream, UpstreamBranch } from './upstream.entity.ts';

/** What a pass has found out of one branch. */
type Changed = Reconciled & { name: string };

/** A process that gives no sign of life for this long has lost its lease; milliseconds. */
const holdTime = 10_000;
const renewEvery = 3_000;
/** How often, and for how long, a lease of another process is requested: longer than a dead one holds it. */
const askEvery = 200;
const patience = 15_000;

/** The row of an upstream while one pass works with it. */
interface Held {
  /** As it was when the pass began. Its lease is of this pass alone: a row that is made later never has it, whatever its version. */
  row: Upstream;
  /** Aborts when the row is not held any more, with what `check` throws then. */
  signal: AbortSignal;
  /** @throws DomainError `not_found` when the upstream was removed; `busy` when it was set anew, or another process has taken the lease */
  check(within?: EntityManager): Promise<void>;
}

const removed = () => new DomainError('not_found', 'This project has no upstream');
const replaced = () => new DomainError('busy', 'The upstream was set anew meanwhile; try again');

/** The condition under which a pass writes to the row it holds. */
const asHeld = ({ project_id, lease_id, version }: Upstream) => ({ project_id, lease_id, version });

async function checkHeld(em: EntityManager, { project_id, lease_id, version }: Upstream): Promise<void> {
  const sql = 'select version, lease_id from upstream where project_id = ? for share';
  const [row] = await em.execute<Pick<Upstream, 'version' | 'lease_id'>[]>(sql, [project_id]);
  if (!row) throw removed();
  if (row.version !== version || row.lease_id !== lease_id) throw replaced();
}

/** When a lease ends that is taken or renewed now, by the clock of the database. */
const leaseEnd = () => raw<Date>(`now() + interval '${holdTime} milliseconds'`);

/**
 * The row of a project's upstream, with a lease of its own.
 * @throws DomainError `busy` when another process does not finish, `not_found` when there is no upstream (any more)
 */
async function takeLease({ orm }: Pick<Services, 'orm'>, project_id: number): Promise<Upstream> {
  const lease_id = randomUUID();
  for (const until = performance.now() + patience; ; await setTimeout(askEvery)) {
    const em = orm.em.fork();
    const free = { project_id, $or: [{ lease_until: null }, { lease_until: { $lt: raw<Date>('now()') } }] };
    await em.nativeUpdate(Upstream, free, { lease_id, lease_until: leaseEnd() });
    const row = await em.findOne(Upstream, project_id);
    if (!row) throw removed();
    if (row.lease_id === lease_id) return row;
    if (performance.now() > until)
      throw new DomainError('busy', 'Another process is working with the upstream; try again');
  }
}

/**
 * Makes this the only process that works with a project's upstream while `work` lasts. It keeps two from doing the same twice; that nothing is
 * lost rests on compare-and-swap, not on this.
 * @throws DomainError `busy` when another process does not finish, `not_found` when there is no upstream (any more)
 */
async function withUpstream<T>(
  services: Pick<Services, 'orm' | 'locks'>,
  projectId: number,
  work: (held: Held) => Promise<T>,
): Promise<T> {
  const { orm, locks } = services;
  const row = await takeLease(services, projectId);
  const ended = new AbortController();
  const check = (within: EntityManager = orm.em.fork()) =>
    checkHeld(within, row).catch((error: unknown) => {
      ended.abort(error);
      throw error;
    });
  let seen = performance.now();
  const renew = async () => {
    try {
      await orm.em.fork().nativeUpdate(Upstream, asHeld(row), { lease_until: leaseEnd() });
      await checkHeld(orm.em.fork(), row);
      seen = performance.now();
    } catch (error) {
      // Without the database for that long, another process may have the lease by now.
      if (error instanceof DomainError || performance.now() - seen > holdTime) ended.abort(error);
    }
  };
  const renewal = setInterval(renew, renewEvery);
  try {
    const held: Held = { row, signal: ended.signal, check };
    return await afterRemoved(locks, held, () => work(held));
  } finally {
    clearInterval(renewal);
    const { project_id, lease_id } = row;
    const free = { lease_id: null, lease_until: null };
    await orm.em
      .fork()
      .nativeUpdate(Upstream, { project_id, lease_id }, free)
      .catch(() => {});
  }
}

/**
 * Begins when no process is at an upstream any more that was removed before this one was set: its lease went with its row, but what it fetches
 * goes to the same refs. Such a pass finds the row missing and ends; one that does not is of a process that works no more.
 */
async function afterRemoved<T>(locks: Services['locks'], { row, signal }: Held, work: () => Promise<T>): Promise<T> {
  for (const until = performance.now() + holdTime; performance.now() < until; await setTimeout(askEvery)) {
    signal.throwIfAborted();
    const done = await locks.unlessHeld(`upstream of project ${row.project_id}`, work);
    if (done) return done.result;
  }
  return work();
}

/** A pass with the author of its commits. */
type Authored = SyncPass & Required<Pick<SyncPass, 'author'>>;

interface Work {
  studio: StudioRuntime;
  services: StudioServices;
  project: ProjectRef;
  pass: Authored;
  remote: Remote;
  /** What is found out of an upstream that was removed or replaced says nothing of the next. */
  held: Held;
  push: boolean;
}

/** Whether a repository is being filled: its branches appear all at once, and no fetch may precede that. */
const isImporting = ({ import: state }: Project) => state?.state === 'queued' || state?.state === 'running';

/**
 * Brings branches of a project in step with its upstream, one after the other. How each one stands afterwards is kept on its row.
 * @throws DomainError `upstream_unavailable` and others for accidents that pass, after all other branches have been tried; `not_found`
 * without an upstream; `merge_conflict`, `branch_moved`, `validation_failed` for resolutions.
 */
export async function syncPass(services: StudioServices, project: ProjectRef, pass: Authored): Promise<void> {
  const em = services.orm.em.fork();
  if (isImporting(await em.findOneOrFail(Project, project.id)))
    throw new DomainError('busy', 'The repository is being imported');
  await withUpstream(services, project.id, async (held) => {
    const { row } = held;
    const work = {
      services,
      studio: studioFor(services.studio, project),
      project,
      pass: { ...pass, signal: AbortSignal.any([pass.signal, held.signal]) },
      push: pass.push === 'always' || (pass.push === 'as_set' && row.push === 'on_commit'),
      remote: await openUpstream(services, project, row),
      held,
    };
    // Before the first fetch, what is known of the branches there is of another host.
    if (pass.fetch || row.fetched_at == null) await fetchBranches(work);
    await reconcileBranches(work, em);
  });
}

/** Fetches, and notes when it worked, or why it did not. */
async function fetchBranches({ services, project, pass, remote, held }: Work): Promise<void> {
  const note = (fetch_error: string | null) =>
    services.orm.em.fork().nativeUpdate(Upstream, asHeld(held.row), {
      fetch_error,
      ...(fetch_error === null && { fetched_at: services.clock.now() }),
    });
  await held.check();
  try {
    await services.git.fetchUpstream(project.uuid, remote, pass.signal);
  } catch (error) {
    if (error instanceof DomainError) await note(error.message);
    throw error;
  }
  await note(null);
  await pass.checkRights?.();
}

/**
 * Keeps how branches stand to the upstream; branches that are on neither side any more are forgotten.
 * @throws DomainError as `Held.check`: the next pass finds out how branches stand to an upstream that was set anew
 */
async function keepBranches({ services, project, held }: Work, changed: readonly Changed[]): Promise<void> {
  const gone = changed.filter(({ synced, problem }) => synced === null && problem === null).map(({ name }) => name);
  const rows = changed
    .filter(({ name }) => !gone.includes(name))
    .map(({ name, synced, pushed, problem, message }) => ({
      project_id: project.id,
      name,
      synced_sha: synced,
      problem,
      message,
      ...(pushed && { pushed_at: services.clock.now() }),
    }));
  await services.orm.em.fork().transactional(async (em) => {
    await held.check(em);
    if (gone.length > 0) await em.nativeDelete(UpstreamBranch, { project_id: project.id, name: { $in: gone } });
    // Two kinds of rows: an upsert writes the columns of its first row.
    for (const pushed of [true, false]) {
      const some = rows.filter((row) => 'pushed_at' in row === pushed);
      if (some.length > 0) await em.upsertMany(UpstreamBranch, some);
    }
  });
}

async function reconcileBranches(work: Work, em: EntityManager): Promise<void> {
  const { project, pass } = work;
  const { here, there } = await branchHeads(work.services.git.open(project.uuid));
  const stored = await em.find(UpstreamBranch, { project_id: project.id }, { disableIdentityMap: true });
  const known = new Map(stored.map((branch) => [branch.name, branch]));
  const isEmptied = there.size === 0 && stored.some(({ synced_sha }) => synced_sha != null);
  const all = () => [...new Set([...here.keys(), ...there.keys(), ...known.keys()])].sort();
  // It is noted of all branches at once: the push of one ends that the upstream is empty.
  const names = (isEmptied ? null : pass.branches) ?? all();
  const changed: Changed[] = [];
  let open = pass.resolutions ?? [];
  let accident: unknown;
  for (const name of names) {
    const before = known.get(name);
    const inStep = here.get(name) === there.get(name) && here.has(name);
    if (inStep && before?.synced_sha === here.get(name) && before?.problem == null) continue;
    if (pass.signal.aborted) break;
    try {
      const isWanted = pass.branches?.includes(name) ?? true;
      const own = isWanted ? work : { ...work, push: false, pass: { ...pass, resolutions: null } };
      const after = await reconcileOne(own, name, { before, isEmptied }, () => {
        open = [];
      });
      changed.push({ name, ...after });
    } catch (error) {
      if (pass.resolutions && pass.resolutions.length > 0) throw error;
      accident = error;
      const message = error instanceof DomainError ? error.message : 'Something went wrong';
      changed.push({ name, synced: before?.synced_sha ?? null, pushed: false, problem: 'failed', message });
    }
  }
  await keepBranches(work, changed);
  const wellDone = changed.filter(({ problem }) => problem === null).map(({ name }) => name);
  if (wellDone.length > 0) await dropSettled(work.services.git.open(project.uuid), new Set(wellDone));
  pass.signal.throwIfAborted();
  if (accident !== undefined) throw accident;
  if (open[0]) refuseResolution(open[0].path, 'the file is not in conflict');
}

function reconcileOne(
  work: Work,
  branch: string,
  { before, isEmptied }: { before: UpstreamBranch | undefined; isEmptied: boolean },
  settled: () => void,
): Promise<Reconciled> {
  const { services, studio, project, pass, remote, push, held } = work;
  return reconcileBranch({
    services,
    studio,
    project,
    git: services.git.open(project.uuid),
    branch,
    synced: before?.synced_sha ?? null,
    standing: before?.problem === 'diverged' ? (before.message ?? '') : null,
    isEmptied,
    push,
    author: pass.author,
    require: pass.require,
    resolutions: pass.resolutions,
    settled,
    check: () => held.check(),
    fetch: () => fetchBranches(work),
    async send(move) {
      // What is pushed was read before: no commit that comes after the removal goes there.
      await held.check();
      return services.git.pushUpstream(project.uuid, remote, move, pass.signal);
    },
  });
}
