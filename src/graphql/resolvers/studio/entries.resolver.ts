import { Arg, Args, type ClassType, Ctx, Extensions, FieldResolver, Resolver, Root } from 'type-graphql';
import type { z } from 'zod';
import { getSchema } from '../../../domain/studio/content/schemas.operations.ts';
import {
  createEntry,
  deleteEntry,
  updateEntry,
  validateEntry,
} from '../../../domain/studio/entries/change-entries.operations.ts';
import { getEntry, searchEntries } from '../../../domain/studio/entries/entries.operations.ts';
import {
  type entriesInput,
  entryReference,
  listReferences,
  listReferrers,
  listTranslations,
} from '../../../domain/studio/entries/references.operations.ts';
import { listEntryMedia, listMedia } from '../../../domain/studio/media/media.operations.ts';
import { listCommits } from '../../../domain/studio/repository/commits.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { stableText } from '../../stable-text.ts';
import { classOf } from '../../types/derive.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { collectionAt } from './collections.resolver.ts';
import { conflictsIn } from './merges.resolver.ts';
import {
  Collection,
  Entry,
  type EntryParent,
  EntrySummary,
  type RefArgs,
  SavedEntry,
  Studio,
  type StudioParent,
} from './studio.types.ts';

const Schema = outputOf(getSchema);
const Media = outputOf(listMedia);
const EntryReference = classOf(entryReference, 'EntryReference', false);
const ReferrerConnection = connectionOf(listReferrers);
const CommitConnection = connectionOf(listCommits);
const HistoryArgs = argsOf(listCommits, ['branch', 'ref', 'path', 'collection', 'slug']);
const ListReferrersArgs = argsOf(listReferrers, ['collection', 'entry', 'branch', 'ref']);

type Translations = z.input<typeof listTranslations.output>[number];
type EntriesInput = z.input<z.ZodObject<typeof entriesInput>>;

/** References of one entry, read once for all entries of its collection in a document. */
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

/** Fields that need a read per entry, and so exist only on an entry that is read alone. */
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
