import type { Services } from '../domain/services.ts';
import { advanceJob } from '../domain/workflows/engine/advance-job.ts';
import type { BatchJob } from './queue.ts';

/** Executions that are taken up together. */
const batch = 100;

/**
 * Takes executions up. The job is done when they are taken: from there on their rows say who advances them, so that one which waits on the
 * outside keeps no other from beginning.
 */
export function workflowAdvanceJobFor({ executing }: Services): BatchJob<typeof advanceJob.payload> {
  return {
    kind: advanceJob,
    batch,
    concurrency: 3,
    handleAll: (payloads) => executing.advance(payloads.map(({ execution_id }) => execution_id)),
  };
}
