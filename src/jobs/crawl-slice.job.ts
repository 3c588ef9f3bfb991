import { beginWork, takeUpRuns } from '../domain/crawlers/crawl/work-on-run.ts';
import { sliceJob } from '../domain/crawlers/runs/queue-run.ts';
import type { Services } from '../domain/services.ts';
import type { Job } from './queue.ts';

/** How often a process looks for runs that nobody works on; milliseconds. */
const lookEvery = 3_000;

/** Begins to work on a run at once. Its row, not the job, says whether somebody works on it, so a job that is lost costs only a look. */
export function crawlSliceJobFor(services: Services): Job<typeof sliceJob.payload> {
  return {
    kind: sliceJob,
    concurrency: 2,
    async handle({ run_id }) {
      beginWork(services, run_id);
    },
  };
}

/** Looks from time to time for runs whose worker is gone. @returns how to end it */
export function lookForRuns(services: Services): () => void {
  const timer = setInterval(() => {
    takeUpRuns(services).catch((err: unknown) => services.log.debug({ err }, 'runs of crawlers not looked at'));
  }, lookEvery);
  return () => clearInterval(timer);
}
