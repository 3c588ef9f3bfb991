import { Arg, Args, Ctx, Extensions, FieldResolver, Int, Resolver, Root } from 'type-graphql';
import { getPreviewLink } from '../../../domain/studio/previews/preview-link.operations.ts';
import type { GraphqlContext } from '../../context.ts';
import { argsOf, outputOf } from '../../types/operations.ts';
import { Deployment, type DeploymentParent, Environment, type EnvironmentParent } from './deployments.types.ts';
import { Entry, type EntryParent } from './studio.types.ts';

const PreviewLink = outputOf(getPreviewLink);
const PreviewArgs = argsOf(getPreviewLink, ['environment', 'deployment']);

interface PathArgs {
  path?: string;
}

const description = getPreviewLink.summary;

@Resolver(() => Environment)
export class EnvironmentPreviewResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => PreviewLink, { nullable: true, description })
  preview(
    @Root() { at, id }: EnvironmentParent,
    @Args(() => PreviewArgs) args: PathArgs,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(getPreviewLink, { ...at, ...args, environment: id });
  }
}

@Resolver(() => Deployment)
export class DeploymentPreviewResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => PreviewLink, { nullable: true, description })
  preview(
    @Root() { at, id }: DeploymentParent,
    @Args(() => PreviewArgs) args: PathArgs,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(getPreviewLink, { ...at, ...args, deployment: id });
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
    return url === undefined ? null : context.run(getPreviewLink, { organization, project, environment, path: url });
  }
}
