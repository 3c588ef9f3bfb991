import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import type { Oid } from '../../../ports/git-records.ts';
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

interface KeptPass {
  services: Pick<Services, 'orm' | 'clock'>;
  project: Pick<ProjectRef, 'id'>;
  /** Of the upstream's row when the pass began. */
  version: number;
}

/**
 * Keeps how branches stand to the upstream; branches that are on neither side any more are forgotten.
 * @throws DomainError `busy` when the upstream was set anew since the pass began: the next one finds out how branches stand to that; `not_found`
 * when it was removed
 */
async function keepBranches({ services, project, version }: KeptPass, changed: readonly Changed[]): Promise<void> {
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
    const sql = 'select version from upstream where project_id = ? for share';
    const [upstream] = await em.execute<{ version: number }[]>(sql, [project.id]);
    if (!upstream) throw new DomainError('not_found', 'This project has no upstream');
    if (upstream.version !== version) throw new DomainError('busy', 'The upstream was set anew meanwhile; try again');
    if (gone.length > 0) await em.nativeDelete(UpstreamBranch, { project_id: project.id, name: { $in: gone } });
    // Two kinds of rows: an upsert writes the columns of its first row.
    for (const pushed of [true, false]) {
      const some = rows.filter((row) => 'pushed_at' in row === pushed);
      if (some.length > 0) await em.upsertMany(UpstreamBranch, some);
    }
  });
}

/** A process that gives no sign of life for this long has lost its lease; milliseconds. */
const holdTime = 10_000;
const renewEvery = 3_000;
/** How often, and for how long, a lease of another process is requested: longer than a dead one holds it. */
const askEvery = 200;
const patience = 15_000;

/**
 * Makes this the only process that works with a project's upstream while `work` lasts. It keeps two from doing the same twice; that nothing is
 * lost rests on compare-and-swap, not on this.
 * @throws DomainError `busy` when another process does not finish, `not_found` when there is no upstream (any more)
 */
async function withLease<T>({ orm }: Pick<Services, 'orm'>, projectId: number, work: () => Promise<T>): Promise<T> {
  const id = randomUUID();
  const execute = (sql: string, values: unknown[]) =>
    orm.em.fork().execute<{ affectedRows?: number }>(sql, values, 'run');
  const extend = (condition: string) =>
    execute(
      `update upstream set lease_id = ?, lease_until = now() + interval '${holdTime} milliseconds'
       where project_id = ? and (lease_id = ? or ${condition})`,
      [id, projectId, id],
    );
  for (const until = performance.now() + patience; ; ) {
    const { affectedRows } = await extend('lease_until is null or lease_until < now()');
    if (affectedRows) break;
    const [row] = await orm.em.fork().execute('select 1 from upstream where project_id = ?', [projectId]);
    if (!row) throw new DomainError('not_found', 'This project has no upstream');
    if (performance.now() > until)
      throw new DomainError('busy', 'Another process is working with the upstream; try again');
    await setTimeout(askEvery);
  }
  const renewal = setInterval(() => extend('false').catch(() => {}), renewEvery);
  try {
    return await work();
  } finally {
    clearInterval(renewal);
    await execute('update upstream set lease_id = null, lease_until = null where project_id = ? and lease_id = ?', [
      projectId,
      id,
    ]).catch(() => {});
  }
}

/** A pass with the author of its commits. */
type Authored = SyncPass & Required<Pick<SyncPass, 'author'>>;

interface Work {
  studio: StudioRuntime;
  services: StudioServices;
  project: ProjectRef;
  pass: Authored;
  remote: Remote;
  /** Of the upstream's row when the pass began: what is found out of one that was replaced says nothing of the next. */
  version: number;
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
  await withLease(services, project.id, async () => {
    const row = await em.findOne(Upstream, project.id);
    if (!row) throw new DomainError('not_found', 'This project has no upstream');
    const push = pass.push === 'always' || (pass.push === 'as_set' && row.push === 'on_commit');
    const remote = await openUpstream(services, project, row);
    const work = {
      services,
      studio: studioFor(services.studio, project),
      project,
      pass,
      push,
      remote,
      version: row.version,
    };
    if (pass.fetch) await fetchBranches(work);
    await reconcileBranches(work, em);
  });
}

/** Fetches, and notes when it worked, or why it did not. */
async function fetchBranches({ services, project, pass, remote, version }: Work): Promise<void> {
  const note = (fetch_error: string | null) =>
    services.orm.em
      .fork()
      .nativeUpdate(
        Upstream,
        { project_id: project.id, version },
        { fetch_error, ...(fetch_error === null && { fetched_at: services.clock.now() }) },
      );
  try {
    await services.git.fetchUpstream(project.uuid, remote, pass.signal);
  } catch (error) {
    if (error instanceof DomainError) await note(error.message);
    throw error;
  }
  await note(null);
  await pass.checkRights?.();
}

async function reconcileBranches(work: Work, em: EntityManager): Promise<void> {
  const { project, pass } = work;
  const { here, there } = await branchHeads(work.services.git.open(project.uuid));
  const stored = await em.find(UpstreamBranch, { project_id: project.id }, { disableIdentityMap: true });
  const known = new Map(stored.map((branch) => [branch.name, branch]));
  const names = pass.branches ?? [...new Set([...here.keys(), ...there.keys(), ...known.keys()])].sort();
  const changed: Changed[] = [];
  let open = pass.resolutions ?? [];
  let accident: unknown;
  for (const name of names) {
    const before = known.get(name);
    const inStep = here.get(name) === there.get(name) && here.has(name);
    if (inStep && before?.synced_sha === here.get(name) && before?.problem == null) continue;
    pass.signal.throwIfAborted();
    try {
      const after = await reconcileOne(work, name, before?.synced_sha ?? null, () => {
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
  if (accident !== undefined) throw accident;
  if (open[0]) refuseResolution(open[0].path, 'the file is not in conflict');
}

function reconcileOne(work: Work, branch: string, synced: Oid | null, settled: () => void): Promise<Reconciled> {
  const { services, studio, project, pass, remote, push } = work;
  return reconcileBranch({
    services,
    studio,
    project,
    git: services.git.open(project.uuid),
    branch,
    synced,
    push,
    author: pass.author,
    require: pass.require,
    resolutions: pass.resolutions,
    settled,
    fetch: () => fetchBranches(work),
    send: (move) => services.git.pushUpstream(project.uuid, remote, move, pass.signal),
  });
}
