import { Arg, Args, Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import { createEntry, deleteEntry, updateEntry } from '../../../domain/studio/entries/change-entries.operations.ts';
import { getEntry } from '../../../domain/studio/entries/entries.operations.ts';
import type { GraphqlContext } from '../../context.ts';
import { inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { conflictsIn } from './merges.resolver.ts';
import { Entry, type EntryParent, SavedEntry } from './studio.types.ts';

const DeletedEntry = outputOf(deleteEntry);
const CreateEntryInput = inputOf(createEntry);
const UpdateEntryInput = inputOf(updateEntry);
const DeleteEntryInput = inputOf(deleteEntry);

interface Written {
  branch?: string | null;
}

/** A saved entry, with the place its edges read: the branch it was written to. */
const placed = <Saved extends { collection: string; slug: string }>(
  at: ProjectArgs,
  { branch }: Written,
  saved: Saved,
) => ({ ...saved, at: { ...at, branch, collection: saved.collection, slug: saved.slug } });

@Resolver(() => SavedEntry)
export class EntryWritesResolver {
  @Command(() => SavedEntry, createEntry)
  async createEntry(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => CreateEntryInput) input: Written,
    @Ctx() context: GraphqlContext,
  ) {
    return placed(at, input, await context.run(createEntry, { ...at, ...input }));
  }

  @Command(() => SavedEntry, updateEntry)
  async updateEntry(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => UpdateEntryInput) input: Written & { collection: string; entry: string },
    @Ctx() context: GraphqlContext,
  ) {
    try {
      return placed(at, input, await context.run(updateEntry, { ...at, ...input }));
    } catch (error) {
      const conflicts = conflictsIn(error);
      const { collection, entry, branch } = input;
      const stored = await context.run(getEntry, { ...at, collection, entry, branch });
      return placed(at, input, { ...stored, commit: null, unchanged: true, merged: false, conflicts });
    }
  }

  @Command(() => DeletedEntry, deleteEntry)
  deleteEntry(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => DeleteEntryInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(deleteEntry, { ...at, ...input });
  }

  @FieldResolver(() => Entry, { description: 'The entry as it is now, with what it leads to' })
  record(@Root() saved: EntryParent) {
    return saved;
  }
}
