import type { Services } from '../../services.ts';
import { deployMissed } from './auto-deploy.ts';
import { Deployment } from './deployment.entity.ts';
import { notify, wake } from './queue-deployment.ts';
import { recoverDeployments } from './run/work.ts';
import { conclude, concludeQueued } from './transitions.ts';

/** How long a request may wait to be sent before it is sent again, milliseconds: its job was lost, or never put in. */
const sendAgainAfter = 60_000;

/** Ends deployments of external providers that nobody has reported on for longer than their environment allows. */
export async function timeOutReports(services: Services): Promise<void> {
  const em = services.orm.em.fork();
  const now = services.clock.now();
  const open = await em.find(Deployment, { status: { $ne: 'completed' } }, { disableIdentityMap: true });
  for (const row of open.filter(({ settings }) => settings.provider === 'webhook')) {
    const silent = now.getTime() - (row.heartbeat_at ?? row.created_at).getTime();
    const ending = { conclusion: 'failure', reason: 'provider_timeout', at: now } as const;
    if (silent > row.settings.timeout_seconds * 1000)
      await em.transactional(async (within) => {
        // Held and looked at again: a report may have come meanwhile.
        const held = 'select 1 from deployment where id = ? and coalesce(heartbeat_at, created_at) <= ? for update';
        const heard = row.heartbeat_at ?? row.created_at;
        if ((await within.execute<unknown[]>(held, [row.id, heard])).length === 0) return;
        if (!(await concludeQueued(within, row.id, ending))) await conclude(within, row, ending);
      });
    else if (!row.report_token_hash && silent > sendAgainAfter)
      await em.transactional((within) => notify({ em: within, services }, row.id, 'deployment.requested'));
  }
}

/** What is looked at every minute: what a crash, a lost job or a silent provider has left undone. */
export async function tickDeployments(services: Services): Promise<void> {
  await recoverDeployments(services);
  await timeOutReports(services);
  await deployMissed(services);
  const em = services.orm.em.fork();
  const waiting = await em.find(Deployment, { status: 'queued' }, { orderBy: { id: 'asc' }, limit: 100 });
  const ours = waiting.find(({ settings }) => settings.provider !== 'webhook');
  if (ours) await em.transactional((within) => wake({ em: within, services }, ours));
}
