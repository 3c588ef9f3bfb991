import { Arg, Args, Ctx, Resolver } from 'type-graphql';
import { commitChanges } from '../../../domain/studio/changes/commit-changes.operations.ts';
import type { GraphqlContext } from '../../context.ts';
import { inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { conflictsIn } from './merges.resolver.ts';

const CommittedChanges = outputOf(commitChanges);
const CommitChangesInput = inputOf(commitChanges);

@Resolver()
export class ChangesResolver {
  @Command(() => CommittedChanges, commitChanges)
  async commitChanges(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => CommitChangesInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    try {
      return await context.run(commitChanges, { ...at, ...input });
    } catch (error) {
      return { commit: null, unchanged: true, results: [], conflicts: conflictsIn(error) };
    }
  }
}
