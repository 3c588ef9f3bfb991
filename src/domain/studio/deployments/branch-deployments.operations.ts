import { z } from 'zod';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import { maxPerPage } from '../../paging.ts';
import { Deployment } from './deployment.entity.ts';
import { deploymentRecords } from './deployment-record.ts';
import { deployment } from './deployments.schema.ts';

/** Deployments of one branch that are given at most. */
export const mostOfBranch = 20;

type Record = z.output<typeof deployment>;

/** The newest deployments of each branch, newest first, in the order of the branches. */
export async function deploymentsOfBranches(
  context: Pick<ProjectContext, 'em' | 'services' | 'organization' | 'project'>,
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
  const rows = await context.em.find(Deployment, where, { orderBy: { id: 'desc' }, disableIdentityMap: true });
  const byBranch = Map.groupBy(await deploymentRecords(context, rows), ({ branch }) => branch);
  return branches.map((branch) => byBranch.get(branch) ?? []);
}

export const listDeploymentsOfBranches = projectOperation({
  name: 'studio.listDeploymentsOfBranches',
  kind: 'query',
  permission: 'browse_studio',
  summary: `The newest deployments of each of some branches, at most ${mostOfBranch} of a branch`,
  input: z.object({ branches: z.array(z.string()).max(maxPerPage, `must be at most ${maxPerPage}`) }),
  output: z.array(z.array(deployment)),
  execute: (context, { branches }) => deploymentsOfBranches(context, branches),
});
