import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import { writeInput } from '../entries/entries.schema.ts';
import { authorOf, checkVersion, messageOf } from '../entries/write-entry.ts';
import { checkStoredPath } from '../path-rules.ts';
import { checkPrecondition, directBranch } from '../repository/branch-rules.ts';
import { commit } from '../repository/repository.schema.ts';
import { mediaReferences } from './media-references.ts';
import { mediaRootOf } from './media-roots.ts';

const deletedMedia = z.object({ deleted: z.literal(true), path: z.string(), commit }).meta({ id: 'DeletedMedia' });

export const deleteMedia = projectOperation({
  name: 'studio.deleteMedia',
  kind: 'command',
  effect: 'external',
  permission: 'delete_studio',
  also: { manage_studio: 'when it names another author, or a file outside the media roots' },
  destructive: true,
  summary: 'Delete file',
  input: z.object({
    media: z.string().describe('Path of the file in the repository'),
    sha: z.string().optional().describe('Object id the file must have'),
    force: z.boolean().optional().describe('Delete although entries name it'),
    ...writeInput,
  }),
  output: deletedMedia,
  audit: ({ media }) => ({ type: 'media', id: media }),
  async execute(context, { media, sha, force, ...input }) {
    const { git, services, conditions } = context;
    const path = checkStoredPath('path', media);
    const author = authorOf(context, input.author);
    checkPrecondition(context.project, conditions, sha);
    const branch = await directBranch(context, input.branch);
    const written = await git.write({
      branch,
      author,
      async plan(head) {
        const site = await services.content.site(git, head);
        const { entry, blocked } = await head.lookup(path);
        if (blocked) throw new DomainError('not_editable', `path: ${blocked} is a symlink or submodule`);
        if (!entry || entry.mode === '40000' || entry.mode === '160000') {
          throw new DomainError('not_found', `path: ${path} is not a file`);
        }
        if (!mediaRootOf(site, path)) context.require('manage_studio');
        if (site.discovery.schemas.some((schema) => schema.matches(path))) {
          throw new DomainError('not_editable', `path: ${path} is an entry; delete it as one`);
        }
        checkVersion(entry, conditions.if_match, sha);
        const references = force ? [] : await mediaReferences(context, site, path);
        if (references.length > 0) {
          throw new DomainError(
            'in_use',
            `${path} is named by ${references.length} entries; change them first, or use force`,
            {
              details: { references: references.slice(0, 100) },
            },
          );
        }
        const message = messageOf(input.message, `Delete ${path}`);
        return { changes: [{ path, content: null }], message, result: null };
      },
    });
    if (!written.commit) throw new DomainError('not_found', `path: ${path} is not a file`);
    return { deleted: true as const, path, commit: written.commit };
  },
});
