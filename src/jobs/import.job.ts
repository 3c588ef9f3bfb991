import { DomainError } from '../domain/errors.ts';
import type { Services } from '../domain/services.ts';
import { importJob } from '../domain/studio/import-job.ts';
import { importRepository } from '../domain/studio/repository/import-repository.ts';
import type { Job } from './queue.ts';

/** Fetches the upstream a caller named. What the caller did wrong is kept on the project and not tried again. */
export function importJobFor(services: Services): Job<typeof importJob.payload> {
  return {
    kind: importJob,
    async handle({ project_id, url }, signal) {
      try {
        await importRepository(services, project_id, { url, kind: 'https' }, { signal });
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        services.log.warn({ err: error, project_id }, 'import failed');
      }
    },
  };
}
