import type { Services } from '../domain/services.ts';
import { tellProvider } from '../domain/studio/deployments/notify-provider.ts';
import { deployNoticeJob } from '../domain/studio/deployments/queue-deployment.ts';
import type { Job } from './queue.ts';

/** Tells an external provider; what fails is tried again by the queue. */
export function deployNoticeJobFor(services: Services): Job<typeof deployNoticeJob.payload> {
  return { kind: deployNoticeJob, handle: (notice, signal) => tellProvider(services, notice, signal) };
}
