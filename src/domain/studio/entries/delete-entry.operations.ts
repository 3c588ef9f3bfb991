import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import { commitStep } from '../changes/staged-content.ts';
import { directBranch } from '../repository/branch-rules.ts';
import { deletedEntry, writeInput } from './entries.schema.ts';
import { planDelete } from './plan-delete.ts';
import { authorOf } from './write-entry.ts';

export const deleteEntry = projectOperation({
  name: 'studio.deleteEntry',
  kind: 'command',
  effect: 'external',
  permission: 'delete_studio',
  also: { manage_studio: 'when it names another author' },
  destructive: true,
  conditional: true,
  versioned: true,
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
  async execute(context, input) {
    const { collection, entry } = input;
    const author = authorOf(context, input.author);
    const branch = await directBranch(context, input.branch);
    const { commit, result } = await commitStep(context, { branch, author, message: input.message }, (staged) =>
      planDelete(context, staged, input),
    );
    if (!commit) throw new DomainError('not_found', `${collection} has no entry ${entry}`);
    return { deleted: true as const, path: result.path, commit };
  },
});
