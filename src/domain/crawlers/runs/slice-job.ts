import { z } from 'zod';
import type { JobKind } from '../../ports/jobs.ts';

/**
 * Wakes a worker for a run. The run's row says whether somebody works on it, by a sign of life every two seconds: one job too many does no
 * harm, and a process that dies loses the run to another.
 */
export const sliceJob = {
  name: 'crawl.slice',
  payload: z.object({ run_id: z.int() }),
  retries: 3,
  expireSeconds: 60,
} satisfies JobKind;
