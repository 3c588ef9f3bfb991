import { deliver } from '../domain/notifications/delivery/deliver.ts';
import { notifyJob } from '../domain/notifications/delivery/notify-job.ts';
import type { Services } from '../domain/services.ts';
import type { Job } from './queue.ts';

/** Deliveries a process has under way at most. A receiver may take 15 s to answer: that of one crawler must not hold up the others'. */
const concurrency = 8;
const perGroup = 2;

/** Tries deliveries of notifications. */
export function notifyJobFor(services: Services): Job<typeof notifyJob.payload> {
  return {
    kind: notifyJob,
    concurrency,
    perGroup,
    handle: ({ notification_id }, signal) => deliver(services, notification_id, signal),
  };
}
