import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../services.ts';
import { Deployment } from '../deployment.entity.ts';
import { wake } from '../queue-deployment.ts';
import { type Attempt, conclude, requeue } from '../transitions.ts';

/** A worker on another machine counts as gone after so many milliseconds without a heartbeat. */
const patience = 30_000;
const mostAttempts = 2;

async function isLost(
  { deployer, orm, sharedClock }: Services,
  { worker, heartbeat_at }: Deployment,
): Promise<boolean> {
  const standing = worker ? await deployer.standing(worker.process) : 'gone';
  if (standing !== 'elsewhere') return standing === 'gone';
  // By the clock that wrote it: one of this machine that is ahead would give up what another works on.
  const now = await sharedClock.now(orm.em.fork());
  return !heartbeat_at || now.getTime() - heartbeat_at.getTime() > patience;
}

/** The row of a deployment as it is now, held against everybody else; null: it is gone. */
const hold = (em: EntityManager, id: number) =>
  em.findOne(Deployment, { id }, { disableIdentityMap: true, lockMode: LockMode.PESSIMISTIC_WRITE });

/**
 * Ends what the worker left running, and has the deployment begun once more, or given up. Its row is held meanwhile: remains are told by the
 * deployment alone, so nobody must begin it anew while they are cleared away.
 */
async function recover(services: Services, { id, attempt }: Attempt): Promise<void> {
  const { deployer, orm, clock, log } = services;
  const isOurs = await orm.em.fork().transactional(async (em) => {
    const row = await hold(em, id);
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
async function clearRemains({ deployer, orm }: Services, id: number): Promise<void> {
  await orm.em.fork().transactional(async (em) => {
    if ((await hold(em, id))?.status !== 'in_progress') await deployer.clear(id, null);
  });
}

/** Looks for deployments whose worker is gone, and for what others left behind on this machine. */
export async function recoverDeployments(services: Services): Promise<void> {
  const { deployer, orm } = services;
  const running = await orm.em.fork().find(Deployment, { status: 'in_progress' }, { disableIdentityMap: true });
  const ours = running.filter(({ settings }) => settings.provider !== 'webhook');
  for (const row of ours) if (await isLost(services, row)) await recover(services, row);
  for (const id of await deployer.workspaces()) await clearRemains(services, id);
}
