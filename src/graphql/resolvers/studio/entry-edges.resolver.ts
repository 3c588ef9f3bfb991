import { Args, type ClassType, Ctx, Extensions, FieldResolver, Resolver, Root } from 'type-graphql';
import type { z } from 'zod';
import { getSchema } from '../../../domain/studio/content/schemas.operations.ts';
import {
  type entriesInput,
  entryReference,
  listReferences,
  listReferrers,
  listTranslations,
} from '../../../domain/studio/entries/references.operations.ts';
import { listEntryMedia, listMedia } from '../../../domain/studio/media/media.operations.ts';
import { listCommits } from '../../../domain/studio/repository/commits.operations.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { stableText } from '../../stable-text.ts';
import { classOf } from '../../types/derive.ts';
import { argsOf, connectionOf, outputOf } from '../../types/operations.ts';
import { collectionAt } from './collections.resolver.ts';
import { Collection, Entry, type EntryParent, EntrySummary } from './studio.types.ts';

const Schema = outputOf(getSchema);
const Media = outputOf(listMedia);
const EntryReference = classOf(entryReference, 'EntryReference', false);
const ReferrerConnection = connectionOf(listReferrers);
const CommitConnection = connectionOf(listCommits);
const HistoryArgs = argsOf(listCommits, ['branch', 'ref', 'path', 'collection', 'slug']);
const ListReferrersArgs = argsOf(listReferrers, ['collection', 'entry', 'branch', 'ref']);

type Translations = z.input<typeof listTranslations.output>[number];
type EntriesInput = z.input<z.ZodObject<typeof entriesInput>>;

/** What one entry leads to, asked once for all entries of its collection that a document asks for. */
function among<V>(
  context: GraphqlContext,
  what: string,
  { slug, ...at }: EntryParent['at'],
  load: (input: Pick<EntriesInput, 'slugs'> & typeof at) => Promise<readonly V[]>,
): Promise<V> {
  return context.loader(`${what} ${stableText(at)}`, (slugs) => load({ ...at, slugs: [...slugs] })).load(slug);
}

/** What an entry leads to, whether read alone or in a list. */
function entryEdges(type: ClassType) {
  @Resolver(() => type)
  class EntryEdges {
    @FieldResolver(() => Collection, { nullable: true, description: 'The collection it is in' })
    collection(@Root() { at: { slug: _, ...at } }: EntryParent, @Ctx() context: GraphqlContext) {
      return collectionAt(context, at);
    }

    @FieldResolver(() => Schema, { nullable: true, description: 'The schema of its collection' })
    schema(@Root() { at: { slug: _, ...at } }: EntryParent, @Ctx() context: GraphqlContext) {
      return context.run(getSchema, at);
    }

    @FieldResolver(() => [EntryReference], { nullable: true, description: 'Entries it names in its relations' })
    references(@Root() { at }: EntryParent, @Ctx() context: GraphqlContext) {
      return among(context, 'references', at, (input) => context.run(listReferences, input));
    }

    @FieldResolver(() => [EntrySummary], { nullable: true, description: 'The same entry in other languages' })
    async translations(@Root() { at }: EntryParent, @Ctx() context: GraphqlContext) {
      const found = await among<Translations>(context, 'translations', at, (input) =>
        context.run(listTranslations, input),
      );
      return found.map((record) => ({ ...record, at: { ...at, slug: record.slug } }));
    }

    @FieldResolver(() => [Media], { nullable: true, description: 'Files it shows or links to' })
    media(@Root() { at }: EntryParent, @Ctx() context: GraphqlContext) {
      return among(context, 'media', at, (input) => context.run(listEntryMedia, input));
    }
  }
  return EntryEdges;
}

export const EntryEdgesResolver = entryEdges(Entry);
export const EntrySummaryEdgesResolver = entryEdges(EntrySummary);

/** What is asked for one entry at a time, and so only of one that is read alone. */
@Resolver(() => Entry)
export class EntryListsResolver {
  @FieldResolver(() => CommitConnection, { nullable: true, description: 'Commits that touched it, newest first' })
  history(@Root() { at }: EntryParent, @Args(() => HistoryArgs) args: ListArguments, @Ctx() context: GraphqlContext) {
    return context.list(listCommits, { ...at, ...args });
  }

  @Extensions({ cost: 10 })
  @FieldResolver(() => ReferrerConnection, { nullable: true, description: listReferrers.summary })
  referenced_by(
    @Root() { at: { slug, ...at } }: EntryParent,
    @Args(() => ListReferrersArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listReferrers, { ...at, entry: slug, ...args });
  }
}
