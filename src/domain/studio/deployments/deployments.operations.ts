import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import { findPage, pageInput, pageOf } from '../../paging.ts';
import { conclusions, Deployment, statuses } from './deployment.entity.ts';
import { deploymentRecord, deploymentRecords, findDeployment } from './deployment-record.ts';
import { deployment, deploymentNumber } from './deployments.schema.ts';

const filter = {
  environment: z.int32().optional().describe('Number of the environment'),
  branch: z.string().max(1000).optional(),
};

export const listDeployments = projectOperation({
  name: 'studio.listDeployments',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'List deployments, the newest first',
  input: z.object({
    ...pageInput,
    ...filter,
    commit: z.string().max(64).optional().describe('Only those of this commit, by its full id'),
    status: z.enum(statuses).optional(),
    conclusion: z.enum(conclusions).optional(),
  }),
  output: pageOf(deployment),
  async execute(context, { environment, branch, commit, status, conclusion, ...paging }) {
    const { rows, asPage } = await findPage(
      context.em,
      paging,
      Deployment,
      {
        project_id: context.project.id,
        ...(environment !== undefined && { environment_id: environment }),
        ...(branch !== undefined && { branch }),
        ...(commit !== undefined && { commit_sha: commit }),
        ...(status !== undefined && { status }),
        ...(conclusion !== undefined && { conclusion }),
      },
      { orderBy: { id: 'desc' } },
    );
    return asPage(await deploymentRecords(context, rows));
  },
});

export const getLatestDeployment = projectOperation({
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
      { orderBy: { id: 'desc' } },
    );
    if (!row) throw new DomainError('not_found', 'Nothing has been deployed');
    return deploymentRecord(context, row);
  },
});

export const getDeployment = projectOperation({
  name: 'studio.getDeployment',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Deployment details including jobs',
  input: z.object(deploymentNumber),
  output: deployment,
  async execute(context, input) {
    return deploymentRecord(context, await findDeployment(context, input.deployment));
  },
});
