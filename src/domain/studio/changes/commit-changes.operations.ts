import { Readable } from 'node:stream';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import { authorOf } from '../entries/write-entry.ts';
import { storeUpload } from '../media/store-upload.ts';
import { directBranch } from '../repository/branch-rules.ts';
import { type ChangeAction, changeSet, committedChanges } from './changes.schema.ts';
import { naming } from './name-action.ts';
import type { ReadyAction } from './plan-action.ts';
import { planChanges } from './plan-changes.ts';

/** Stores the files that actions bring: that may take long, and other writers of the branch need not wait for it. */
async function prepare(
  context: Pick<ProjectContext, 'git' | 'services'>,
  actions: readonly ChangeAction[],
): Promise<ReadyAction[]> {
  const ready: ReadyAction[] = [];
  for (const [at, action] of actions.entries()) {
    const upload =
      action.op === 'upload_media'
        ? await naming(at, action, () =>
            storeUpload(context, {
              path: action.path,
              content: Readable.from([Buffer.from(action.content, 'base64')]),
              field: 'content',
            }),
          )
        : null;
    ready.push({ action, upload });
  }
  return ready;
}

export const commitChanges = projectOperation({
  name: 'studio.commitChanges',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: {
    delete_studio: 'when it deletes',
    manage_studio: 'when it names another author, or a path outside collections and media roots',
  },
  versioned: true,
  summary: 'Change several entries and files in one commit',
  input: changeSet,
  output: committedChanges,
  audit: (_input, output) => ({ type: 'commit', id: output?.commit?.sha ?? null }),
  async execute(context, { actions, expected_head, ...input }) {
    const { git, services, project } = context;
    if (actions.some(({ op }) => op === 'delete' || op === 'delete_media')) context.require('delete_studio');
    const author = authorOf(context, input.author);
    const branch = await directBranch(context, input.branch);
    const ready = await prepare(context, actions);
    // If-Match names one version of one thing: here each action names its own by `sha`.
    const planContext = { git, services, project, conditions: {}, require: context.require };
    const { commit, result } = await git.write({
      branch,
      author,
      plan: (head) => planChanges(planContext, head, ready, { message: input.message, expected_head }),
    });
    return { commit, unchanged: commit === null, results: result };
  },
});
