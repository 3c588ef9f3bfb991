import type { GraphQLResolveInfo } from 'graphql';
import { Arg, Args, Ctx, FieldResolver, Info, Resolver, Root } from 'type-graphql';
import { getCollection, getSchema } from '../../../domain/studio/content/schemas.operations.ts';
import { getEntry, listEntries } from '../../../domain/studio/entries/entries.operations.ts';
import { collection as collectionShape } from '../../../domain/studio/entries/entries.schema.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, outputOf } from '../../types/operations.ts';
import { lazyRecord } from '../lazy-record.ts';
import { selects, selectsInItems } from './selected-fields.ts';
import { Collection, type CollectionParent, Entry, type RefArgs, Studio, type StudioParent } from './studio.types.ts';

const Schema = outputOf(getSchema);
const EntryConnection = connectionOf(listEntries, 'Entry');
const CollectionArgs = argsOf(getCollection, ['collection']);
const EntryArgs = argsOf(getEntry, ['entry', 'raw', 'collection']);
const ListEntriesArgs = argsOf(listEntries, ['collection', 'branch', 'ref', 'include']);

/** A collection by its name, read when more than the name is selected. */
export const collectionAt = (context: GraphqlContext, at: CollectionParent['at']) => ({
  ...lazyRecord(collectionShape, () => context.run(getCollection, { ...at })),
  name: at.collection,
  at,
});

@Resolver(() => Studio)
export class StudioCollectionsResolver {
  @FieldResolver(() => Collection, { nullable: true, description: getCollection.summary })
  collection(
    @Root() { at }: StudioParent,
    @Arg('name', () => String) name: string,
    @Args(() => CollectionArgs) { branch, ref }: RefArgs,
    @Ctx() context: GraphqlContext,
  ) {
    return collectionAt(context, { ...at, branch, ref, collection: name });
  }

  @FieldResolver(() => Entry, { nullable: true, description: getEntry.summary })
  async entry(
    @Root() { at }: StudioParent,
    @Arg('collection', () => String) collection: string,
    @Arg('slug', () => String) slug: string,
    @Args(() => EntryArgs) { branch, ref }: RefArgs,
    @Ctx() context: GraphqlContext,
    @Info() info: GraphQLResolveInfo,
  ) {
    const place = { ...at, branch, ref, collection };
    const record = await context.run(getEntry, { ...place, entry: slug, raw: selects(info, 'raw') });
    return { ...record, at: { ...place, slug: record.slug } };
  }
}

@Resolver(() => Collection)
export class CollectionResolver {
  @FieldResolver(() => Schema, { nullable: true, description: getSchema.summary })
  schema(@Root() { at }: CollectionParent, @Ctx() context: GraphqlContext) {
    return context.run(getSchema, { ...at });
  }

  @FieldResolver(() => EntryConnection, { nullable: true, description: listEntries.summary })
  async entries(
    @Root() { at }: CollectionParent,
    @Args(() => ListEntriesArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
    @Info() info: GraphQLResolveInfo,
  ) {
    const include = [
      ...(selectsInItems(info, 'body') ? ['body'] : []),
      ...(selectsInItems(info, 'updated_at', 'updated_by') ? ['updated'] : []),
    ];
    const page = await context.list(listEntries, { ...at, ...args, include });
    return mapConnection(page, (record) => ({ ...record, at: { ...at, slug: record.slug } }));
  }
}
