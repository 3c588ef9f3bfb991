import { Arg, Args, Ctx, Resolver } from 'type-graphql';
import { revertEntry, revertMedia } from '../../../domain/studio/changes/revert.operations.ts';
import type { GraphqlContext } from '../../context.ts';
import { inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { conflictsIn } from './merges.resolver.ts';

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
