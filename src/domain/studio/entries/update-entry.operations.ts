import { z } from 'zod';
import { DomainError, fieldError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import type { CommitPlan } from '../../ports/git-writes.ts';
import { entryIn } from '../content/site-index.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import { checkPath, checkStoredPath } from '../path-rules.ts';
import { checkPrecondition, directBranch } from '../repository/branch-rules.ts';
import type { Warning } from '../schema/schema.schema.ts';
import { entryChange, savedEntry } from './entries.schema.ts';
import { bytesToSave } from './merge-save.ts';
import { renameEntry } from './rename-entry.ts';
import { checkSize, type Saved, savedRecord } from './saved-entry.ts';
import { validateWrite } from './validate.ts';
import { authorOf, messageOf } from './write-entry.ts';
export const updateEntry = projectOperation({
  name: 'studio.updateEntry',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: { manage_studio: 'when it names another author' },
  summary: 'Update entry',
  input: entryChange.extend({ collection: z.string(), entry: z.string().describe('Slug of the entry') }),
  output: savedEntry,
  audit: ({ collection, entry }) => ({ type: 'entry', id: `${collection}/${entry}` }),
  async execute(context, { collection, entry, ...change }) {
    const { git, services, conditions, tag } = context;
    checkStoredPath('slug', entry);
    const slug = change.slug === undefined || change.slug === entry ? null : checkPath('slug', change.slug);
    const author = authorOf(context, change.author);
    checkPrecondition(context.project, conditions, change.sha);
    const branch = await directBranch(context, change.branch);
    const written = await git.write<Saved>({
      branch,
      author,
      async plan(head): Promise<CommitPlan<Saved>> {
        const site = await services.content.site(git, head);
        const index = site.collection(collection);
        const place = entryIn(index, entry);
        const { entry: stored, blocked } = await head.lookup(place.path);
        if (blocked || !stored)
          throw new DomainError('not_editable', `${place.path} cannot be written: it is behind a symlink`);
        const { before, merged, ...made } = await bytesToSave(context, { head, index, place, stored, change });
        const bytes = checkSize(made.bytes);
        const saved = { index, schemaKey: site.schemaKey, place, bytes, merged, warnings: [] as Warning[] };
        if (bytes !== before && !bytes.equals(before)) {
          const wanted = parseFile(bytes, place.path).frontmatter ?? {};
          saved.warnings = await validateWrite(
            site,
            index,
            place.path,
            wanted,
            parseFile(before, place.path).frontmatter,
          );
        }
        if (slug === null) {
          const changes = bytes.equals(before) ? [] : [{ path: place.path, content: bytes }];
          return { changes, message: messageOf(change.message, `Update ${collection}/${entry}`), result: saved };
        }
        if (index.positions.has(slug)) throw fieldError('already_exists', 'slug', `${collection} has an entry ${slug}`);
        const renamed = await renameEntry(context, head, site, index, place, slug, bytes);
        return {
          changes: renamed.changes,
          message: messageOf(change.message, `Rename ${collection}/${entry} to ${slug}`),
          result: {
            ...saved,
            place: { ...place, slug, path: renamed.path },
            renamedFrom: entry,
            references: renamed.references,
          },
        };
      },
    });
    return savedRecord(written.snapshot, written.commit, written.result, tag);
  },
});
