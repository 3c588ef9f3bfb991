import { Arg, Args, Ctx, Resolver } from 'type-graphql';
import { mergeBranches } from '../../../domain/studio/merge/merge-branches.operations.ts';
import { DomainError } from '../../../kernel/errors.ts';
import type { GraphqlContext } from '../../context.ts';
import { inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';

const MergeResult = outputOf(mergeBranches);
const MergeBranchesInput = inputOf(mergeBranches);

/** The conflicts a command met: in GraphQL they are an answer, for a client has to show them. Any other refusal is thrown again. */
export function conflictsIn(error: unknown): unknown[] {
  if (error instanceof DomainError && error.code === 'merge_conflict')
    return (error.details?.conflicts ?? []) as unknown[];
  throw error;
}

@Resolver()
export class MergesResolver {
  @Command(() => MergeResult, mergeBranches)
  async mergeBranches(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => MergeBranchesInput) input: { strategy?: string | null },
    @Ctx() context: GraphqlContext,
  ) {
    try {
      return await context.run(mergeBranches, { ...at, ...input });
    } catch (error) {
      const conflicts = conflictsIn(error);
      const strategy = input.strategy ?? 'merge';
      const answer = { merged: false, up_to_date: false, dry_run: false, mergeable: false };
      return { ...answer, strategy, commit: null, conflicts, resolved: [] };
    }
  }
}
