import { Args, Ctx, Extensions, FieldResolver, Resolver, Root } from 'type-graphql';
import { validateEntry } from '../../../domain/studio/entries/change-entries.operations.ts';
import { searchEntries } from '../../../domain/studio/entries/entries.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, outputOf } from '../../types/operations.ts';
import { type RefArgs, Studio, type StudioParent } from './studio.types.ts';

const EntryConnection = connectionOf(searchEntries, 'Entry');
const EntryValidation = outputOf(validateEntry);
const SearchEntriesArgs = argsOf(searchEntries);
const ValidateEntryArgs = argsOf(validateEntry);

@Resolver(() => Studio)
export class SearchResolver {
  @Extensions({ cost: 20 })
  @FieldResolver(() => EntryConnection, { nullable: true, description: searchEntries.summary })
  async search(
    @Root() { at }: StudioParent,
    @Args(() => SearchEntriesArgs) args: ListArguments & RefArgs,
    @Ctx() context: GraphqlContext,
  ) {
    const { branch, ref } = args;
    const page = await context.list(searchEntries, { ...at, ...args });
    return mapConnection(page, (record) => {
      const { collection, slug } = record;
      return { ...record, at: { ...at, branch, ref, collection, slug } };
    });
  }

  @FieldResolver(() => EntryValidation, { nullable: true, description: validateEntry.summary })
  validate(@Root() { at }: StudioParent, @Args(() => ValidateEntryArgs) args: object, @Ctx() context: GraphqlContext) {
    return context.run(validateEntry, { ...at, ...args });
  }
}
