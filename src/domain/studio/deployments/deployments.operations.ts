import { z } from 'zod';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import { findPage, maxPerPage, pageInput, pageOf } from '../../../kernel/paging.ts';
import { lookedUp, storedText } from '../../../kernel/shapes.ts';
import type { Commit } from '../../../ports/git-records.ts';
import { holdProject } from '../../projects/project-ref.ts';
import type { Environment } from '../environments/environment.entity.ts';
import { findEnvironment } from '../environments/environment-record.ts';
import { headOf } from '../merge/write-merge.ts';
import { isOid } from '../repository/refs.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { Deployment } from './deployment.entity.ts';
import {
  deploymentRecord,
  deploymentRecords,
  deploymentSummaries,
  findDeployment,
  locateDeployment,
  withoutSettings,
} from './deployment-record.ts';
import {
  deployment,
  deploymentConclusion,
  deploymentNumber,
  deploymentStatus,
  deploymentSummary,
} from './deployments.schema.ts';
import { queueDeployment, stopDeployment } from './queue-deployment.ts';

/** Deployments of one branch that are given at most. */
const mostOfBranch = 20;

type Record = z.output<typeof deployment>;

/** The newest deployments of each branch, newest first, in the order of the branches. */
export async function deploymentsOfBranches(
  context: Pick<StudioContext, 'em' | 'services' | 'organization' | 'project' | 'room'>,
  branches: readonly string[],
): Promise<Record[][]> {
  if (branches.length === 0) return [];
  const newest = await context.em.execute<{ id: number }[]>(
    `select id from (
       select id, row_number() over (partition by branch order by id desc) as place
       from deployment where project_id = ? and branch in (${branches.map(() => '?')})) as placed
     where place <= ?`,
    [context.project.id, ...branches, mostOfBranch],
  );
  const where = { id: { $in: newest.map(({ id }) => id) } };
  const rows = await context.em.find(Deployment, where, {
    orderBy: { id: 'desc' },
    disableIdentityMap: true,
    ...withoutSettings,
  });
  const byBranch = Map.groupBy(await deploymentRecords(context, rows), ({ branch }) => branch);
  return branches.map((branch) => byBranch.get(branch) ?? []);
}

export const listDeploymentsOfBranches = studioOperation({
  name: 'studio.listDeploymentsOfBranches',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: `The newest deployments of each of some branches, at most ${mostOfBranch} of a branch`,
  input: z.object({ branches: z.array(lookedUp).max(maxPerPage, `must be at most ${maxPerPage}`) }),
  output: z.array(z.array(deployment)),
  execute: (context, { branches }) => deploymentsOfBranches(context, branches),
});

const filter = {
  environment: z.int32().optional().describe('Number of the environment'),
  branch: storedText(1000).optional(),
};

const listing = z.object({
  ...pageInput,
  ...filter,
  commit: storedText(64).optional().describe('Only those of this commit, by its full id'),
  status: deploymentStatus.optional(),
  conclusion: deploymentConclusion.optional(),
});

function findListed(context: StudioContext, input: z.output<typeof listing>) {
  const { environment, branch, commit, status, conclusion, ...paging } = input;
  const where = {
    project_id: context.project.id,
    ...(environment !== undefined && { environment_id: environment }),
    ...(branch !== undefined && { branch }),
    ...(commit !== undefined && { commit_sha: commit }),
    ...(status !== undefined && { status }),
    ...(conclusion !== undefined && { conclusion }),
  };
  return findPage(context.em, paging, Deployment, where, { orderBy: { id: 'desc' }, ...withoutSettings });
}

export const listDeployments = studioOperation({
  name: 'studio.listDeployments',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'List deployments, the newest first',
  input: listing,
  output: pageOf(deployment),
  async execute(context, input) {
    const { rows, asPage } = await findListed(context, input);
    return asPage(await deploymentRecords(context, rows));
  },
});

export const listDeploymentSummaries = studioOperation({
  name: 'studio.listDeploymentSummaries',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'List deployments without their jobs, the newest first',
  input: listing,
  output: pageOf(deploymentSummary),
  async execute(context, input) {
    const { rows, asPage } = await findListed(context, input);
    return asPage(await deploymentSummaries(context, rows));
  },
});

export const getDeployments = studioOperation({
  name: 'studio.getDeployments',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Deployments by their numbers, in the order of the input; null for missing ones',
  input: z.object({ deployments: z.array(z.int32()).max(maxPerPage, `must be at most ${maxPerPage}`) }),
  output: z.array(deployment.nullable()),
  async execute(context, { deployments }) {
    const where = { project_id: context.project.id, id: { $in: deployments } };
    const rows = await context.em.find(Deployment, where, { disableIdentityMap: true, ...withoutSettings });
    const byId = new Map((await deploymentRecords(context, rows)).map((record) => [record.id, record]));
    return deployments.map((id) => byId.get(id) ?? null);
  },
});

export const getLatestDeployment = studioOperation({
  name: 'studio.getLatestDeployment',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Latest deployment status',
  input: z.object(filter),
  output: deployment,
  async execute(context, { environment, branch }) {
    const row = await context.em.findOne(
      Deployment,
      {
        project_id: context.project.id,
        ...(environment !== undefined && { environment_id: environment }),
        ...(branch !== undefined && { branch }),
      },
      { orderBy: { id: 'desc' }, ...withoutSettings },
    );
    if (!row) throw new DomainError('not_found', 'Nothing has been deployed');
    return deploymentRecord(context, row);
  },
});

export const getDeployment = studioOperation({
  name: 'studio.getDeployment',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Deployment details including jobs',
  input: z.object(deploymentNumber),
  output: deployment,
  async execute(context, input) {
    return deploymentRecord(context, await locateDeployment(context, input.deployment));
  },
});

/**
 * The commit to deploy. Variables of an environment are for its own branch only, so no commit from elsewhere is built with them.
 * @throws DomainError `not_found`
 */
async function commitOn(
  context: Pick<StudioContext, 'git'>,
  { branch }: Pick<Environment, 'branch'>,
  sha: string | undefined,
): Promise<Commit> {
  const { git } = context;
  const head = await headOf(context, 'branch', branch);
  if (sha === undefined || sha === head) return git.commit(head);
  if (isOid(sha) && (await git.isReachable(sha)) && (await git.isAncestor(sha, head))) return git.commit(sha);
  throw fieldError('not_found', 'commit_sha', `must be the full id of a commit of branch ${branch}`);
}

export const startDeployment = studioOperation({
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

export const rerunDeployment = studioOperation({
  name: 'studio.rerunDeployment',
  kind: 'command',
  permission: 'edit_studio',
  summary: 'Deploy the same commit again, with the current settings of the environment',
  input: z.object(deploymentNumber),
  output: deployment,
  audit: (_input, output) => ({ type: 'deployment', id: output ? String(output.id) : null }),
  async execute(context, input) {
    await holdProject(context.em, context.project.id);
    const before = await locateDeployment(context, input.deployment);
    const environment = await findEnvironment(context, before.environment_id);
    const commit = await commitOn(context, environment, before.commit_sha);
    return deploymentRecord(context, await queueDeployment(context, environment, { commit, trigger: 'rerun' }));
  },
});

export const cancelDeployment = studioOperation({
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
      throw new DomainError('conflict', `Deployment ${row.id} is completed: it cannot be cancelled any more`);
    context.studio.building.cancel(row.id);
    return deploymentRecord(context, await locateDeployment(context, row.id));
  },
});
