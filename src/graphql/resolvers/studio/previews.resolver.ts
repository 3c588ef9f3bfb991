import { Arg, Args, Ctx, Extensions, FieldResolver, Int, Resolver, Root } from 'type-graphql';
import {
  getDeploymentPreview,
  getEnvironmentPreview,
} from '../../../domain/studio/previews/preview-link.operations.ts';
import type { GraphqlContext } from '../../context.ts';
import { argsOf, outputOf } from '../../types/operations.ts';
import { Deployment, type DeploymentParent, Environment, type EnvironmentParent } from './deployments.types.ts';
import { Entry, type EntryParent } from './studio.types.ts';

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
