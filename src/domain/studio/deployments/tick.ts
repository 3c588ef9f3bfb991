import type { Services } from '../../services.ts';
import { deployMissed } from './auto-deploy.ts';
import { Deployment } from './deployment.entity.ts';
import { timeOutReports } from './external/time-out-reports.ts';
import { wake } from './queue-deployment.ts';
import { recoverDeployments } from './run/recover.ts';

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
