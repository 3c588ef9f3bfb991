import { z } from 'zod';
import { DomainError, type FieldError } from '../../../kernel/errors.ts';
import { fieldFault, freeObject } from '../../../kernel/shapes.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import { commitStep } from '../changes/staged-content.ts';
import { authorOf } from '../changes/write-rules.ts';
import type { CollectionIndex } from '../content/collection-index.ts';
import { checkWritable, editFile } from '../frontmatter/edit-file.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import type { Frontmatter } from '../frontmatter/values.ts';
import { checkDirectory } from '../path-rules.ts';
import { directBranch } from '../repository/branch-rules.ts';
import { refInput, snapshotOf } from '../repository/refs.ts';
import { studioWarning } from '../schema/schema.schema.ts';
import { studioOperation } from '../studio-operation.ts';
import { deletedEntry, entryChange, entryDraft, savedEntry, withAssets, writeInput } from './entries.schema.ts';
import { isDateField } from './plan/change-entry.ts';
import { collectionFor, newEntry, pathForNew, planCreate } from './plan/plan-create.ts';
import { planDelete } from './plan/plan-delete.ts';
import { planUpdate } from './plan/plan-update.ts';
import { checkSize, savedRecord } from './saved-entry.ts';
import { judgeWrite } from './validate.ts';

export const createEntry = studioOperation({
  name: 'studio.createEntry',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: { manage_studio: 'when it names another author, or the file is code although a collection has it' },
  summary: 'Create entry',
  input: entryDraft.extend({ collection: z.string() }),
  output: savedEntry,
  audit: ({ collection, slug }) => ({ type: 'entry', id: `${collection}/${slug}` }),
  async execute(context, { collection, ...draft }) {
    const { git, studio } = context;
    const author = authorOf(context, draft.author);
    const branch = await directBranch(context, draft.branch);
    const { commit, snapshot, result } = await commitStep(
      context,
      { branch, author, message: draft.message },
      (staged) => planCreate(context, staged, { ...draft, collection }),
    );
    const site = await studio.content.site(git, snapshot);
    const index = site.collection(collection);
    const place = index.at(result.place.path) ?? result.place;
    return savedRecord(context, snapshot, commit, { ...result, schemaKey: site.schemaKey, index, place });
  },
});

export const updateEntry = studioOperation({
  name: 'studio.updateEntry',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: {
    manage_studio:
      'when it names another author, the file is code although a collection has it, or a rename moves files that are neither entries nor media',
  },
  comparesTag: true,
  mayRequireTag: true,
  summary: 'Update entry',
  input: entryChange.extend({ collection: z.string(), entry: z.string().describe('Slug of the entry') }),
  output: savedEntry,
  audit: ({ collection, entry }) => ({ type: 'entry', id: `${collection}/${entry}` }),
  async execute(context, { slug, ...edit }) {
    const author = authorOf(context, edit.author);
    const branch = await directBranch(context, edit.branch);
    const to = slug === undefined ? undefined : { slug, field: 'slug' };
    // What moves along, and whatever links to it, is read.
    const isLong = to !== undefined && to.slug !== edit.entry;
    const { commit, snapshot, result } = await commitStep(
      context,
      { branch, author, message: edit.message, isLong },
      (staged) => planUpdate(context, staged, { ...edit, to }),
    );
    return savedRecord(context, snapshot, commit, result);
  },
});

export const deleteEntry = studioOperation({
  name: 'studio.deleteEntry',
  kind: 'command',
  effect: 'external',
  permission: 'delete_studio',
  also: { manage_studio: 'when it names another author, or the file is code although a collection has it' },
  irreversible: true,
  comparesTag: true,
  mayRequireTag: true,
  summary: 'Delete entry',
  input: z.object({
    collection: z.string(),
    entry: z.string().describe('Slug of the entry'),
    sha: z.string().optional().describe('Object id the file must have'),
    force: z.boolean().optional().describe('Delete although other entries require it'),
    assets: withAssets,
    ...writeInput,
  }),
  output: deletedEntry,
  audit: ({ collection, entry }) => ({ type: 'entry', id: `${collection}/${entry}` }),
  async execute(context, input) {
    const { collection, entry } = input;
    const author = authorOf(context, input.author);
    const branch = await directBranch(context, input.branch);
    const { commit, result } = await commitStep(context, { branch, author, message: input.message }, (staged) =>
      planDelete(context, staged, input),
    );
    if (!commit) throw new DomainError('not_found', `${collection} has no entry ${entry}`);
    const { warnings: _, ...deleted } = result;
    return { deleted: true as const, ...deleted, commit };
  },
});

/** What a save would store. */
interface Draft {
  frontmatter: Frontmatter;
  body?: string | undefined;
}

/** Where a draft would go, and the file it would replace. */
interface Target {
  path: string;
  before: Buffer | null;
  faults: FieldError[];
}

/** The faults of one part of a save. */
function faultsOf(work: () => unknown): FieldError[] {
  try {
    work();
    return [];
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return error.details?.errors ?? [{ field: '', code: error.code, message: error.message }];
  }
}

async function targetOf(index: CollectionIndex, snapshot: Snapshot, slug: string | undefined): Promise<Target> {
  const { path: home, slugs } = index.schema;
  const path = [home, `new.${slugs.extensions[0] ?? 'md'}`].filter(Boolean).join('/');
  const target: Target = { path, before: null, faults: [] };
  const stored = slug === undefined ? undefined : index.find(slug);
  if (stored) return { ...target, path: stored.path, before: await snapshot.blob(stored.oid) };
  if (slug === undefined) return target;
  const faults = faultsOf(() => {
    target.path = pathForNew(index, checkDirectory('slug', slug), {});
  });
  return { ...target, faults };
}

/** Makes the bytes of the save, and throws what makes them impossible. */
function write(index: CollectionIndex, { path, before }: Target, { frontmatter, body }: Draft): void {
  if (before === null) newEntry(index, path, { frontmatter, body: body ?? '', format: undefined });
  else {
    const changes = { frontmatter, ...(body !== undefined && { body }) };
    checkSize(editFile(before, path, changes, { isDate: isDateField(index.schema) }).bytes);
  }
}

export const validateEntry = studioOperation({
  name: 'studio.validateEntry',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Validate an entry without saving it',
  input: z.object({
    collection: z.string(),
    frontmatter: freeObject.describe('The whole of it'),
    body: z.string().optional(),
    slug: z.string().optional().describe('Of an entry that is there: what is wrong with it already is only a warning'),
    ...refInput,
  }),
  output: z
    .object({ valid: z.boolean(), errors: z.array(fieldFault), warnings: z.array(studioWarning) })
    .meta({ id: 'EntryValidation' }),
  async execute(context, { collection, slug, branch, ref, ...draft }) {
    const { git, studio } = context;
    const snapshot = await snapshotOf(git, { branch, ref });
    const site = await studio.content.site(git, snapshot);
    const index = await collectionFor(context, { head: snapshot, site }, collection, slug ?? 'new');
    const target = await targetOf(index, snapshot, slug);
    // What no file can hold is not held against the schema: each of many thousand values would be looked at.
    const unwritable = faultsOf(() => checkWritable(draft.frontmatter, 'json'));
    if (unwritable.length > 0) return { valid: false, errors: [...target.faults, ...unwritable], warnings: [] };
    const stored = target.before && parseFile(target.before, target.path).frontmatter;
    const { errors, warnings } = await judgeWrite({ tree: snapshot, site }, index, {
      paths: [target.path],
      wanted: draft.frontmatter,
      stored,
    });
    const all = [...target.faults, ...errors, ...faultsOf(() => write(index, target, draft))];
    return { valid: all.length === 0, errors: all, warnings };
  },
});
