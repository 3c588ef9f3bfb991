import { DomainError } from '../../kernel/errors.ts';

/** A job was abandoned; it may still run, but its result is dropped. */
export class TimeIsUp extends DomainError {
  constructor() {
    super('git_timeout', 'The change took too long to prepare and was given up');
  }
}

/**
 * Runs a job for at most `limit` milliseconds.
 *
 * @throws TimeIsUp, with which the job's signal aborts too
 */
export async function inTime<T>(limit: number, job: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const reason = new TimeIsUp();
      stop.abort(reason);
      reject(reason);
    }, limit);
  });
  try {
    return await Promise.race([job(stop.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}
