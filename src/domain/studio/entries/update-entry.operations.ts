import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { commitStep } from '../changes/staged-content.ts';
import { directBranch } from '../repository/branch-rules.ts';
import { entryChange, savedEntry } from './entries.schema.ts';
import { planUpdate } from './plan-update.ts';
import { savedRecord } from './saved-entry.ts';
import { authorOf } from './write-entry.ts';

export const updateEntry = projectOperation({
  name: 'studio.updateEntry',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: { manage_studio: 'when it names another author, or a rename moves files that are neither entries nor media' },
  conditional: true,
  versioned: true,
  summary: 'Update entry',
  input: entryChange.extend({ collection: z.string(), entry: z.string().describe('Slug of the entry') }),
  output: savedEntry,
  audit: ({ collection, entry }) => ({ type: 'entry', id: `${collection}/${entry}` }),
  async execute(context, { slug, ...edit }) {
    const author = authorOf(context, edit.author);
    const branch = await directBranch(context, edit.branch);
    const to = slug === undefined ? undefined : { slug, field: 'slug' };
    const { commit, snapshot, result } = await commitStep(
      context,
      { branch, author, message: edit.message },
      (staged) => planUpdate(context, staged, { ...edit, to }),
    );
    return savedRecord(context, snapshot, commit, result);
  },
});
