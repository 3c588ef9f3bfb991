import { z } from 'zod';
import { DomainError, fieldError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import type { CommitPlan } from '../../ports/git-writes.ts';
import type { CollectionIndex } from '../content/site-index.ts';
import { createFile } from '../frontmatter/create-file.ts';
import type { Frontmatter } from '../frontmatter/types.ts';
import { checkPath } from '../path-rules.ts';
import { directBranch } from '../repository/branch-rules.ts';
import { collectionNamePattern } from '../schema/schema.schema.ts';
import { type PathOptions, pathForSlug } from '../slug.ts';
import { entryDraft, savedEntry } from './entries.schema.ts';
import { defaultsOf, formatOf, isDateField } from './entry-format.ts';
import { checkSize, type Saved, savedRecord } from './saved-entry.ts';
import { validateWrite } from './validate.ts';
import { authorOf, checkContentPath, checkFree, messageOf } from './write-entry.ts';

/** Where the collection keeps an entry of this slug; a refusal names the field the caller gave. */
function placeFor(index: CollectionIndex, slug: string, options: PathOptions): string {
  try {
    return pathForSlug(index.schema, slug, options);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const field = options.path !== undefined ? 'path' : options.locale !== undefined ? 'locale' : 'slug';
    throw fieldError(error.code, field, error.message);
  }
}

export const createEntry = projectOperation({
  name: 'studio.createEntry',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: { manage_studio: 'when it names another author' },
  summary: 'Create entry',
  input: entryDraft.extend({ collection: z.string() }),
  output: savedEntry,
  audit: ({ collection, slug }) => ({ type: 'entry', id: `${collection}/${slug}` }),
  async execute(context, { collection, ...draft }) {
    const { git, services, tag } = context;
    const slug = checkPath('slug', draft.slug);
    const author = authorOf(context, draft.author);
    const branch = await directBranch(context, draft.branch);
    const written = await git.write<Saved>({
      branch,
      author,
      async plan(head): Promise<CommitPlan<Saved>> {
        const known = head.commit !== null || !collectionNamePattern.test(collection);
        const site = await (known ? services.content.site(git, head) : services.content.firstSite(collection, slug));
        const index = site.collection(collection);
        if (index.positions.has(slug)) throw fieldError('already_exists', 'slug', `${collection} has an entry ${slug}`);
        const path = placeFor(index, slug, {
          ...(draft.format !== undefined && { format: draft.format }),
          ...(draft.path !== undefined && { path: checkPath('path', draft.path) }),
          ...(draft.locale !== undefined && { locale: draft.locale }),
        });
        checkContentPath(checkPath('slug', path));
        await checkFree(head, path, draft.path === undefined ? 'slug' : 'path');
        const frontmatter: Frontmatter = {
          ...(draft.apply_defaults && defaultsOf(index.schema)),
          ...draft.frontmatter,
        };
        const warnings = await validateWrite(site, index, path, frontmatter, null);
        const bytes = checkSize(
          createFile({
            ...formatOf(index.schema, path, draft.format),
            frontmatter,
            body: draft.body,
            fieldOrder: index.schema.fields.map((field) => field.name),
            isDate: isDateField(index.schema),
          }),
        );
        return {
          changes: [{ path, content: bytes }],
          message: messageOf(draft.message, `Create ${collection}/${slug}`),
          result: { index, schemaKey: site.schemaKey, place: { slug, path, oid: '' }, bytes, warnings },
        };
      },
    });
    const site = await services.content.site(git, written.snapshot);
    const index = site.collection(collection);
    const place = index.entries.find((item) => item.path === written.result.place.path) ?? written.result.place;
    return savedRecord(written.snapshot, written.commit, { ...written.result, index, place }, tag);
  },
});
