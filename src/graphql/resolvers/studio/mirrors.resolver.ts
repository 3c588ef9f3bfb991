import { Arg, Args, Ctx, Resolver } from 'type-graphql';
import { removeRemote, setRemote, syncRepository } from '../../../domain/studio/upstream/upstream.operations.ts';
import type { GraphqlContext } from '../../context.ts';
import { inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';

const RepositoryWithHook = outputOf(setRemote);
const Sync = outputOf(syncRepository);
const SetRemoteInput = inputOf(setRemote);
const SyncRepositoryInput = inputOf(syncRepository);

/** Repositories that mirror one on another git host. */
@Resolver()
export class MirrorsResolver {
  @Command(() => RepositoryWithHook, setRemote)
  setRemote(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => SetRemoteInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(setRemote, { ...at, ...input });
  }

  @Command(() => Boolean, removeRemote)
  async removeRemote(@Args(() => ProjectArgs) at: ProjectArgs, @Ctx() context: GraphqlContext) {
    await context.run(removeRemote, { ...at });
    return true;
  }

  @Command(() => Sync, syncRepository)
  syncRepository(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => SyncRepositoryInput, { nullable: true }) input: object | null,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(syncRepository, { ...at, ...input });
  }
}
