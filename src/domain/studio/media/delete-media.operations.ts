import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import { commitStep } from '../changes/staged-content.ts';
import { writeInput } from '../entries/entries.schema.ts';
import { authorOf } from '../entries/write-entry.ts';
import { directBranch } from '../repository/branch-rules.ts';
import { commit } from '../repository/repository.schema.ts';
import { planDeleteMedia } from './plan-delete-media.ts';

const deletedMedia = z.object({ deleted: z.literal(true), path: z.string(), commit }).meta({ id: 'DeletedMedia' });

export const deleteMedia = projectOperation({
  name: 'studio.deleteMedia',
  kind: 'command',
  effect: 'external',
  permission: 'delete_studio',
  also: { manage_studio: 'when it names another author, or a file outside the media roots' },
  destructive: true,
  conditional: true,
  versioned: true,
  summary: 'Delete file',
  input: z.object({
    media: z.string().describe('Path of the file in the repository'),
    sha: z.string().optional().describe('Object id the file must have'),
    force: z.boolean().optional().describe('Delete although entries name it'),
    ...writeInput,
  }),
  output: deletedMedia,
  audit: ({ media }) => ({ type: 'media', id: media }),
  async execute(context, { media: path, ...input }) {
    const author = authorOf(context, input.author);
    const branch = await directBranch(context, input.branch);
    const { commit } = await commitStep(context, { branch, author, message: input.message }, (staged) =>
      planDeleteMedia(context, staged, { ...input, path }),
    );
    if (!commit) throw new DomainError('not_found', `path: ${path} is not a file`);
    return { deleted: true as const, path, commit };
  },
});
