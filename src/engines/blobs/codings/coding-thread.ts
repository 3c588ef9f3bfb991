import path from 'node:path';
import { JobThread } from '../threads/job-thread.ts';
import type { CodingJob } from './coding-job.ts';

/**
 * A thread that makes codings, with the lowest priority: compression takes whatever the machine has left, and nothing that somebody waits for.
 * It makes the codings of a blob unless they are there, and says false when there is no such blob.
 */
export const codingThread = (): JobThread<CodingJob, boolean> =>
  new JobThread({
    // As compiled, or as it stands.
    module: new URL(`./encode-thread${path.extname(import.meta.url)}`, import.meta.url),
    heapMegabytes: 64,
    idle: 10_000,
  });
