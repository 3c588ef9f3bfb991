import { z } from 'zod';
import type { JobKind } from '../../ports/jobs.ts';

/** Has a worker try one delivery. Tries have a schedule of their own, so the queue repeats only what a worker that died has left. */
export const notifyJob = {
  name: 'notify',
  payload: z.object({ notification_id: z.int() }),
  retries: 5,
  expireSeconds: 120,
} satisfies JobKind;
