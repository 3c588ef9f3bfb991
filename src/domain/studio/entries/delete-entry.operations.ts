import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import { entryIn } from '../content/site-index.ts';
import { checkStoredPath } from '../path-rules.ts';
import { checkPrecondition, directBranch } from '../repository/branch-rules.ts';
import { deletedEntry, writeInput } from './entries.schema.ts';
import { referencesTo } from './references.ts';
import { authorOf, checkVersion, messageOf } from './write-entry.ts';

export const deleteEntry = projectOperation({
  name: 'studio.deleteEntry',
  kind: 'command',
  effect: 'external',
  permission: 'delete_studio',
  also: { manage_studio: 'when it names another author' },
  destructive: true,
  summary: 'Delete entry',
  input: z.object({
    collection: z.string(),
    entry: z.string().describe('Slug of the entry'),
    sha: z.string().optional().describe('Object id the file must have'),
    force: z.boolean().optional().describe('Delete although other entries require it'),
    ...writeInput,
  }),
  output: deletedEntry,
  audit: ({ collection, entry }) => ({ type: 'entry', id: `${collection}/${entry}` }),
  async execute(context, { collection, entry, sha, force, ...input }) {
    const { git, services, conditions } = context;
    checkStoredPath('slug', entry);
    const author = authorOf(context, input.author);
    checkPrecondition(context.project, conditions, sha);
    const branch = await directBranch(context, input.branch);
    const { commit, result } = await git.write<{ path: string }>({
      branch,
      author,
      async plan(head) {
        const site = await services.content.site(git, head);
        const place = entryIn(site.collection(collection), entry);
        const { entry: stored } = await head.lookup(place.path);
        if (stored) checkVersion(stored, conditions.if_match, sha);
        const references = force ? [] : await referencesTo(context, head, site, { collection, slug: entry });
        const required = references.filter((reference) => reference.required && reference.path !== place.path);
        if (required.length > 0) {
          throw new DomainError(
            'in_use',
            `${collection}/${entry} is required by ${required.length} entries; change them first, or use force`,
            {
              details: { references: required.slice(0, 100) },
            },
          );
        }
        return {
          changes: [{ path: place.path, content: null }],
          message: messageOf(input.message, `Delete ${collection}/${entry}`),
          result: { path: place.path },
        };
      },
    });
    if (!commit) throw new DomainError('not_found', `${collection} has no entry ${entry}`);
    return { deleted: true as const, path: result.path, commit };
  },
});
