import { Readable } from 'node:stream';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { yieldLoop } from '../../../lib/concurrency.ts';
import { shortened } from '../../../lib/text.ts';
import type { CommitPlan, StagedTree } from '../../../ports/git-writes.ts';
import { entryChange, entryDraft, renameDetails, withAssets, writeInput } from '../entries/entries.schema.ts';
import { planCreate } from '../entries/plan/plan-create.ts';
import { planDelete } from '../entries/plan/plan-delete.ts';
import { planUpdate } from '../entries/plan/plan-update.ts';
import type { PlannedSave } from '../entries/saved-entry.ts';
import { writeAhead } from '../in-turn.ts';
import { mediaUpload } from '../media/media.schema.ts';
import { planDeleteMedia, planMoveMedia, planUpload, storeUpload, type Upload } from '../media/plan-media.ts';
import { conflict } from '../merge/merge.schema.ts';
import { checkPrecondition, directBranch } from '../repository/branch-rules.ts';
import { commit } from '../repository/repository.schema.ts';
import { fileWrite, planWriteFile } from '../repository/write-file.ts';
import { studioWarning, type Warning } from '../schema/schema.schema.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { sync } from '../upstream/upstream.schema.ts';
import {
  advance,
  contentAt,
  lastOfEachPath,
  type PlanContext,
  planStep,
  type StagedContent,
  type Step,
} from './staged-content.ts';
import { authorOf, messageOf } from './write-rules.ts';

const ofCommit = { branch: true, message: true, author: true } as const;

const entry = { collection: z.string(), slug: z.string().describe('Slug of the entry') };
const edit = entryChange.omit({ ...ofCommit, slug: true }).extend(entry);
const deletion = {
  sha: z.string().optional().describe('Object id the file must have'),
  force: z.boolean().optional().describe('Delete although entries that are left refer to it'),
};

const changeAction = z
  .discriminatedUnion('op', [
    entryDraft.omit(ofCommit).extend({ op: z.literal('create'), collection: z.string() }),
    edit.extend({ op: z.literal('update') }),
    edit.extend({ op: z.literal('move'), to: z.string().describe('New slug; the entry may be edited as well') }),
    z.object({ op: z.literal('delete'), ...entry, ...deletion, assets: withAssets }),
    mediaUpload.omit(ofCommit).extend({
      op: z.literal('upload_media'),
      path: z.string().describe('Path of the file, inside a media root'),
      content: z.base64('must be base64').describe('The file, base64; up to 25 MiB'),
    }),
    z.object({
      op: z.literal('move_media'),
      from: z.string().describe('Path of the file'),
      path: z.string().describe('Its new path, inside a media root'),
      ...deletion,
    }),
    z.object({
      op: z.literal('delete_media'),
      path: z.string().describe('Path of the file; of one outside the media roots with manage_studio'),
      ...deletion,
    }),
    z.object({ op: z.literal('write_file'), ...fileWrite }),
  ])
  .meta({ id: 'ChangeAction' });
type ChangeAction = z.output<typeof changeAction>;

const maxActions = 100;
/** More of them are planned ahead of the turn of the branch, and so is what moves files: what these hold is read, and whatever links to them. */
const mostInTurn = 20;

export const changeActions = z
  .array(changeAction)
  .min(1, 'must have at least 1 action')
  .max(maxActions, `must have at most ${maxActions} actions`)
  .describe('Applied in this order, each to the result of those before it; all of them or none');

const changeSet = z.object({
  actions: changeActions,
  expected_head: z.string().optional().describe('Commit the branch must be at'),
  ...writeInput,
});

export const changeResult = z
  .object({
    op: z.enum(['create', 'update', 'move', 'delete', 'upload_media', 'move_media', 'delete_media', 'write_file']),
    collection: z.string().optional(),
    slug: z.string().optional(),
    path: z.string(),
    sha: z.string().nullable().describe('Object id of the file after this action; null: it is gone'),
    unchanged: z.boolean(),
    merged: z.boolean().optional().describe('The save was merged with what happened since the entry was read'),
    renamed_from: z.string().optional(),
    references: z
      .array(z.string())
      .optional()
      .describe('Entries whose relations or relative links a move rewrote, as collection/slug'),
    assets: z.array(z.string()).optional().describe('Of a deletion: the own files of the entry that went along'),
    kept_assets: z
      .array(z.string())
      .optional()
      .describe('Of a deletion: those that other entries name, and that are kept'),
    details: renameDetails.optional().describe('Of a move: how to keep the old address alive'),
    warnings: z.array(studioWarning),
  })
  .meta({ id: 'ChangeResult' });
type ChangeResult = z.output<typeof changeResult>;

const committedChanges = z
  .object({
    commit: commit.nullable().describe('null when no byte changed'),
    unchanged: z.boolean(),
    results: z.array(changeResult).describe('In the order of the actions'),
    conflicts: z.array(conflict).optional().describe('GraphQL: why nothing was committed; REST refuses instead'),
    sync: sync.optional().describe('Of a mirror: state of the branch compared with the upstream'),
  })
  .meta({ id: 'CommittedChanges' });

/** The field a refusal of a single operation begins with, where it names one. */
const fieldOf = /^([a-z_]+)(?:\.[^:]*)?: /;

/** Lets a refusal say which action of a change it is about. @param at position of the action */
function named(error: DomainError, at: number, fields: object): DomainError {
  const { code, message, details, cause } = error;
  const field = fieldOf.exec(message)?.[1];
  const isField = field !== undefined && Object.hasOwn(fields, field);
  const faults = details?.errors ?? [{ field: '', code, message }];
  const errors = faults.map((fault) => ({ ...fault, field: `/actions/${at}${fault.field}` }));
  return new DomainError(code, `actions.${at}${isField ? '.' : ': '}${message}`, {
    details: { ...details, errors },
    ...(cause !== undefined && { cause }),
  });
}

/** Runs the part of a change that one action is responsible for. */
async function naming<T>(at: number, action: object, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof DomainError ? named(error, at, action) : error;
  }
}

/** An action, its file stored already when it brings one. */
interface ReadyAction {
  action: ChangeAction;
  upload: Upload | null;
}

/** What an action did, but for what only its commit can tell. */
type Done = Omit<ChangeResult, 'sha' | 'unchanged' | 'warnings'>;

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
async function planAction(
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
      return asDone(step, ({ path, assets, kept_assets }) => ({
        op,
        collection,
        slug,
        path,
        ...(assets && { assets }),
        ...(kept_assets && { kept_assets }),
      }));
    }
    case 'upload_media': {
      const { op, path, overwrite, sha } = action;
      const isOurs = upload !== null && staged.changed.has(upload.path);
      if (overwrite && !isOurs) checkPrecondition(context.project, context.conditions, sha);
      const step = await planUpload(context, staged, upload ? [upload] : [], action);
      return asDone(step, ({ placed: [file] }) => ({ op, path: file?.path ?? path }));
    }
    case 'move_media': {
      const { op, from } = action;
      const step = await planMoveMedia(context, staged, action);
      return asDone(step, ({ path }) => ({ op, path, renamed_from: from }));
    }
    case 'write_file':
      return asDone(await planWriteFile(context, staged, action), ({ path }) => ({ op: 'write_file', path }));
    case 'delete_media':
      return asDone(await planDeleteMedia(context, staged, action), ({ path }) => ({ op: action.op, path }));
  }
}

interface ChangesOptions {
  message?: string | undefined;
  expected_head?: string | undefined;
}

/**
 * Plans a commit of several actions: each sees what those before it did, and all are held against what they leave behind together.
 * @throws DomainError `branch_moved`, and what each action's own operation throws, with the action named
 */
async function planChanges(
  context: PlanContext,
  head: StagedTree,
  actions: readonly ReadyAction[],
  { message, expected_head }: ChangesOptions,
): Promise<CommitPlan<ChangeResult[]>> {
  checkHead(head, expected_head);
  let staged = await contentAt(context, head);
  const steps: Step<Done>[] = [];
  const results: Omit<ChangeResult, 'warnings'>[] = [];
  for (const [at, ready] of actions.entries()) {
    // A hundred large entries take seconds together: others are served between them.
    await yieldLoop();
    await naming(at, ready.action, async () => {
      const step = await planStep(context, staged, (now) => planAction(context, now, ready));
      staged = await advance(context, staged, step.changes);
      const { entry } = await staged.tree.lookup(step.result.path);
      steps.push(step);
      results.push({ ...step.result, sha: entry?.oid ?? null, unchanged: step.changes.length === 0 });
    });
  }
  const warnings = await checkAll(actions, steps, staged);
  return {
    changes: lastOfEachPath(steps),
    message: messageOf(message, describe(steps)),
    result: results.map((result, at) => ({ ...result, warnings: warnings[at] ?? [] })),
  };
}

function checkHead({ commit }: StagedTree, expected: string | undefined): void {
  if (expected === undefined || expected === commit) return;
  const details = { current_sha: commit };
  throw new DomainError('branch_moved', 'expected_head: the branch has moved since it was read', { details });
}

/**
 * Begun one after another and awaited together, so that shared reads happen once; the first action with a fault is named.
 */
async function checkAll(
  actions: readonly ReadyAction[],
  steps: readonly Step<Done>[],
  after: StagedContent,
): Promise<Warning[][]> {
  const checks = steps.map(async (step, at) => {
    await yieldLoop();
    return naming(at, actions[at]?.action ?? {}, () => step.check(after));
  });
  const outcomes = await Promise.allSettled(checks);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}

/** Most bytes of a message that is made here: a hundred names of 4 KB would make a commit larger than what a push takes. */
const mostOfMessage = 64 * 1024;

/** What steps do together. Each has an equal share of the message, in which a unit of its text takes up to three bytes. */
function describe(steps: readonly Step<Done>[]): string {
  const [only, ...others] = steps.map(({ summary }) => summary);
  if (only === undefined || others.length === 0) return only ?? '';
  const longest = Math.floor((mostOfMessage / steps.length - 20) / 3);
  const lines = [only, ...others].map((summary) => shortened(summary, longest));
  return `Make ${steps.length} changes\n\n${lines.join('\n')}`;
}

/** Stores the files that actions bring: that may take long, and other writers of the branch need not wait for it. */
async function prepare(
  context: Pick<StudioContext, 'git' | 'services'>,
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

/**
 * Readies actions for a commit: checks the rights to delete and to write any file, and stores the files of media they bring.
 * @returns plans the commit on a head
 */
export async function prepareChanges(
  context: PlanContext & Pick<StudioContext<'delete_studio'>, 'require'>,
  actions: readonly ChangeAction[],
  options: ChangesOptions,
): Promise<(head: StagedTree) => Promise<CommitPlan<ChangeResult[]>>> {
  if (actions.some(({ op }) => op === 'delete' || op === 'delete_media')) context.require('delete_studio');
  if (actions.some(({ op }) => op === 'write_file')) context.require('manage_studio');
  const { git, services, studio, project } = context;
  const ready = await prepare(context, actions);
  // If-Match names one version of one thing: here each action names its own by `sha`.
  const planContext = { git, services, studio, project, conditions: {}, require: context.require };
  return (head) => planChanges(planContext, head, ready, options);
}

export const commitChanges = studioOperation({
  name: 'studio.commitChanges',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: {
    delete_studio: 'when it deletes',
    manage_studio: 'when it names another author, or a path outside collections and media roots, as write_file does',
  },
  mayRequireTag: true,
  summary: 'Change several entries and files in one commit',
  input: changeSet,
  output: committedChanges,
  audit: (_input, output) => ({ type: 'commit', id: output?.commit?.sha ?? null }),
  async execute(context, { actions, expected_head, ...input }) {
    const author = authorOf(context, input.author);
    const branch = await directBranch(context, input.branch);
    const plan = await prepareChanges(context, actions, { message: input.message, expected_head });
    const isLong = actions.length > mostInTurn || actions.some(({ op }) => op === 'move' || op === 'move_media');
    const request = { branch, author, plan };
    const { commit, result } = await (isLong ? writeAhead(context, request) : context.git.write(request));
    return { commit, unchanged: commit === null, results: result };
  },
});
