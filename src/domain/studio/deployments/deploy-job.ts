import { z } from 'zod';
import type { JobKind } from '../../ports/jobs.ts';

/**
 * Wakes a worker: something waits to be deployed. Which deployment is its turn is decided when the worker is free, so that projects are
 * served in turn; the rows themselves are the queue.
 */
export const deployJob = {
  name: 'deploy',
  payload: z.object({ deployment_id: z.int() }),
  retries: 3,
  expireSeconds: 2 * 3600,
} satisfies JobKind;

/** What there is to be said of a deployment that has been deleted with its environment; `secret` as it is stored, sealed. */
const deletedDeployment = z.object({
  project_id: z.int(),
  environment: z.object({ uuid: z.string(), name: z.string(), secret: z.string().nullable() }),
  branch: z.string(),
  commit_sha: z.string(),
  url: z.string().nullable(),
});
export type DeletedDeployment = z.output<typeof deletedDeployment>;

/** Tells an external provider that a deployment is asked for or cancelled; tried again for about an hour. */
export const deployNoticeJob = {
  name: 'deploy-notice',
  payload: z.object({
    deployment_id: z.int(),
    event: z.enum(['deployment.requested', 'deployment.cancelled']),
    deleted: deletedDeployment.optional(),
  }),
  retries: 10,
  expireSeconds: 120,
} satisfies JobKind;
