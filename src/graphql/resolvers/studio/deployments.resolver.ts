import { Arg, Args, Ctx, Extensions, FieldResolver, Int, Resolver, Root } from 'type-graphql';
import {
  cancelDeployment,
  getDeployment,
  getLatestDeployment,
  listDeployments,
  listDeploymentsOfBranches,
  rerunDeployment,
  startDeployment,
} from '../../../domain/studio/deployments/deployments.operations.ts';
import { getDeploymentLog } from '../../../domain/studio/deployments/get-log.operations.ts';
import { reportDeployment } from '../../../domain/studio/deployments/report-deployment.operations.ts';
import { getEnvironment, listEnvironments } from '../../../domain/studio/environments/environments.operations.ts';
import { getCommits, listCommits } from '../../../domain/studio/repository/commits.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { branchNamed } from './branches.resolver.ts';
import {
  Deployment,
  DeploymentJob,
  type DeploymentParent,
  Environment,
  type EnvironmentParent,
  type JobParent,
  placedDeployment,
} from './deployments.types.ts';
import {
  Branch,
  type BranchParent,
  Pull,
  type PullParent,
  PullSummary,
  Studio,
  type StudioParent,
} from './studio.types.ts';

const DeploymentConnection = connectionOf(listDeployments, 'Deployment');
const ListDeploymentsArgs = argsOf(listDeployments);
const LatestDeploymentArgs = argsOf(getLatestDeployment);
const StartDeploymentInput = inputOf(startDeployment);
const CancelDeploymentInput = inputOf(cancelDeployment);
const RerunDeploymentInput = inputOf(rerunDeployment);
const ReportDeploymentInput = inputOf(reportDeployment);

/** Attempts to publish commits. */
@Resolver(() => Studio)
export class DeploymentsResolver {
  @FieldResolver(() => DeploymentConnection, { nullable: true, description: listDeployments.summary })
  async deployments(
    @Root() { at }: StudioParent,
    @Args(() => ListDeploymentsArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    const page = await context.list(listDeployments, { ...at, ...args });
    return mapConnection(page, (record) => placedDeployment(record, at));
  }

  @FieldResolver(() => Deployment, { nullable: true, description: getDeployment.summary })
  async deployment(@Root() { at }: StudioParent, @Arg('id', () => Int) id: number, @Ctx() context: GraphqlContext) {
    return placedDeployment(await context.run(getDeployment, { ...at, deployment: id }), at);
  }

  @FieldResolver(() => Deployment, { nullable: true, description: getLatestDeployment.summary })
  async latest_deployment(
    @Root() { at }: StudioParent,
    @Args(() => LatestDeploymentArgs) args: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placedDeployment(await context.run(getLatestDeployment, { ...at, ...args }), at);
  }

  @Command(() => Deployment, startDeployment)
  async startDeployment(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => StartDeploymentInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placedDeployment(await context.run(startDeployment, { ...at, ...input }), at);
  }

  @Command(() => Deployment, cancelDeployment)
  async cancelDeployment(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => CancelDeploymentInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placedDeployment(await context.run(cancelDeployment, { ...at, ...input }), at);
  }

  @Command(() => Deployment, rerunDeployment)
  async rerunDeployment(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => RerunDeploymentInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placedDeployment(await context.run(rerunDeployment, { ...at, ...input }), at);
  }

  @Command(() => Deployment, reportDeployment)
  async reportDeployment(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => ReportDeploymentInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placedDeployment(await context.run(reportDeployment, { ...at, ...input }), at);
  }
}

const Commit = outputOf(listCommits);
const EnvironmentConnection = connectionOf(listEnvironments, 'Environment');
const DeploymentLogPart = outputOf(getDeploymentLog);
const DeploymentsArgs = argsOf(listDeployments, ['environment', 'branch']);
const EnvironmentsArgs = argsOf(listEnvironments, ['branch']);

@Resolver(() => Environment)
export class EnvironmentEdgesResolver {
  @FieldResolver(() => Branch, { nullable: true, description: 'The branch it publishes; null when it is gone' })
  branch(@Root() { at, branch }: EnvironmentParent, @Ctx() context: GraphqlContext) {
    return branchNamed(context, at, branch);
  }

  @Extensions({ cost: 5 })
  @FieldResolver(() => Deployment, { nullable: true, description: 'What it shows' })
  async published(@Root() { at, published_deployment_id: id }: EnvironmentParent, @Ctx() context: GraphqlContext) {
    return id === null ? null : placedDeployment(await context.run(getDeployment, { ...at, deployment: id }), at);
  }

  @Extensions({ cost: 5 })
  @FieldResolver(() => Deployment, { nullable: true, description: 'The newest, whatever has become of it' })
  async latest_deployment(@Root() { at, id }: EnvironmentParent, @Ctx() context: GraphqlContext) {
    const { nodes } = await context.list(listDeployments, { ...at, environment: id, first: 1 });
    return nodes[0] ? placedDeployment(nodes[0], at) : null;
  }

  @Extensions({ cost: 5 })
  @FieldResolver(() => DeploymentConnection, { nullable: true, description: listDeployments.summary })
  async deployments(
    @Root() { at, id }: EnvironmentParent,
    @Args(() => DeploymentsArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    const page = await context.list(listDeployments, { ...at, ...args, environment: id });
    return mapConnection(page, (record) => placedDeployment(record, at));
  }
}

@Resolver(() => Deployment)
export class DeploymentEdgesResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => Environment, { nullable: true, description: 'Where it is published' })
  async environment(@Root() { at, environment }: DeploymentParent, @Ctx() context: GraphqlContext) {
    return { ...(await context.run(getEnvironment, { ...at, environment: environment.id })), at };
  }

  @FieldResolver(() => Commit, { nullable: true, description: 'What is published; null when it is gone' })
  commit(@Root() { at, commit_sha }: DeploymentParent, @Ctx() context: GraphqlContext) {
    const commits = context.loader(`commits ${at.organization}/${at.project}`, (shas) =>
      context.run(getCommits, { ...at, shas: [...shas] }),
    );
    return commits.load(commit_sha);
  }
}

@Resolver(() => DeploymentJob)
export class DeploymentJobEdgesResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => DeploymentLogPart, { nullable: true, description: getDeploymentLog.summary })
  log(
    @Root() { at, id }: JobParent,
    @Arg('offset', () => Int, { defaultValue: 0 }) offset: number,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(getDeploymentLog, { ...at, job: id, offset });
  }
}

@Resolver(() => Branch)
export class BranchEnvironmentsResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => EnvironmentConnection, { nullable: true, description: 'Environments that publish it' })
  async environments(
    @Root() { at, name }: BranchParent,
    @Args(() => EnvironmentsArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    const page = await context.list(listEnvironments, { ...at, ...args, branch: name });
    return mapConnection(page, (record) => ({ ...record, at }));
  }
}

@Resolver(() => PullSummary)
export class PullSummaryDeploymentsResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => [Deployment], { nullable: true, description: 'The newest of the branch to be merged' })
  async deployments(@Root() { at, head }: PullParent, @Ctx() context: GraphqlContext) {
    const ofBranches = context.loader(`deployments ${at.organization}/${at.project}`, (branches) =>
      context.run(listDeploymentsOfBranches, { ...at, branches: [...branches] }),
    );
    return (await ofBranches.load(head.ref)).map((record) => placedDeployment(record, at));
  }
}

@Resolver(() => Pull)
export class PullDeploymentsResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => DeploymentConnection, { nullable: true, description: 'Deployments of the branch to be merged' })
  async deployments(
    @Root() { at, head }: PullParent,
    @Args(() => DeploymentsArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    const page = await context.list(listDeployments, { ...at, ...args, branch: head.ref });
    return mapConnection(page, (record) => placedDeployment(record, at));
  }
}
