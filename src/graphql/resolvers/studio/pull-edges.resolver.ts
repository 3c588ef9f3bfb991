import { Args, type ClassType, Ctx, Extensions, FieldResolver, Resolver, Root } from 'type-graphql';
import { conflict } from '../../../domain/studio/merge/merge.schema.ts';
import { getPull, listPullCommits, listPullFiles } from '../../../domain/studio/pulls/pulls.operations.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { classOf } from '../../types/derive.ts';
import { argsOf, connectionOf } from '../../types/operations.ts';
import { branchNamed } from './branch-edges.resolver.ts';
import { Branch, Pull, type PullParent, PullSummary } from './studio.types.ts';

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
