import { parentPort } from 'node:worker_threads';

/** How a job went; `code` as Node gives it to a fault of the system. */
export type JobOutcome<Result> = { value: Result } | { message: string; code?: string };

function outcomeOf<Job, Result>(work: (job: Job) => Result, job: Job): JobOutcome<Result> {
  try {
    return { value: work(job) };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return { message, ...(code !== undefined && { code }) };
  }
}

/** Answers the jobs of this thread (`JobThread`) in the order they come. */
export function answerJobs<Job, Result>(work: (job: Job) => Result): void {
  parentPort?.on('message', (job: Job) => parentPort?.postMessage(outcomeOf(work, job)));
}
