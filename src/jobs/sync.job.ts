import { DomainError } from '../domain/errors.ts';
import { loadProject } from '../domain/projects/project-ref.ts';
import type { Services } from '../domain/services.ts';
import { syncJob } from '../domain/studio/upstream/upstream-sync.ts';
import type { Job } from './queue.ts';

/** Brings a project in step with its upstream. What fails is tried again; a project that is gone, or mirrors nothing any more, is left. */
export function syncJobFor(services: Services): Job<typeof syncJob.payload> {
  return {
    kind: syncJob,
    async handle({ project_id }, signal) {
      const project = await loadProject(services.orm.em.fork(), { id: project_id });
      if (!project?.is_mirror) return;
      try {
        await services.upstreams.run(services, project, {
          fetch: true,
          push: 'as_set',
          branches: null,
          resolutions: null,
          signal,
        });
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== 'not_found') throw error;
      }
    },
  };
}
