import { DomainError } from '../../kernel/errors.ts';
import { asUnavailable } from '../../kernel/unavailable.ts';

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** For `catch`: a file that is not there counts as `value`; every other fault stays one. */
export const absentAs =
  <T>(value: T) =>
  (error: unknown): T => {
    if (codeOf(error) !== 'ENOENT') throw error;
    return value;
  };

/** What `read` returns; null when the file is not there. */
export function whenThere<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    return absentAs(null)(error);
  }
}

export const gone = (cause?: unknown) => new DomainError('not_found', 'The content is no longer stored', { cause });

/** @throws DomainError `storage_full` when the disk, or the share of it we may have, is full */
export async function withRoom<T>(job: Promise<T>): Promise<T> {
  return job.catch((cause: unknown) => {
    throw asUnavailable(cause);
  });
}
