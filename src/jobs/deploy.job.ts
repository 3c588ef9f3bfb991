import type { Services } from '../domain/services.ts';
import { deployJob } from '../domain/studio/deployments/queue-deployment.ts';
import { workOnDeployments } from '../domain/studio/deployments/run/work.ts';
import type { Job } from './queue.ts';

/** Runs the deployment whose turn it is, and looks for another one afterwards. `slots` run at the same time. */
export function deployJobFor(services: Services, slots: number): Job<typeof deployJob.payload> {
  return {
    kind: deployJob,
    concurrency: slots,
    async handle() {
      const deployment_id = await workOnDeployments(services);
      if (deployment_id !== null) await services.jobs.send(deployJob, { deployment_id });
    },
  };
}
