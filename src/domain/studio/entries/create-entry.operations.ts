import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { commitStep } from '../changes/staged-content.ts';
import { directBranch } from '../repository/branch-rules.ts';
import { entryDraft, savedEntry } from './entries.schema.ts';
import { planCreate } from './plan-create.ts';
import { savedRecord } from './saved-entry.ts';
import { authorOf } from './write-entry.ts';

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
    const { git, services } = context;
    const author = authorOf(context, draft.author);
    const branch = await directBranch(context, draft.branch);
    const { commit, snapshot, result } = await commitStep(
      context,
      { branch, author, message: draft.message },
      (staged) => planCreate(context, staged, { ...draft, collection }),
    );
    const site = await services.content.site(git, snapshot);
    const index = site.collection(collection);
    const place = index.entries.find((item) => item.path === result.place.path) ?? result.place;
    return savedRecord(context, snapshot, commit, { ...result, schemaKey: site.schemaKey, index, place });
  },
});
