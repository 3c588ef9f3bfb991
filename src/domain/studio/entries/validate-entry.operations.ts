import { z } from 'zod';
import { DomainError, type FieldError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import type { Snapshot } from '../../ports/git-records.ts';
import { fieldFault, freeObject } from '../../shapes.ts';
import { type CollectionIndex, findEntry } from '../content/collection-index.ts';
import { editFile } from '../frontmatter/edit-file.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import type { Frontmatter } from '../frontmatter/types.ts';
import { checkPath } from '../path-rules.ts';
import { refInput, snapshotOf } from '../repository/refs.ts';
import { studioWarning } from '../schema/schema.schema.ts';
import { isDateField } from './entry-format.ts';
import { collectionFor, newEntryBytes, pathForNew } from './plan-create.ts';
import { checkSize } from './saved-entry.ts';
import { judgeWrite } from './validate.ts';

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
  const stored = slug === undefined ? undefined : findEntry(index, slug);
  if (stored) return { ...target, path: stored.path, before: await snapshot.blob(stored.oid) };
  if (slug === undefined) return target;
  const faults = faultsOf(() => {
    target.path = pathForNew(index, checkPath('slug', slug), {});
  });
  return { ...target, faults };
}

/** Makes the bytes of the save, and throws what makes them impossible. */
function write(index: CollectionIndex, { path, before }: Target, { frontmatter, body }: Draft): void {
  if (before === null) newEntryBytes(index, path, { frontmatter, body: body ?? '', format: undefined });
  else {
    const changes = { frontmatter, ...(body !== undefined && { body }) };
    checkSize(editFile(before, path, changes, { isDate: isDateField(index.schema) }).bytes);
  }
}

export const validateEntry = projectOperation({
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
    const { git, services } = context;
    const snapshot = await snapshotOf(git, { branch, ref });
    const site = await services.content.site(git, snapshot);
    const index = await collectionFor(context, { head: snapshot, site }, collection, slug ?? 'new');
    const target = await targetOf(index, snapshot, slug);
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
