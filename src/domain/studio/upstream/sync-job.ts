import { z } from 'zod';
import type { JobKind } from '../../ports/jobs.ts';

/** Brings a project in step with its upstream after an attempt within a request failed; tried again for about an hour. */
export const syncJob = {
  name: 'upstream-sync',
  payload: z.object({ project_id: z.int() }),
  retries: 12,
  expireSeconds: 20 * 60,
  policy: 'stately',
} satisfies JobKind;
