import { Arg, Args, Ctx, FieldResolver, Int, Resolver, Root } from 'type-graphql';
import {
  cancelDeployment,
  getDeployment,
  getLatestDeployment,
  listDeployments,
  rerunDeployment,
  startDeployment,
} from '../../../domain/studio/deployments/deployments.operations.ts';
import { reportDeployment } from '../../../domain/studio/deployments/report-deployment.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { Deployment, placedDeployment } from './deployments.types.ts';
import { Studio, type StudioParent } from './studio.types.ts';

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
