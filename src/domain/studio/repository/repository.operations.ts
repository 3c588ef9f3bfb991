import { z } from 'zod';
import { defined } from '../../defined.ts';
import { DomainError } from '../../errors.ts';
import { grantsChanged } from '../../identity/grants-changed.ts';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import { holdProject } from '../../projects/hold-project.ts';
import { Project } from '../../projects/project.entity.ts';
import { importJob, queuedImport } from '../import-job.ts';
import { checkStoredPath } from '../path-rules.ts';
import { checkNewRefName, checkRefName } from '../ref-name.ts';
import { checkAuthKind, storeUpstream } from '../upstream/remote.ts';
import { sealAuth } from '../upstream/upstream-secrets.ts';
import { claimImport } from './import-repository.ts';
import { importRequest, repository, repositoryChange, repositoryWithHook } from './repository.schema.ts';
import { repositoryRecord } from './repository-record.ts';

async function record(context: ProjectContext): Promise<z.output<typeof repository>> {
  return repositoryRecord(context, await context.em.findOneOrFail(Project, context.project.id));
}

export const getRepository = projectOperation({
  name: 'studio.getRepository',
  kind: 'query',
  permission: 'browse_studio',
  local: true,
  summary: 'Get the repository: its clone URL, its size, the progress of an import',
  input: z.object({}),
  output: repository,
  execute: (context) => record(context),
});

export const startImport = projectOperation({
  name: 'studio.importRepository',
  kind: 'command',
  permission: 'manage_studio',
  fresh: true,
  local: true,
  summary: 'Import a git repository into an empty project',
  input: importRequest,
  output: repositoryWithHook,
  audit: (_input, _output, { project }) => ({ type: 'repository', id: project }),
  async execute(context, { url, auth, mode, branches }) {
    const { em, git, services, project } = context;
    checkAuthKind(url, auth);
    for (const [at, branch] of (branches ?? []).entries()) checkNewRefName(`branches.${at}`, branch);
    const row = await holdProject(em, project.id);
    // An import that was killed is still called running; the lock it held tells.
    if (row.import?.state === 'queued' || !(await claimImport(em, project.id))) {
      throw new DomainError('busy', 'An import is under way');
    }
    if ((await git.branches()).length > 0)
      throw new DomainError('already_exists', 'The repository has commits; import into a new project');
    row.import = queuedImport(url);
    await em.flush();
    const credentials = await sealAuth(services, project, 'import', 1, auth);
    await services.jobs.send(
      importJob,
      { project_id: project.id, url, credentials, ...(branches && { branches }) },
      { em },
    );
    const mirror = { url, auth, push: 'on_commit', new_hook_secret: true } as const;
    const { hook_secret } = mode === 'remote' ? await storeUpstream(context, mirror) : { hook_secret: null };
    return { ...(await record(context)), hook_secret };
  },
});

export const updateRepository = projectOperation({
  name: 'studio.updateRepository',
  kind: 'command',
  permission: 'manage_studio',
  summary: 'Change the default branch, the protection of branches and the settings of the site',
  input: repositoryChange,
  output: repository,
  audit: (_input, _output, { project }) => ({ type: 'repository', id: project }),
  async execute(context, { default_branch, content_root, route_patterns, ...change }) {
    const { em, git, services, organization, project } = context;
    if (default_branch !== undefined && !(await git.head(checkRefName('default_branch', default_branch))))
      throw new DomainError('not_found', `default_branch: ${default_branch} does not exist`);
    if (content_root) checkStoredPath('content_root', content_root);
    const row = await holdProject(em, project.id);
    const root = row.settings?.routes?.root ?? null;
    const routes = route_patterns == null ? route_patterns : { root, patterns: route_patterns };
    row.settings = { ...row.settings, ...defined({ ...change, content_root, routes }) };
    row.updated_at = services.clock.now();
    await em.flush();
    await grantsChanged(em, organization.id);
    // Last, because a transaction that is rolled back does not take it back.
    if (default_branch !== undefined) await git.setDefaultBranch(default_branch);
    return record(context);
  },
});
