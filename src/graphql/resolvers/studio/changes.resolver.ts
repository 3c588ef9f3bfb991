import { Arg, Args, Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import { commitChanges } from '../../../domain/studio/changes/commit-changes.operations.ts';
import { revertEntry, revertMedia } from '../../../domain/studio/changes/revert.operations.ts';
import { compareBranches } from '../../../domain/studio/compare/compare.operations.ts';
import type { GraphqlContext } from '../../context.ts';
import { argsOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { conflictsIn } from './merges.resolver.ts';
import { Studio, type StudioParent } from './studio.types.ts';

const Comparison = outputOf(compareBranches);
const CompareArgs = argsOf(compareBranches);

@Resolver(() => Studio)
export class CompareResolver {
  @FieldResolver(() => Comparison, { nullable: true, description: compareBranches.summary })
  compare(@Root() { at }: StudioParent, @Args(() => CompareArgs) args: object, @Ctx() context: GraphqlContext) {
    return context.run(compareBranches, { ...at, ...args });
  }
}

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

const RevertedFile = outputOf(revertEntry);
const RevertEntryInput = inputOf(revertEntry);
const RevertMediaInput = inputOf(revertMedia);

/** What is answered when later changes stand in the way. */
function refused(error: unknown) {
  const conflicts = conflictsIn(error) as { path: string; stages: { current: string | null } }[];
  const [first] = conflicts;
  if (!first) throw error;
  const nothing = { deleted: false, commit: null, unchanged: true, merged: false, resolved: [], warnings: [] };
  return { ...nothing, path: first.path, sha: first.stages.current, conflicts };
}

@Resolver()
export class RevertResolver {
  @Command(() => RevertedFile, revertEntry)
  async revertEntry(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => RevertEntryInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(revertEntry, { ...at, ...input }).catch(refused);
  }

  @Command(() => RevertedFile, revertMedia)
  async revertMedia(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => RevertMediaInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(revertMedia, { ...at, ...input }).catch(refused);
  }
}
