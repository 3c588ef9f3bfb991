import { Arg, Args, Ctx, Extensions, FieldResolver, Int, Resolver, Root } from 'type-graphql';
import {
  createEnvironment,
  deleteEnvironment,
  getEnvironment,
  listEnvironments,
  updateEnvironment,
} from '../../../domain/studio/environments/environments.operations.ts';
import {
  getDeploymentPreview,
  getEnvironmentPreview,
} from '../../../domain/studio/previews/preview-link.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { Deployment, type DeploymentParent, Environment, type EnvironmentParent } from './deployments.types.ts';
import { Entry, type EntryParent, Studio, type StudioParent } from './studio.types.ts';

const EnvironmentConnection = connectionOf(listEnvironments, 'Environment');
const SavedEnvironment = outputOf(createEnvironment);
const ListEnvironmentsArgs = argsOf(listEnvironments);
const CreateEnvironmentInput = inputOf(createEnvironment);
const UpdateEnvironmentInput = inputOf(updateEnvironment);
const DeleteEnvironmentInput = inputOf(deleteEnvironment);

/** Where branches are published. */
@Resolver(() => Studio)
export class EnvironmentsResolver {
  @FieldResolver(() => EnvironmentConnection, { nullable: true, description: listEnvironments.summary })
  async environments(
    @Root() { at }: StudioParent,
    @Args(() => ListEnvironmentsArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return mapConnection(await context.list(listEnvironments, { ...at, ...args }), (record) => ({ ...record, at }));
  }

  @FieldResolver(() => Environment, { nullable: true, description: getEnvironment.summary })
  async environment(@Root() { at }: StudioParent, @Arg('id', () => Int) id: number, @Ctx() context: GraphqlContext) {
    return { ...(await context.run(getEnvironment, { ...at, environment: id })), at };
  }

  @Command(() => SavedEnvironment, createEnvironment)
  createEnvironment(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => CreateEnvironmentInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(createEnvironment, { ...at, ...input });
  }

  @Command(() => SavedEnvironment, updateEnvironment)
  updateEnvironment(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => UpdateEnvironmentInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(updateEnvironment, { ...at, ...input });
  }

  @Command(() => Boolean, deleteEnvironment)
  async deleteEnvironment(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => DeleteEnvironmentInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    await context.run(deleteEnvironment, { ...at, ...input });
    return true;
  }
}

const PreviewLink = outputOf(getEnvironmentPreview);
const PreviewArgs = argsOf(getEnvironmentPreview, ['environment']);

interface PathArgs {
  path?: string;
}

@Resolver(() => Environment)
export class EnvironmentPreviewResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => PreviewLink, { nullable: true, description: getEnvironmentPreview.summary })
  preview(
    @Root() { at, id }: EnvironmentParent,
    @Args(() => PreviewArgs) args: PathArgs,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(getEnvironmentPreview, { ...at, ...args, environment: id });
  }
}

@Resolver(() => Deployment)
export class DeploymentPreviewResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => PreviewLink, { nullable: true, description: getDeploymentPreview.summary })
  preview(
    @Root() { at, id }: DeploymentParent,
    @Args(() => PreviewArgs) args: PathArgs,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(getDeploymentPreview, { ...at, ...args, deployment: id });
  }
}

@Resolver(() => Entry)
export class EntryPreviewResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => PreviewLink, {
    nullable: true,
    description: 'Opens its page on an environment; null when nothing is published there, or its address is not known',
  })
  preview(
    // The path of its page, where routes are saved for the project.
    @Root() { at: { organization, project }, url }: EntryParent & { url?: string },
    @Arg('environment', () => Int) environment: number,
    @Ctx() context: GraphqlContext,
  ) {
    return url === undefined
      ? null
      : context.run(getEnvironmentPreview, { organization, project, environment, path: url });
  }
}
