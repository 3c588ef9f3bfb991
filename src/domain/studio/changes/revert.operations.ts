import { z } from 'zod';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import { yieldLoop } from '../../../lib/concurrency.ts';
import type { Commit, Oid, Snapshot } from '../../../ports/git-records.ts';
import type { StagedTree } from '../../../ports/git-writes.ts';
import { entry, writeInput } from '../entries/entries.schema.ts';
import { savedRecord } from '../entries/saved-entry.ts';
import { openFile } from '../frontmatter/parse-file.ts';
import { writeAhead } from '../in-turn.ts';
import { media } from '../media/media.schema.ts';
import { mediaFacts, mediaRecord } from '../media/media-facts.ts';
import { conflict } from '../merge/merge.schema.ts';
import { directBranch } from '../repository/branch-rules.ts';
import { isOid } from '../repository/refs.ts';
import { commit } from '../repository/repository.schema.ts';
import { entryRoutes } from '../routes/entry-routes.ts';
import { studioWarning, type Warning } from '../schema/schema.schema.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { sync } from '../upstream/upstream.schema.ts';
import { planRevert, type Revert, type Reverted, renamesBehind, renamesOf } from './plan-revert.ts';
import { advance, commitStep, contentAt, lastOfEachPath, planStep, type Step } from './staged-content.ts';
import { authorOf, messageOf } from './write-rules.ts';

const revertInput = {
  commit: z.string().describe('Full id of a commit'),
  mode: z
    .enum(['undo', 'restore'])
    .meta({ id: 'RevertMode' })
    .default('undo')
    .describe(
      'undo: takes back what the commit changed in the file and keeps what was changed since, 409 with the fields where both changed the ' +
        'same; a file that is gone comes back as the commit left it, or as it was before when the commit deleted it. ' +
        'restore: makes the file what it was at the commit',
    ),
  sha: z.string().optional().describe('Object id the file must have'),
  force: z.boolean().optional().describe('Delete, where that is the result, although entries refer to it'),
  ...writeInput,
};

const revertedFile = z
  .object({
    path: z.string(),
    collection: z.string().optional(),
    slug: z.string().optional(),
    sha: z.string().nullable().describe('Object id of the file; null: it is gone'),
    deleted: z.boolean().describe('The result is that the file is gone'),
    commit: commit.nullable().describe('null when no byte changed'),
    unchanged: z.boolean(),
    merged: z.boolean().describe('Later changes were kept'),
    resolved: z.array(z.string()).describe('JSON Pointers of what was merged without help'),
    entry: entry.optional().describe('The entry as it is now'),
    media: media.optional().describe('The file as it is now, when it is no entry'),
    conflicts: z.array(conflict).optional().describe('GraphQL: why nothing was written; REST refuses instead'),
    warnings: z.array(studioWarning).describe('Also where the version breaks the schema of today'),
    sync: sync.optional().describe('Of a mirror: state of the branch compared with the upstream'),
  })
  .meta({ id: 'RevertedFile' });

type Context = Pick<
  StudioContext<'manage_studio' | 'delete_studio'>,
  'git' | 'services' | 'studio' | 'project' | 'conditions' | 'grant' | 'require' | 'actor' | 'tag'
>;

type Input = Omit<z.output<z.ZodObject<typeof revertInput>>, 'message'> & { message?: string | undefined };

type Result = Reverted & Pick<z.output<typeof revertedFile>, 'warnings'>;

/** The record of the file as the commit left it. */
async function recordOf(
  context: Context,
  snapshot: Snapshot,
  made: Commit | null,
  { path, collection, slug, warnings }: Result,
) {
  const { git, studio } = context;
  const { entry: stored } = await snapshot.lookup(path);
  if (!stored) return { sha: null };
  const site = await studio.content.site(git, snapshot);
  const index = collection === undefined ? undefined : site.collections.get(collection);
  const place = index?.at(path);
  if (index && place) {
    const content = openFile(await snapshot.blob(stored.oid), path);
    const saved = { index, schemaKey: site.schemaKey, place, content, warnings };
    return { sha: stored.oid, slug: place.slug, entry: await savedRecord(context, snapshot, made, saved) };
  }
  const file = { path, oid: stored.oid };
  const routes = await entryRoutes(context, snapshot);
  const shown = mediaRecord(site, file, await mediaFacts(git, snapshot, [file]), routes);
  return { sha: stored.oid, ...(slug !== undefined && { slug }), media: shown };
}

/** @throws DomainError `not_found` */
async function reachableCommit({ git }: Pick<Context, 'git'>, text: string): Promise<Oid> {
  if (isOid(text) && (await git.isReachable(text))) return text;
  throw fieldError('not_found', 'commit', 'must be the full id of a commit that a branch, tag or pull request reaches');
}

async function revert(context: Context, target: Revert['target'], input: Input) {
  const author = authorOf(context, input.author);
  const branch = await directBranch(context, input.branch);
  const commit = await reachableCommit(context, input.commit);
  const wanted = { ...input, commit, target };
  const head = await context.git.snapshot(await context.git.head(branch));
  const renames = await renamesBehind(context, head, wanted);
  const {
    commit: made,
    snapshot,
    result,
  } = await commitStep(context, { branch, author, message: input.message }, (staged, signal) =>
    planRevert(context, staged, { ...wanted, renames, signal }),
  );
  return { ...result, ...(await recordOf(context, snapshot, made, result)), commit: made, unchanged: made === null };
}

const also = {
  delete_studio: 'when the result is that the file is gone',
  manage_studio:
    'when it names another author, or a file that could not be uploaded or is code although a collection has it',
};

export const revertEntry = studioOperation({
  name: 'studio.revertEntry',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also,
  comparesTag: true,
  mayRequireTag: true,
  summary: 'Restore a former version of an entry or file, or a deleted one',
  input: z.object({
    collection: z.string().optional().describe('With `slug`: the entry'),
    slug: z.string().optional(),
    path: z.string().optional().describe('Instead of collection and slug: path of a file in the repository'),
    ...revertInput,
  }),
  output: revertedFile,
  audit: ({ collection, slug, path }) =>
    path === undefined ? { type: 'entry', id: `${collection}/${slug}` } : { type: 'file', id: path },
  async execute(context, { collection, slug, path, ...input }) {
    if (path !== undefined) {
      if (collection !== undefined || slug !== undefined)
        throw fieldError('invalid_request', 'path', 'excludes collection and slug');
      return revert(context, { path }, input);
    }
    if (collection === undefined) throw fieldError('invalid_request', 'collection', 'is required, or path instead');
    if (slug === undefined) throw fieldError('invalid_request', 'slug', 'is required');
    return revert(context, { collection, slug }, input);
  },
});

export const revertMedia = studioOperation({
  name: 'studio.revertMedia',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also,
  comparesTag: true,
  mayRequireTag: true,
  notInSteps: true,
  summary: 'Bring back a former version of a file, or a deleted one',
  input: z.object({ path: z.string().describe('Path of the file in the repository'), ...revertInput }),
  output: revertedFile,
  audit: ({ path }) => ({ type: 'media', id: path }),
  execute: (context, { path, ...input }) => revert(context, { path }, input),
});

/** Files one commit takes back: each is planned on what those before it left. */
const mostReverted = 1_000;
/** With more files that is done ahead of the turn of the branch: one after the other is read, for seconds in all. */
const mostInTurn = 20;
/** Paths a commit changed, those it left nothing at first: what was renamed is there again before its new name goes. */
async function changedPaths({ git }: Pick<Context, 'git'>, { sha, parents }: Commit) {
  const after = await git.snapshot(sha);
  const found: { path: string; isGone: boolean }[] = [];
  for await (const { paths } of git.line(sha, parents[0] ?? null)) {
    if (paths.length > mostReverted)
      throw fieldError('too_large', 'commit', `changed ${paths.length} files; at most ${mostReverted} are taken back`);
    for (const path of paths) found.push({ path, isGone: (await after.lookup(path)).entry === null });
    break;
  }
  return found.sort((one, other) => Number(other.isGone) - Number(one.isGone));
}

export const revertCommit = studioOperation({
  name: 'studio.revertCommit',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: { ...also, delete_studio: 'when the commit made a file, otherwise than by renaming one' },
  notInSteps: true,
  summary: 'Take back all that a commit changed, in one commit; what was changed since stays',
  input: z.object({ commit: revertInput.commit, ...writeInput }),
  output: z
    .object({
      commit: commit.nullable().describe('null when no byte changed'),
      unchanged: z.boolean(),
      conflicts: revertedFile.shape.conflicts,
      warnings: revertedFile.shape.warnings,
      sync: revertedFile.shape.sync,
    })
    .meta({ id: 'RevertedCommit' }),
  audit: (_input, output) => ({ type: 'commit', id: output?.commit?.sha ?? null }),
  async execute(context, { commit: text, message, ...input }) {
    const { git } = context;
    const author = authorOf(context, input.author);
    const branch = await directBranch(context, input.branch);
    const reverted = await git.commit(await reachableCommit(context, text));
    const paths = await changedPaths(context, reverted);
    const versions = {
      after: await git.snapshot(reverted.sha),
      before: await git.snapshot(reverted.parents[0] ?? null),
    };
    const renames = await renamesOf(context, versions);
    const request = {
      branch,
      author,
      async plan(head: StagedTree, signal: AbortSignal) {
        let staged = await contentAt(context, head);
        const steps: Step<Reverted>[] = [];
        for (const { path, isGone } of paths) {
          await yieldLoop();
          signal.throwIfAborted();
          if (!isGone && (await staged.tree.lookup(path)).entry === null)
            throw new DomainError('conflict', `${path} has been moved or deleted since; take that back first`);
          const target = { target: { path }, commit: reverted.sha, mode: 'undo', renames } as const;
          const step = await planStep(context, staged, (now) => planRevert(context, now, target));
          staged = await advance(context, staged, step.changes);
          steps.push(step);
        }
        const warnings: Warning[] = [];
        for (const { check } of steps) warnings.push(...(await check(staged)));
        const subject = reverted.message.split('\n', 1)[0] ?? '';
        return { changes: lastOfEachPath(steps), message: messageOf(message, `Revert “${subject}”`), result: warnings };
      },
    };
    const isLong = paths.length > mostInTurn;
    const { commit: made, result } = await (isLong ? writeAhead(context, request) : git.write(request));
    return { commit: made, unchanged: made === null, warnings: result };
  },
});
