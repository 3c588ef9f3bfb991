import { z } from 'zod';
import type { JobKind } from '../../ports/jobs.ts';

/**
 * Notifies workers that an execution may go on. A worker checks first whether it has a driver already, so one job too many does no harm, and one
 * that is lost is made up for by the sweep: the rows are the truth.
 */
export const advanceJob = {
  name: 'workflow.advance',
  payload: z.object({ execution_id: z.uuid() }),
  retries: 5,
  expireSeconds: 30 * 60,
} satisfies JobKind;
