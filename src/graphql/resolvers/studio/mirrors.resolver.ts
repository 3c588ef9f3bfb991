import { Arg, Args, Ctx, Mutation, Resolver } from 'type-graphql';
import { removeRemote, setRemote } from '../../../domain/studio/upstream/remote.operations.ts';
import { syncRepository } from '../../../domain/studio/upstream/sync.operations.ts';
import type { GraphqlContext } from '../../context.ts';
import { inputOf, outputOf } from '../../types/operations.ts';
import { ProjectArgs } from '../places.ts';

const RepositoryWithHook = outputOf(setRemote);
const Sync = outputOf(syncRepository);
const SetRemoteInput = inputOf(setRemote);
const SyncRepositoryInput = inputOf(syncRepository);

/** Repositories that mirror one on another git host. */
@Resolver()
export class MirrorsResolver {
  @Mutation(() => RepositoryWithHook, { nullable: true, description: setRemote.summary })
  setRemote(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => SetRemoteInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(setRemote, { ...at, ...input });
  }

  @Mutation(() => Boolean, { nullable: true, description: removeRemote.summary })
  async removeRemote(@Args(() => ProjectArgs) at: ProjectArgs, @Ctx() context: GraphqlContext) {
    await context.run(removeRemote, { ...at });
    return true;
  }

  @Mutation(() => Sync, { nullable: true, description: syncRepository.summary })
  syncRepository(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => SyncRepositoryInput, { nullable: true }) input: object | null,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(syncRepository, { ...at, ...input });
  }
}
