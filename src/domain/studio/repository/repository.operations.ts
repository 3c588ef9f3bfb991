import { z } from 'zod';
import { defined } from '../../defined.ts';
import { DomainError } from '../../errors.ts';
import { grantsChanged } from '../../identity/grants-changed.ts';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import { Project } from '../../projects/project.entity.ts';
import { importUrl } from '../../projects/projects.schema.ts';
import { studioSettings } from '../../projects/studio-settings.ts';
import { importJob, queuedImport } from '../import-job.ts';
import { checkStoredPath } from '../path-rules.ts';
import { checkRefName } from '../ref-name.ts';
import { claimImport } from './import-repository.ts';
import { repository, repositoryChange } from './repository.schema.ts';

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
  const { content_root, ...settings } = studioSettings(row.settings);
  return {
    mode: 'hosted' as const,
    default_branch,
    size,
    object_format,
    clone_url: `${services.settings.public_url}/git/${organization.machine_name}/${project.machine_name}.git`,
    content_root,
    settings,
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
  audit: (_input, _output, { project }) => ({ type: 'repository', id: project }),
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

export const updateRepository = projectOperation({
  name: 'studio.updateRepository',
  kind: 'command',
  permission: 'manage_studio',
  summary: 'Change the default branch, what is protected, and where the site stands',
  input: repositoryChange,
  output: repository,
  audit: (_input, _output, { project }) => ({ type: 'repository', id: project }),
  async execute(context, { default_branch, content_root, ...change }) {
    const { em, git, services, organization, project } = context;
    if (default_branch !== undefined && !(await git.head(checkRefName('default_branch', default_branch))))
      throw new DomainError('not_found', `default_branch: ${default_branch} does not exist`);
    if (content_root) checkStoredPath('content_root', content_root);
    const row = await em.findOneOrFail(Project, project.id);
    row.settings = { ...row.settings, ...defined({ ...change, content_root }) };
    row.updated_at = services.clock.now();
    await em.flush();
    await grantsChanged(em, organization.id);
    // Last, because a transaction that is rolled back does not take it back.
    if (default_branch !== undefined) await git.setDefaultBranch(default_branch);
    return record(context);
  },
});
