import { z } from 'zod';
import { DomainError, fieldError } from '../../errors.ts';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import type { Commit } from '../../ports/git-records.ts';
import { holdProject } from '../../projects/hold-project.ts';
import type { Environment } from '../environments/environment.entity.ts';
import { findEnvironment } from '../environments/environment-record.ts';
import { headOf } from '../merge/write-merge.ts';
import { isOid } from '../repository/refs.ts';
import { deploymentRecord, findDeployment } from './deployment-record.ts';
import { deployment, deploymentNumber } from './deployments.schema.ts';
import { queueDeployment, stopDeployment } from './queue-deployment.ts';

/**
 * The commit to deploy. Variables of an environment are for its own branch only, so no commit from elsewhere is built with them.
 * @throws DomainError `not_found`
 */
async function commitOn(
  context: Pick<ProjectContext, 'git'>,
  { branch }: Pick<Environment, 'branch'>,
  sha: string | undefined,
): Promise<Commit> {
  const { git } = context;
  const head = await headOf(context, 'branch', branch);
  if (sha === undefined || sha === head) return git.commit(head);
  if (isOid(sha) && (await git.isReachable(sha)) && (await git.isAncestor(sha, head))) return git.commit(sha);
  throw fieldError('not_found', 'commit_sha', `must be the full id of a commit of branch ${branch}`);
}

export const startDeployment = projectOperation({
  name: 'studio.startDeployment',
  kind: 'command',
  permission: 'edit_studio',
  summary: 'Deploy the head of an environment’s branch, or another commit of it',
  input: z.object({
    environment_id: z.int32().min(1, 'must be at least 1'),
    commit_sha: z.string().optional().describe('Full id; default: the head of the branch'),
  }),
  output: deployment,
  audit: (_input, output) => ({ type: 'deployment', id: output ? String(output.id) : null }),
  async execute(context, { environment_id, commit_sha }) {
    await holdProject(context.em, context.project.id);
    const environment = await findEnvironment(context, environment_id);
    const commit = await commitOn(context, environment, commit_sha);
    return deploymentRecord(context, await queueDeployment(context, environment, { commit, trigger: 'manual' }));
  },
});

export const rerunDeployment = projectOperation({
  name: 'studio.rerunDeployment',
  kind: 'command',
  permission: 'edit_studio',
  summary: 'Deploy the same commit again, with the current settings of the environment',
  input: z.object(deploymentNumber),
  output: deployment,
  audit: (_input, output) => ({ type: 'deployment', id: output ? String(output.id) : null }),
  async execute(context, input) {
    await holdProject(context.em, context.project.id);
    const before = await findDeployment(context, input.deployment);
    const environment = await findEnvironment(context, before.environment_id);
    const commit = await commitOn(context, environment, before.commit_sha);
    return deploymentRecord(context, await queueDeployment(context, environment, { commit, trigger: 'rerun' }));
  },
});

export const cancelDeployment = projectOperation({
  name: 'studio.cancelDeployment',
  kind: 'command',
  permission: 'edit_studio',
  summary: 'Cancel a queued or running deployment',
  input: z.object(deploymentNumber),
  output: deployment,
  audit: (input) => ({ type: 'deployment', id: String(input.deployment) }),
  async execute(context, input) {
    const row = await findDeployment(context, input.deployment);
    if (!(await stopDeployment(context, row, 'cancelled')))
      throw new DomainError('in_use', `Deployment ${row.id} is completed: it cannot be cancelled any more`);
    context.services.building.cancel(row.id);
    return deploymentRecord(context, await findDeployment(context, row.id));
  },
});
