/** A project's repository: branches, commits, files, merges, pull requests, and the upstream it may mirror. */
import { z } from 'zod';
import { commitChanges } from '../../domain/studio/changes/commit-changes.operations.ts';
import { revertCommit, revertEntry, revertMedia } from '../../domain/studio/changes/revert.operations.ts';
import { checkPublish } from '../../domain/studio/compare/check-publish.operations.ts';
import { compareBranches } from '../../domain/studio/compare/compare.operations.ts';
import { listDrafts, saveToDraft } from '../../domain/studio/drafts/drafts.operations.ts';
import { conflict } from '../../domain/studio/merge/merge.schema.ts';
import { mergeBranches } from '../../domain/studio/merge/merge-branches.operations.ts';
import { mergePull } from '../../domain/studio/pulls/merge-pull.operations.ts';
import {
  getPull,
  listPullCommits,
  listPullFiles,
  listPulls,
  listPullsOfBranches,
} from '../../domain/studio/pulls/pulls.operations.ts';
import { createPull, updatePull } from '../../domain/studio/pulls/write-pull.operations.ts';
import { blameFile } from '../../domain/studio/repository/blame.operations.ts';
import { branchMove, readBranchMoves } from '../../domain/studio/repository/branch-moves.operations.ts';
import {
  createBranch,
  deleteBranch,
  getBranch,
  getBranches,
  listBranches,
} from '../../domain/studio/repository/branches.operations.ts';
import { getCommits, listCommits } from '../../domain/studio/repository/commits.operations.ts';
import { getFile, getFiletree } from '../../domain/studio/repository/files.operations.ts';
import {
  cancelImport,
  getRepository,
  readImport,
  startImport,
  updateRepository,
} from '../../domain/studio/repository/repository.operations.ts';
import { importState } from '../../domain/studio/repository/repository.schema.ts';
import { removeRemote, setRemote, syncRepository } from '../../domain/studio/upstream/upstream.operations.ts';
import { readChanges, watchEvent } from '../../domain/studio/watch/read-changes.operations.ts';
import { concerns, parseTopic, topics } from '../../domain/studio/watch/topics.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { EventSubject } from '../../ports/event-feed.ts';
import type { GraphqlContext } from '../context.ts';
import { type Place, placeOf } from '../place.ts';
import type { Selects } from '../selected-fields.ts';
import { type Source, stateNews } from '../stream/follow.ts';
import { batch, conflictsIn, edge, field, group, mutation, node, object, type Row, subscription } from '../table.ts';

interface AtProject {
  organization: string;
  project: string;
}
interface Branch {
  name: string;
  commit: string;
}
interface Pull {
  number: number;
  state: string;
  head: { ref: string; sha: string };
  base: { ref: string; sha: string };
}

const pulls = ['Pull', 'PullSummary'];

/** Whether fields are selected that need the histories of two branches compared. */
const compare = (_: unknown, selects: Selects) => selects('ahead_by', 'behind_by');

/** Which state of the content is read: that of a branch or of one commit; the default branch without either. */
const state = {
  branch: (_record: unknown, { branch }: Place) => branch,
  ref: (_record: unknown, { ref }: Place) => ref,
};

const nothing = () => undefined;

/** What is answered when a change meets what others have saved. */
const refusedChanges = (error: unknown) => ({
  commit: null,
  unchanged: true,
  results: [],
  conflicts: conflictsIn(error),
});

/** What is answered when later changes stand in the way of a revert. */
function refusedRevert(error: unknown) {
  const conflicts = conflictsIn(error) as { path: string; stages: { current: string | null } }[];
  const [first] = conflicts;
  if (!first) throw error;
  const unchanged = { deleted: false, commit: null, unchanged: true, merged: false, resolved: [], warnings: [] };
  return { ...unchanged, path: first.path, sha: first.stages.current, conflicts };
}

/** Whether a command met more conflicts than are shown. */
const hasMoreConflicts = (error: unknown) =>
  error instanceof DomainError && error.details?.conflicts_truncated === true;

async function refusedPull(error: unknown, { organization, project, number }: Place, context: GraphqlContext) {
  const found = { conflicts: conflictsIn(error), conflicts_truncated: hasMoreConflicts(error) };
  const pull = await context.run(getPull, { organization, project, number });
  return { merged: false, commit: null, branch_deleted: false, ...found, resolved: [], pull };
}

const refusedMerge = (error: unknown, { strategy }: { strategy?: string | null }) => {
  const found = { conflicts: conflictsIn(error), conflicts_truncated: hasMoreConflicts(error) };
  const answer = { merged: false, up_to_date: false, dry_run: false, mergeable: false };
  return { ...answer, strategy: strategy ?? 'merge', commit: null, ...found, resolved: [] };
};

/** Where a branch moves. */
function branchMoves(
  { organization, project, branch }: AtProject & { branch?: string | null },
  context: GraphqlContext,
) {
  let subject: EventSubject;
  return {
    async read(after: string | null) {
      const wanted = { organization, project, branch, ...(after !== null && { after: Number(after) }) };
      const { moves, position, more, missed, subject: found } = await context.run(readBranchMoves, wanted);
      subject = found;
      const events = moves.map((event) => ({ position: String(event.position), data: event.move }));
      return { events, position: String(position), more, missed };
    },
    watch: (wake: () => void) => context.live.events.watch(subject, wake),
  };
}

/** How far an import is. */
function importProgress({ organization, project }: AtProject, context: GraphqlContext) {
  let subject: EventSubject;
  return {
    async read(after: string | null) {
      const { import: state, subject: found } = await context.run(readImport, { organization, project });
      subject = found;
      return stateNews(after, state, ['completed', 'failed'].includes(state.state));
    },
    watch: (wake: () => void) => context.live.events.watch(subject, wake),
  };
}

/** Whatever a page shows. A version that was sent is not sent again: an entry stays as it is in most commits of its branch. */
function changes(
  { organization, project, topics: names }: AtProject & { topics: string[] },
  context: GraphqlContext,
): Source<unknown> {
  let watched = 0;
  const sent = new Map<string, string | null>();
  return {
    looksRarely: true,
    async read(after) {
      const wanted = { organization, project, topics: names, ...(after !== null && { after }) };
      const { project_id, events, position, missed } = await context.run(readChanges, wanted);
      watched = project_id;
      const isNew = events.filter(({ topic, id, version }) => {
        const key = JSON.stringify([topic, id]);
        if (sent.get(key) === version) return false;
        sent.set(key, version);
        return true;
      });
      return { events: isNew.map((data) => ({ position: data.position, data })), position, missed };
    },
    watch(wake) {
      const named = names.flatMap((name) => parseTopic(name) ?? []);
      return context.live.changes.watch(watched, (change) => named.some((topic) => concerns(topic, change)), wake);
    },
  };
}

export const repository: readonly Row[] = [
  group('Studio', 'Content of a project, read from its repository'),
  edge('Project', 'studio', 'Studio', { description: 'Its content', always: true, resolve: () => ({}) }),
  node('Repository', getRepository, {}),
  field('Studio', 'repository', getRepository),
  mutation('updateRepository', updateRepository),
  mutation('importRepository', startImport),
  mutation('cancelImport', cancelImport),
  mutation('setRemote', setRemote),
  mutation('removeRemote', removeRemote, { payload: 'repository' }),
  mutation('syncRepository', syncRepository),

  field('Studio', 'commits', listCommits),
  node('File', getFile, { ...state, path: 'path' }),
  field('Studio', 'file', getFile, {
    given: { raw: nothing, include: (_studio, selects) => (selects('kind', 'entry') ? ['kind'] : []) },
  }),
  field('File', 'blame', blameFile, { cost: 10 }),
  field('Studio', 'filetree', getFiletree),
  field('Studio', 'compare', compareBranches),
  field('Studio', 'checks', checkPublish, { cost: 20 }),
  mutation('commitChanges', commitChanges, { refused: refusedChanges }),
  object('SavedDraft', saveToDraft, {}),
  mutation('saveToDraft', saveToDraft, { refused: (error) => ({ branch: null, ...refusedChanges(error) }) }),
  // What its entry is read by.
  object('RevertedFile', revertEntry, {
    collection: (_file, { collection }) => collection,
    branch: (_file, { branch }) => branch,
  }),
  mutation('revertEntry', revertEntry, { refused: refusedRevert }),
  mutation('revertMedia', revertMedia, { refused: refusedRevert }),
  mutation('revertCommit', revertCommit, {
    refused: (error) => ({ commit: null, unchanged: true, warnings: [], conflicts: conflictsIn(error) }),
  }),
  mutation('mergeBranches', mergeBranches, { refused: refusedMerge }),

  node('Branch', getBranch, { name: 'name' }),
  field('Studio', 'branches', listBranches, { given: { compare } }),
  field('Studio', 'drafts', listDrafts, { given: { compare } }),
  field('Studio', 'branch', getBranch, { given: { compare } }),
  batch(
    'Branch',
    'commit',
    getCommits,
    { shas: (branch: Branch) => branch.commit },
    {
      description: 'The commit it points to',
    },
  ),
  field('Branch', 'commits', listCommits, {
    given: { branch: ({ name }: Branch) => name, ref: nothing, collection: nothing, slug: nothing },
  }),
  edge('Branch', 'compare_to_default', compareBranches.output, {
    description: 'What it has that the default branch lacks',
    cost: 20,
    async resolve(branch: Branch, _args, context) {
      const { organization, project } = placeOf(branch);
      // The default branch is first.
      const { items } = await context.run(listBranches, { organization, project, per_page: 1 });
      const base = items[0]?.name ?? branch.name;
      return context.run(compareBranches, { organization, project, base, head: branch.name });
    },
  }),
  batch(
    'Branch',
    'pulls',
    listPullsOfBranches,
    { branches: (branch: Branch) => branch.name },
    {
      description: 'Open pull requests whose head it is',
    },
  ),
  mutation('createBranch', createBranch),
  mutation('deleteBranch', deleteBranch, { payload: 'branch' }),

  node('Pull', getPull, { number: 'number' }),
  object('PullSummary', listPulls, { number: 'number' }),
  object('MergedPull', mergePull, {}),
  field('Studio', 'pulls', listPulls),
  field('Studio', 'pull', getPull),
  batch(
    pulls,
    'head_branch',
    getBranches,
    { names: ({ head }: Pull) => head.ref },
    {
      description: 'The branch to be merged; null when it is gone',
    },
  ),
  batch(
    pulls,
    'base_branch',
    getBranches,
    { names: ({ base }: Pull) => base.ref },
    {
      description: 'The branch to merge into; null when it is gone',
    },
  ),
  field(pulls, 'commits', listPullCommits),
  field(pulls, 'files', listPullFiles, { cost: 10 }),
  edge(pulls, 'checks', checkPublish.output.shape.checks, {
    description: 'What merging it would publish: faults that its base lacks; none unless it is open',
    cost: 20,
    async resolve(pull: Pull, _args, context) {
      if (pull.state !== 'open') return [];
      const { organization, project } = placeOf(pull);
      const heads = { base: pull.base.sha, head: pull.head.sha };
      return (await context.run(checkPublish, { organization, project, ...heads })).checks;
    },
  }),
  edge('PullSummary', 'conflicts', z.array(conflict), {
    description: 'What a merge would meet',
    cost: 20,
    async resolve(pull: Pull, _args, context) {
      return (await context.run(getPull, placeOf(pull))).conflicts;
    },
  }),
  mutation('createPull', createPull),
  mutation('updatePull', updatePull),
  mutation('mergePull', mergePull, { refused: refusedPull }),

  subscription('branchMoved', branchMove, {
    description: `${readBranchMoves.summary}. Null with \`extensions.refetch\`: events are lost, ask anew for what is shown`,
    args: { branch: z.string().optional().describe('Default: the default branch') },
    source: branchMoves,
  }),
  subscription('watch', watchEvent, {
    description: `${readChanges.summary}; each topic begins with an event. Null with \`extensions.refetch\`: changes are not known, read anew what is shown`,
    args: { topics },
    source: changes,
  }),
  subscription('importProgress', importState, { description: readImport.summary, args: {}, source: importProgress }),
];
