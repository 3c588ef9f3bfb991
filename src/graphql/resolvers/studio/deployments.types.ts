import type { ClassType } from 'type-graphql';
import { getDeployment } from '../../../domain/studio/deployments/deployments.operations.ts';
import { deploymentJob } from '../../../domain/studio/deployments/deployments.schema.ts';
import { getEnvironment } from '../../../domain/studio/environments/environments.operations.ts';
import { classOf } from '../../types/derive.ts';
import { outputOf } from '../../types/operations.ts';
import type { Placed, ProjectArgs } from '../places.ts';

export const Deployment: ClassType = outputOf(getDeployment, { edges: ['environment'] });
export const DeploymentJob: ClassType = classOf(deploymentJob, 'DeploymentJob', false);
export const Environment: ClassType = outputOf(getEnvironment, { edges: ['branch', 'latest_deployment'] });

type Job = { id: number };

export type JobParent = Placed<ProjectArgs & { deployment: number }> & Job;
export type DeploymentParent = Placed<ProjectArgs> & { id: number; environment: { id: number }; commit_sha: string };
export type EnvironmentParent = Placed<ProjectArgs> & {
  id: number;
  branch: string;
  published_deployment_id: number | null;
};

/** A deployment with its place, for the fields below it. */
export function placedDeployment<T extends { id: number; jobs: Job[] }>(record: T, at: ProjectArgs) {
  const jobs = record.jobs.map((job) => ({ ...job, at: { ...at, deployment: record.id } }));
  return { ...record, jobs, at };
}
