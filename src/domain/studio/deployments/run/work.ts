import type { Services } from '../../../services.ts';
import { claimDeployment } from './claim.ts';
import { recoverDeployments } from './recover.ts';
import { runDeployment } from './run-deployment.ts';

/**
 * Runs the deployment whose turn it is, if there is one.
 * @returns its number, or null when none may begin
 */
export async function workOnDeployments(services: Services): Promise<number | null> {
  if (services.building.closing) return null;
  await recoverDeployments(services);
  const worker = { process: await services.deployer.self(), command: null };
  const row = await claimDeployment(services, worker);
  if (!row) return null;
  await runDeployment(services, row, worker);
  return row.id;
}
