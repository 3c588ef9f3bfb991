import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { defined } from '../../../lib/objects.ts';
import { eventSubject } from '../../../ports/event-feed.ts';
import type { Repository } from '../../../ports/git.ts';
import { grantsChanged } from '../../identity/grant-cache.ts';
import { Project, studioSettings } from '../../projects/project.entity.ts';
import { holdProject } from '../../projects/project-ref.ts';
import { draftSourceOf, nameDraftSource } from '../environments/draft-previews.ts';
import { checkStoredPath } from '../path-rules.ts';
import { checkNewRefName, checkRefName } from '../ref-name.ts';
import type { StudioContext } from '../studio.ts';
import { localStudioOperation, studioOperation } from '../studio-operation.ts';
import { checkAuthKind, sealAuth, storeUpstream } from '../upstream/remote.ts';
import { latestRescued } from '../upstream/rescued.ts';
import { syncOfAll } from '../upstream/sync-record.ts';
import { Upstream } from '../upstream/upstream.entity.ts';
import { cancelledImport, importJob, importLock, importSubject, queuedImport } from './import-repository.ts';
import { importRequest, importState, repository, repositoryChange, repositoryWithHook } from './repository.schema.ts';

/** The repository of a project, as it is shown. */
export async function repositoryRecord(
  context: Pick<StudioContext, 'em' | 'git' | 'services' | 'studio' | 'organization' | 'project'>,
  row: Project,
): Promise<z.output<typeof repository>> {
  const { em, git, services, organization, project } = context;
  const [default_branch, size, object_format, upstream] = await Promise.all([
    git.defaultBranch(),
    git.diskSize(),
    git.objectFormat(),
    em.findOne(Upstream, project.id),
  ]);
  const source = await draftSourceOf(context);
  const { content_root, routes, ...settings } = studioSettings(row.settings);
  const { public_url } = services.settings;
  const names = { organization: organization.machine_name, project: project.machine_name };
  const studio = `${public_url}/api/v2/organizations/${names.organization}/projects/${names.project}/studio`;
  const standing = upstream && (await syncOfAll(context));
  return {
    mode: upstream ? 'remote' : 'hosted',
    default_branch,
    size,
    object_format,
    clone_url: `${public_url}/git/${names.organization}/${names.project}.git`,
    content_root,
    route_patterns: routes?.patterns ?? null,
    settings: { ...settings, draft_preview: source?.id ?? null },
    upstream: upstream && {
      url: upstream.url,
      auth_kind: upstream.auth_kind,
      push: upstream.push,
      hook_url: `${studio}/repository/hook`,
    },
    sync: standing?.sync ?? null,
    diverged: standing?.diverged ?? [],
    rescued: await latestRescued(git),
    import: row.import ? { ...row.import, phase: row.import.phase ?? null } : null,
  };
}

async function record(context: StudioContext): Promise<z.output<typeof repository>> {
  return repositoryRecord(context, await context.em.findOneOrFail(Project, context.project.id));
}

export const getRepository = localStudioOperation({
  name: 'studio.getRepository',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Get the repository: its clone URL, its size, the progress of an import',
  input: z.object({}),
  output: repository,
  execute: (context) => record(context),
});

export const startImport = localStudioOperation({
  name: 'studio.importRepository',
  kind: 'command',
  permission: 'manage_studio',
  freshGrant: true,
  shownOnce: ['hook_secret'],
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
    if (row.import?.state === 'queued' || !(await services.locks.tryUntilCommit(em, importLock(project.id)))) {
      throw new DomainError('busy', 'An import is under way');
    }
    if ((await git.branches()).length > 0)
      throw new DomainError('already_exists', 'The repository has commits; import into a new project');
    const attempt = (row.import?.attempt ?? 0) + 1;
    row.import = queuedImport(url, attempt);
    await em.flush();
    const credentials = await sealAuth(services, project, 'import', 1, auth);
    await services.jobs.send(
      importJob,
      { project_id: project.id, attempt, url, credentials, ...(branches && { branches }) },
      { em, group: String(project.organization_id) },
    );
    const mirror = { url, auth, push: 'on_commit', new_hook_secret: true } as const;
    const { hook_secret } = mode === 'remote' ? await storeUpstream(context, mirror) : { hook_secret: null };
    return { ...(await record(context)), hook_secret };
  },
});

export const cancelImport = localStudioOperation({
  name: 'studio.cancelImport',
  kind: 'command',
  permission: 'manage_studio',
  summary: 'Cancel the import that is queued or under way; another one can begin when what is fetched has ended',
  input: z.object({}),
  output: repository,
  audit: (_input, _output, { project }) => ({ type: 'repository', id: project }),
  async execute(context) {
    const { em, services, project } = context;
    const row = await holdProject(em, project.id);
    if (row.import?.state !== 'queued' && row.import?.state !== 'running')
      throw new DomainError('conflict', 'No import is under way');
    row.import = cancelledImport(row.import, services.clock.now());
    await em.flush();
    await services.events.announce(em, importSubject(project.id));
    return record(context);
  },
});

/**
 * Makes a branch the default one, unless it is deleted at that moment.
 * @throws DomainError `not_found`
 */
async function makeDefault(git: Repository, branch: string): Promise<void> {
  const before = await git.defaultBranch();
  await git.setDefaultBranch(branch);
  // A deletion that saw the other default branch may have come first; one that comes later sees this one, and puts the branch back.
  if (await git.head(branch)) return;
  await git.setDefaultBranch(before);
  throw new DomainError('not_found', `default_branch: ${branch} does not exist`);
}

export const updateRepository = studioOperation({
  name: 'studio.updateRepository',
  kind: 'command',
  permission: 'manage_studio',
  summary: 'Change the default branch, the protection of branches, the settings of the site and draft previews',
  input: repositoryChange,
  output: repository,
  audit: (_input, _output, { project }) => ({ type: 'repository', id: project }),
  async execute(context, { default_branch, content_root, route_patterns, draft_preview, ...change }) {
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
    if (draft_preview !== undefined) await nameDraftSource(context, draft_preview);
    await grantsChanged(em, organization.id);
    // Last, because a transaction that is rolled back does not take it back.
    if (default_branch !== undefined) await makeDefault(git, default_branch);
    return record(context);
  },
});

export const readImport = studioOperation({
  name: 'studio.readImport',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Follow the progress of an import into the repository until it ends',
  input: z.object({}),
  output: z.object({ subject: eventSubject, import: importState }),
  async execute({ em, project }) {
    const row = await em.findOneOrFail(Project, project.id, { refresh: true });
    if (!row.import) throw new DomainError('not_found', 'Nothing has been imported into this project');
    return { subject: importSubject(project.id), import: row.import };
  },
});
