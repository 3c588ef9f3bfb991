import { Arg, Args, Ctx, FieldResolver, Int, Resolver, Root } from 'type-graphql';
import { mergePull } from '../../../domain/studio/pulls/merge-pull.operations.ts';
import { getPull, listPulls } from '../../../domain/studio/pulls/pulls.operations.ts';
import { createPull, updatePull } from '../../../domain/studio/pulls/write-pull.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { conflictsIn } from './merges.resolver.ts';
import { Pull, Studio, type StudioParent } from './studio.types.ts';

const PullConnection = connectionOf(listPulls, 'Pull');
const MergedPull = outputOf(mergePull);
const ListPullsArgs = argsOf(listPulls);
const CreatePullInput = inputOf(createPull);
const UpdatePullInput = inputOf(updatePull);
const MergePullInput = inputOf(mergePull);

@Resolver(() => Studio)
export class PullsResolver {
  @FieldResolver(() => PullConnection, { nullable: true, description: listPulls.summary })
  async pulls(
    @Root() { at }: StudioParent,
    @Args(() => ListPullsArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return mapConnection(await context.list(listPulls, { ...at, ...args }), (record) => ({ ...record, at }));
  }

  @FieldResolver(() => Pull, { nullable: true, description: getPull.summary })
  async pull(@Root() { at }: StudioParent, @Arg('number', () => Int) number: number, @Ctx() context: GraphqlContext) {
    return { ...(await context.run(getPull, { ...at, number })), at };
  }

  @Command(() => Pull, createPull)
  async createPull(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => CreatePullInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return { ...(await context.run(createPull, { ...at, ...input })), at };
  }

  @Command(() => Pull, updatePull)
  async updatePull(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => UpdatePullInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return { ...(await context.run(updatePull, { ...at, ...input })), at };
  }

  @Command(() => MergedPull, mergePull)
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
