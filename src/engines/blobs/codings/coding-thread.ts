import { type JobThread, storeThread } from '../threads/job-thread.ts';
import type { CodingJob } from './coding-job.ts';

/**
 * A thread that makes codings, with the lowest priority: compression takes whatever the machine has left, and nothing that somebody waits for.
 * It makes the codings of a blob unless they are there, and says false when there is no such blob.
 */
export const codingThread = (): JobThread<CodingJob, boolean> => storeThread(import.meta.url, './encode-thread');
