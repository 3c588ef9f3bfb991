import type { Services } from '../../../services.ts';
import { Deployment } from '../deployment.entity.ts';
import { wake } from '../queue-deployment.ts';
import { conclude, requeue } from '../transitions.ts';

/** A worker on another machine counts as gone after so many milliseconds without a heartbeat. */
const patience = 30_000;
const mostAttempts = 2;

async function isLost({ deployer }: Services, { worker, heartbeat_at }: Deployment): Promise<boolean> {
  const standing = worker ? await deployer.standing(worker.process) : 'gone';
  if (standing !== 'elsewhere') return standing === 'gone';
  return !heartbeat_at || Date.now() - heartbeat_at.getTime() > patience;
}

/** Ends what the worker left running, and has the deployment begun once more, or given up. */
async function recover(services: Services, row: Deployment): Promise<void> {
  const { deployer, orm, clock, log } = services;
  await deployer.clear(row.id, row.worker?.command ?? null);
  await orm.em.fork().transactional(async (em) => {
    const at = clock.now();
    if (row.cancel_requested) return void (await conclude(em, row, { conclusion: 'cancelled', at }));
    if (row.attempt >= mostAttempts)
      return void (await conclude(em, row, { conclusion: 'failure', reason: 'worker_lost', at }));
    if (await requeue(em, row, row.attempt + 1)) await wake({ em, services }, row);
  });
  log.warn({ deployment: row.id, attempt: row.attempt }, 'the worker of a deployment was lost');
}

/** Looks for deployments whose worker is gone, and for what others left behind on this machine. */
export async function recoverDeployments(services: Services): Promise<void> {
  const { deployer, orm } = services;
  const running = await orm.em.fork().find(Deployment, { status: 'in_progress' }, { disableIdentityMap: true });
  const ours = running.filter(({ settings }) => settings.provider !== 'webhook');
  for (const row of ours) if (await isLost(services, row)) await recover(services, row);
  for (const id of await deployer.workspaces()) {
    // Read again: it may have been claimed since.
    const row = await orm.em.fork().findOne(Deployment, id, { disableIdentityMap: true });
    if (row?.status !== 'in_progress') await deployer.clear(id, null);
  }
}
