import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { grantsChanged } from '../../identity/grants-changed.ts';
import { projectOperation } from '../../operation.ts';
import { Project } from '../../projects/project.entity.ts';
import { newRefNameProblem } from '../ref-name.ts';
import { repositoryWithHook } from '../repository/repository.schema.ts';
import { repositoryRecord } from '../repository/repository-record.ts';
import { checkAuthKind, storeUpstream } from './remote.ts';
import { Upstream } from './upstream.entity.ts';
import { remoteDraft } from './upstream.schema.ts';

export const setRemote = projectOperation({
  name: 'studio.setRemote',
  kind: 'command',
  effect: 'external',
  permission: 'manage_studio',
  fresh: true,
  local: true,
  summary: 'Make the repository a mirror of one on another git host',
  input: remoteDraft,
  output: repositoryWithHook,
  audit: (_input, _output, { project }) => ({ type: 'repository', id: project }),
  async execute(context, draft) {
    const { em, git, services, organization, project } = context;
    checkAuthKind(draft.url, draft.auth);
    // A wrong address or password is told now, not by a state that somebody has to look at.
    const there = await services.git.lsRemote({ url: draft.url, auth: draft.auth }, context.signal);
    // An empty repository begins as the other one does.
    const first = there.default_branch;
    if (first !== null && newRefNameProblem(first) === null && (await git.branches()).length === 0)
      await git.setDefaultBranch(first);
    const { hook_secret } = await em.transactional((within) => storeUpstream({ ...context, em: within }, draft));
    services.grants.evict(organization.id);
    await services.upstreams.begin(services, project);
    const row = await em.findOneOrFail(Project, project.id);
    return { ...(await repositoryRecord(context, row)), hook_secret };
  },
});

export const removeRemote = projectOperation({
  name: 'studio.removeRemote',
  kind: 'command',
  permission: 'manage_studio',
  destructive: true,
  local: true,
  summary: 'Stop mirroring; the repository is then hosted here only',
  input: z.object({}),
  output: z.null(),
  audit: (_input, _output, { project }) => ({ type: 'repository', id: project }),
  async execute({ em, organization, project }) {
    if ((await em.nativeDelete(Upstream, { project_id: project.id })) === 0)
      throw new DomainError('not_found', 'This project has no upstream');
    await grantsChanged(em, organization.id);
    return null;
  },
});
