import { Arg, Args, Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import { getEntry } from '../../../domain/studio/entries/entries.operations.ts';
import {
  detectRoutePatterns,
  findEntryByUrl,
  listRoutePatterns,
} from '../../../domain/studio/routes/route-patterns.operations.ts';
import { routePattern } from '../../../domain/studio/routes/routes.schema.ts';
import type { GraphqlContext } from '../../context.ts';
import { classOf } from '../../types/derive.ts';
import { argsOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { Entry, type RefArgs, Studio, type StudioParent } from './studio.types.ts';

const DetectedRoutes = outputOf(detectRoutePatterns);
const RoutePattern = classOf(routePattern, 'RoutePattern', false);
const DetectRoutePatternsInput = inputOf(detectRoutePatterns);
const EntryAtArgs = argsOf(findEntryByUrl, ['url']);

/** Where the pages of entries are, and which entry a page is. */
@Resolver(() => Studio)
export class RoutesResolver {
  @FieldResolver(() => [RoutePattern], { nullable: true, description: listRoutePatterns.summary })
  route_patterns(@Root() { at }: StudioParent, @Ctx() context: GraphqlContext) {
    return context.run(listRoutePatterns, { ...at });
  }

  @FieldResolver(() => Entry, { nullable: true, description: findEntryByUrl.summary })
  async entry_at(
    @Root() { at }: StudioParent,
    @Arg('url', () => String) url: string,
    @Args(() => EntryAtArgs) { branch, ref }: RefArgs,
    @Ctx() context: GraphqlContext,
  ) {
    const found = await context.run(findEntryByUrl, { ...at, branch, ref, url });
    if (found === null) return null;
    const place = { ...at, branch, ref, collection: found.collection };
    const record = await context.run(getEntry, { ...place, entry: found.slug });
    return { ...record, at: { ...place, slug: record.slug } };
  }

  @Command(() => DetectedRoutes, detectRoutePatterns)
  detectRoutePatterns(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => DetectRoutePatternsInput, { nullable: true }) input: object | null,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(detectRoutePatterns, { ...at, ...input });
  }
}
