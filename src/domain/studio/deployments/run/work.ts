import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { StudioServices } from '../../studio.ts';
import { Deployment, type Worker } from '../deployment.entity.ts';
import { wake } from '../queue-deployment.ts';
import { type Attempt, conclude, requeue } from '../transitions.ts';
import { runDeployment } from './run-deployment.ts';

/** Of all processes one claims at a time: who may begin depends on what runs. Any constant of our own. */
const claimLock = 0x6465706c;

/**
 * Takes the deployment whose turn it is: of an environment where none runs, of the project that has the fewest running and has waited
 * longest, the oldest first.
 * @returns null when none may begin
 */
export async function claimDeployment({ orm, clock }: StudioServices, worker: Worker): Promise<Deployment | null> {
  return orm.em.fork().transactional(async (em) => {
    await em.execute('select pg_advisory_xact_lock(?)', [claimLock]);
    // The state is read again from the locked row: a concurrent end is waited for.
    const [claimed] = await em.execute<{ id: number }[]>(
      `update deployment set status = 'in_progress', worker = ?::json, heartbeat_at = now(), started_at = ?
       where id = (
         select waiting.id from deployment as waiting
         left join lateral (
           select count(*) filter (where status = 'in_progress') as running, max(started_at) as last
           from deployment where project_id = waiting.project_id and settings ->> 'provider' <> 'webhook'
         ) as project on true
         where waiting.status = 'queued' and waiting.settings ->> 'provider' <> 'webhook'
           and not exists (select 1 from deployment as other
             where other.environment_id = waiting.environment_id and other.status = 'in_progress')
         order by project.running, project.last nulls first, waiting.id
         limit 1)
         and status = 'queued'
       returning id`,
      [JSON.stringify(worker), clock.now()],
    );
    return claimed ? em.findOneOrFail(Deployment, claimed.id, { disableIdentityMap: true }) : null;
  });
}

/** A worker on another machine counts as gone after so many milliseconds without a heartbeat. */
const patience = 30_000;
const mostAttempts = 2;

async function isLost(
  { deployer, orm, sharedClock }: StudioServices,
  { worker, heartbeat_at }: Deployment,
): Promise<boolean> {
  const standing = worker ? await deployer.standing(worker.process) : 'gone';
  if (standing !== 'elsewhere') return standing === 'gone';
  // By the clock that wrote it: one of this machine that is ahead would give up what another works on.
  const now = await sharedClock.now(orm.em.fork());
  return !heartbeat_at || now.getTime() - heartbeat_at.getTime() > patience;
}

/** The row of a deployment as it is now, held against everybody else; null: it is gone. */
const lockDeployment = (em: EntityManager, id: number) =>
  em.findOne(Deployment, { id }, { disableIdentityMap: true, lockMode: LockMode.PESSIMISTIC_WRITE });

/**
 * Ends what the worker left running, and queues the deployment once more, or gives it up. Its row is locked meanwhile: remains are found by the
 * deployment alone, so it must not begin again while they are cleared away.
 */
async function recover(services: StudioServices, { id, attempt }: Attempt): Promise<void> {
  const { deployer, orm, clock, log } = services;
  const isOurs = await orm.em.fork().transactional(async (em) => {
    const row = await lockDeployment(em, id);
    if (row?.status !== 'in_progress' || row.attempt !== attempt) return false;
    await deployer.clear(id, row.worker?.command ?? null);
    const at = clock.now();
    if (row.cancel_requested) await conclude(em, row, { conclusion: 'cancelled', at });
    else if (attempt >= mostAttempts) await conclude(em, row, { conclusion: 'failure', reason: 'worker_lost', at });
    else if (await requeue(em, row, attempt + 1)) await wake({ em, services }, row);
    return true;
  });
  if (isOurs) log.warn({ deployment: id, attempt }, 'the worker of a deployment was lost');
}

/** Clears away what others left of a deployment on this machine, unless somebody is at it. */
async function clearRemains({ deployer, orm }: StudioServices, id: number): Promise<void> {
  await orm.em.fork().transactional(async (em) => {
    if ((await lockDeployment(em, id))?.status !== 'in_progress') await deployer.clear(id, null);
  });
}

/** Looks for deployments whose worker is gone, and for what others left behind on this machine. */
export async function recoverDeployments(services: StudioServices): Promise<void> {
  const { deployer, orm, log } = services;
  const running = await orm.em.fork().find(Deployment, { status: 'in_progress' }, { disableIdentityMap: true });
  const ours = running.filter(({ settings }) => settings.provider !== 'webhook');
  // What cannot be cleared away keeps no other deployment from its turn; it is tried again.
  const unlessItFails = (id: number, work: Promise<void>) =>
    work.catch((err: unknown) =>
      log.error({ err, deployment: id }, 'what a deployment left could not be cleared away'),
    );
  for (const row of ours) if (await isLost(services, row)) await unlessItFails(row.id, recover(services, row));
  for (const id of await deployer.workspaces()) await unlessItFails(id, clearRemains(services, id));
}

/**
 * Runs the deployment whose turn it is, if there is one.
 * @returns its number, or null when none may begin
 */
export async function workOnDeployments(services: StudioServices): Promise<number | null> {
  if (services.studio.building.closing) return null;
  await recoverDeployments(services);
  const worker = { process: await services.deployer.self(), command: null };
  const row = await claimDeployment(services, worker);
  if (!row) return null;
  await runDeployment(services, row, worker);
  return row.id;
}
