import { DomainError } from '../domain/errors.ts';
import { loadProject } from '../domain/projects/project-ref.ts';
import type { Services } from '../domain/services.ts';
import { importJob, importRepository } from '../domain/studio/repository/import-repository.ts';
import { openAuth } from '../domain/studio/upstream/remote.ts';
import type { Job } from './queue.ts';

/** Fetches the upstream a caller named. What the caller did wrong is kept on the project and not tried again. */
export function importJobFor(services: Services): Job<typeof importJob.payload> {
  return {
    kind: importJob,
    async handle({ project_id, url, credentials, branches }, signal) {
      const project = await loadProject(services.orm.em.fork(), { id: project_id });
      if (!project) return;
      try {
        const auth = await openAuth(services, project, 'import', 1, credentials);
        await importRepository(
          services,
          project_id,
          { url, kind: auth.kind === 'ssh_key' ? 'ssh' : 'https', auth, ...(branches && { branches }) },
          { signal },
        );
        if (project.is_mirror) services.upstreams.notice(services, project);
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        services.log.warn({ err: error, project_id }, 'import failed');
      }
    },
  };
}
