import { Arg, Args, type ClassType, Ctx, Extensions, FieldResolver, Int, Resolver, Root } from 'type-graphql';
import { conflict } from '../../../domain/studio/merge/merge.schema.ts';
import { mergePull } from '../../../domain/studio/pulls/merge-pull.operations.ts';
import { getPull, listPullCommits, listPullFiles, listPulls } from '../../../domain/studio/pulls/pulls.operations.ts';
import { createPull, updatePull } from '../../../domain/studio/pulls/write-pull.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { classOf } from '../../types/derive.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { branchNamed } from './branches.resolver.ts';
import { conflictsIn } from './merges.resolver.ts';
import { Branch, Pull, type PullParent, PullSummary, Studio, type StudioParent } from './studio.types.ts';

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

const Conflict = classOf(conflict, 'Conflict', false);
const CommitConnection = connectionOf(listPullCommits);
const FileDiffConnection = connectionOf(listPullFiles);
const PullCommitsArgs = argsOf(listPullCommits, ['number']);
const PullFilesArgs = argsOf(listPullFiles, ['number']);

/** What a pull request leads to, whether read alone or in a list. */
function pullEdges(type: ClassType) {
  @Resolver(() => type)
  class PullEdges {
    @FieldResolver(() => Branch, { nullable: true, description: 'The branch to be merged; null when it is gone' })
    head_branch(@Root() { at, head }: PullParent, @Ctx() context: GraphqlContext) {
      return branchNamed(context, at, head.ref);
    }

    @FieldResolver(() => Branch, { nullable: true, description: 'The branch to merge into; null when it is gone' })
    base_branch(@Root() { at, base }: PullParent, @Ctx() context: GraphqlContext) {
      return branchNamed(context, at, base.ref);
    }

    @FieldResolver(() => CommitConnection, { nullable: true, description: listPullCommits.summary })
    commits(
      @Root() { at, number }: PullParent,
      @Args(() => PullCommitsArgs) args: ListArguments,
      @Ctx() context: GraphqlContext,
    ) {
      return context.list(listPullCommits, { ...at, ...args, number });
    }

    @Extensions({ cost: 10 })
    @FieldResolver(() => FileDiffConnection, { nullable: true, description: listPullFiles.summary })
    files(
      @Root() { at, number }: PullParent,
      @Args(() => PullFilesArgs) args: ListArguments,
      @Ctx() context: GraphqlContext,
    ) {
      return context.list(listPullFiles, { ...at, ...args, number });
    }
  }
  return PullEdges;
}

export const PullEdgesResolver = pullEdges(Pull);
export const PullSummaryEdgesResolver = pullEdges(PullSummary);

@Resolver(() => PullSummary)
export class PullConflictsResolver {
  @Extensions({ cost: 20 })
  @FieldResolver(() => [Conflict], { nullable: true, description: 'What a merge would meet' })
  async conflicts(@Root() { at, number }: PullParent, @Ctx() context: GraphqlContext) {
    return (await context.run(getPull, { ...at, number })).conflicts;
  }
}
