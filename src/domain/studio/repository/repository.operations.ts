import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import { Project } from '../../projects/project.entity.ts';
import { importUrl } from '../../projects/projects.schema.ts';
import { importJob, queuedImport } from '../import-job.ts';
import { claimImport } from './import-repository.ts';
import { repository } from './repository.schema.ts';

async function record({
  em,
  git,
  services,
  organization,
  project,
}: ProjectContext): Promise<z.output<typeof repository>> {
  const row = await em.findOneOrFail(Project, project.id);
  const [default_branch, size, object_format] = await Promise.all([
    git.defaultBranch(),
    git.diskSize(),
    git.objectFormat(),
  ]);
  return {
    mode: 'hosted' as const,
    default_branch,
    size,
    object_format,
    clone_url: `${services.settings.public_url}/git/${organization.machine_name}/${project.machine_name}.git`,
    content_root: null,
    import: row.import ? { ...row.import, phase: row.import.phase ?? null } : null,
  };
}

export const getRepository = projectOperation({
  name: 'studio.getRepository',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'The repository: where to clone it, its size, the progress of an import',
  input: z.object({}),
  output: repository,
  execute: (context) => record(context),
});

export const startImport = projectOperation({
  name: 'studio.importRepository',
  kind: 'command',
  permission: 'manage_studio',
  summary: 'Import a git repository into an empty project',
  input: z.object({ url: importUrl }),
  output: repository,
  audit: () => ({ type: 'repository', id: null }),
  async execute(context, { url }) {
    const { em, git, services, project } = context;
    const row = await em.findOneOrFail(Project, project.id);
    // An import that was killed is still called running; the lock it held tells.
    if (row.import?.state === 'queued' || !(await claimImport(em, project.id))) {
      throw new DomainError('busy', 'An import is under way');
    }
    if ((await git.branches()).length > 0)
      throw new DomainError('already_exists', 'The repository has commits; import into a new project');
    row.import = queuedImport(url);
    await em.flush();
    await services.jobs.send(importJob, { project_id: project.id, url }, { em });
    return record(context);
  },
});
