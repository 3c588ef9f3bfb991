import { planCreate } from '../entries/plan-create.ts';
import { planDelete } from '../entries/plan-delete.ts';
import { planUpdate } from '../entries/plan-update.ts';
import type { PlannedSave } from '../entries/saved-entry.ts';
import { planDeleteMedia } from '../media/plan-delete-media.ts';
import { planUpload } from '../media/plan-upload.ts';
import type { Upload } from '../media/store-upload.ts';
import { checkPrecondition } from '../repository/branch-rules.ts';
import type { ChangeAction, ChangeResult } from './changes.schema.ts';
import type { PlanContext, StagedContent, Step } from './staged-content.ts';

/** An action, its file stored already when it brings one. */
export interface ReadyAction {
  action: ChangeAction;
  upload: Upload | null;
}

/** What an action did, but for what only its commit can tell. */
export type Done = Omit<ChangeResult, 'sha' | 'unchanged' | 'warnings'>;

const asDone = <T>(step: Step<T>, done: (result: T) => Done): Step<Done> => ({ ...step, result: done(step.result) });

const savedBy =
  (op: 'create' | 'update' | 'move') =>
  ({ index, place: { slug, path }, merged, renamedFrom, references, redirect }: PlannedSave): Done => ({
    op,
    collection: index.schema.collection,
    slug,
    path,
    ...(merged && { merged }),
    ...(renamedFrom !== undefined && { renamed_from: renamedFrom }),
    ...(references && { references }),
    ...(redirect && { details: { redirect } }),
  });

/** Plans one action by the plan of the operation that would do it alone. */
export async function planAction(
  context: PlanContext,
  staged: StagedContent,
  { action, upload }: ReadyAction,
): Promise<Step<Done>> {
  switch (action.op) {
    case 'create':
      return asDone(await planCreate(context, staged, action), savedBy('create'));
    case 'update':
      return asDone(await planUpdate(context, staged, { ...action, entry: action.slug }), savedBy('update'));
    case 'move': {
      const to = { slug: action.to, field: 'to' };
      return asDone(await planUpdate(context, staged, { ...action, entry: action.slug, to }), savedBy('move'));
    }
    case 'delete': {
      const { op, collection, slug } = action;
      const step = await planDelete(context, staged, { ...action, entry: slug });
      return asDone(step, ({ path }) => ({ op, collection, slug, path }));
    }
    case 'upload_media': {
      const { op, path, overwrite, sha } = action;
      const isOurs = upload !== null && staged.changed.has(upload.path);
      if (overwrite && !isOurs) checkPrecondition(context.project, context.conditions, sha);
      const step = await planUpload(context, staged, upload ? [upload] : [], action);
      return asDone(step, ({ placed: [file] }) => ({ op, path: file?.path ?? path }));
    }
    case 'delete_media':
      return asDone(await planDeleteMedia(context, staged, action), ({ path }) => ({ op: action.op, path }));
  }
}
