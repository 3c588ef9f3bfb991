import { Arg, Args, type ClassType, Ctx, FieldResolver, Int, Mutation, Resolver, Root } from 'type-graphql';
import { mergePull } from '../../../domain/studio/pulls/merge-pull.operations.ts';
import { getPull, listPullFiles, listPulls } from '../../../domain/studio/pulls/pulls.operations.ts';
import { createPull, updatePull } from '../../../domain/studio/pulls/write-pull.operations.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { type Placed, ProjectArgs } from '../places.ts';
import { conflictsIn } from './merges.resolver.ts';
import { Studio, type StudioParent } from './studio.types.ts';

const Pull: ClassType = outputOf(getPull);
const PullConnection = connectionOf(listPulls, 'Pull');
const FileDiffConnection = connectionOf(listPullFiles);
const MergedPull = outputOf(mergePull);
const ListPullsArgs = argsOf(listPulls);
const ListPullFilesArgs = argsOf(listPullFiles, ['number']);
const CreatePullInput = inputOf(createPull);
const UpdatePullInput = inputOf(updatePull, { conditional: true });
const MergePullInput = inputOf(mergePull, { conditional: true });

type PullParent = Placed<ProjectArgs> & { number: number };

@Resolver(() => Studio)
export class PullsResolver {
  @FieldResolver(() => PullConnection, { nullable: true, description: listPulls.summary })
  pulls(@Root() { at }: StudioParent, @Args(() => ListPullsArgs) args: ListArguments, @Ctx() context: GraphqlContext) {
    return context.list(listPulls, { ...at, ...args });
  }

  @FieldResolver(() => Pull, { nullable: true, description: getPull.summary })
  async pull(@Root() { at }: StudioParent, @Arg('number', () => Int) number: number, @Ctx() context: GraphqlContext) {
    return { ...(await context.run(getPull, { ...at, number })), at };
  }

  @Mutation(() => Pull, { nullable: true, description: createPull.summary })
  async createPull(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => CreatePullInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return { ...(await context.run(createPull, { ...at, ...input })), at };
  }

  @Mutation(() => Pull, { nullable: true, description: updatePull.summary })
  async updatePull(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => UpdatePullInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return { ...(await context.run(updatePull, { ...at, ...input })), at };
  }

  @Mutation(() => MergedPull, { nullable: true, description: mergePull.summary })
  async mergePull(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => MergePullInput) input: { number: number },
    @Ctx() context: GraphqlContext,
  ) {
    const place = (pull: object) => ({ ...pull, at });
    try {
      const merged = await context.run(mergePull, { ...at, ...input });
      return { ...merged, pull: place(merged.pull) };
    } catch (error) {
      const conflicts = conflictsIn(error);
      const pull = place(await context.run(getPull, { ...at, number: input.number }));
      return { merged: false, commit: null, branch_deleted: false, conflicts, resolved: [], pull };
    }
  }
}

@Resolver(() => Pull)
export class PullEdgesResolver {
  @FieldResolver(() => FileDiffConnection, { nullable: true, description: listPullFiles.summary })
  files(
    @Root() { at, number }: PullParent,
    @Args(() => ListPullFilesArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listPullFiles, { ...at, ...args, number });
  }
}
