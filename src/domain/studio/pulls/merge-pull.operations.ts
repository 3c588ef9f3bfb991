import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import type { Oid } from '../../../ports/git-records.ts';
import { authorOf, messageOf } from '../changes/write-rules.ts';
import type { ResolutionPermission } from '../merge/merge.schema.ts';
import { checkResult, type Merged, writeMerge } from '../merge/write-merge.ts';
import { isProtected } from '../repository/branch-rules.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { claimMerge, finishMerge, keepClaim, type MergeClaim, releaseMerge } from './claim-merge.ts';
import { openPullsFrom } from './open-pulls.ts';
import { type Pull, pullBaseRef, pullRef } from './pull.entity.ts';
import { checkTag, findPull, headsOf, showPull } from './pull-record.ts';
import { pullMerge, pullMerged } from './pulls.schema.ts';

type Input = z.output<typeof pullMerge>;

/** @throws DomainError `protected`, `in_use` when the head branch must stay. */
async function checkDeletable(context: Pick<StudioContext, 'em' | 'git' | 'project'>, row: Pull): Promise<void> {
  const { git, project } = context;
  const branch = row.head_branch;
  if (branch === (await git.defaultBranch()) || isProtected(project, branch))
    throw new DomainError('protected', `delete_branch: ${branch} is protected`);
  const others = (await openPullsFrom(context, branch)).filter(({ number }) => number !== row.number);
  if (others.length === 0) return;
  throw new DomainError('in_use', `delete_branch: ${branch} is the head of another open pull request`, {
    details: { pulls: others.map(({ number }) => number) },
  });
}

function messageFor(row: Pull, { message, strategy }: Input): string {
  const of = `pull request #${row.number} from ${row.head_branch}`;
  return messageOf(
    message,
    strategy === 'squash' ? `${row.title} (#${row.number})\n\n${row.body}`.trim() : `Merge ${of}\n\n${row.title}`,
  );
}

export const mergePull = studioOperation({
  name: 'studio.mergePull',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: {
    manage_studio:
      'when it names another author, resolutions write files outside collections and media, or it brings some that were content where they were changed',
    delete_studio: 'when it deletes the head branch, or resolutions delete what neither branch has deleted',
  },
  comparesTag: true,
  summary: 'Merge pull request',
  input: pullMerge,
  output: pullMerged,
  audit: ({ number }) => ({ type: 'pull', id: String(number) }),
  async execute(context, input) {
    const { git, conditions } = context;
    if (input.delete_branch) context.require('delete_studio');
    const author = authorOf(context, input.author);
    const row = await findPull(context, input.number);
    checkTag(conditions.if_match, row, await headsOf(context, row));
    if (input.delete_branch) await checkDeletable(context, row);
    const claim = await claimMerge(context, row);
    const merged = await mergeClaimed(context, row, claim, input, author).catch(async (error: unknown) => {
      await releaseMerge(context, row, claim);
      throw error;
    });
    const { commit, current, incoming, resolved } = merged;
    const sha = commit?.sha ?? current;
    await git.updateRefs([{ name: pullBaseRef(row.number), to: sha }]);
    const done = await finishMerge(context, row, { head_sha: incoming, base_sha: current, merge_commit_sha: sha });
    const branch_deleted = input.delete_branch === true && (await dropBranch(context, row, incoming));
    const message = (commit ?? (await git.commit(sha))).message;
    const pull = await showPull(context, done, true);
    return { merged: true, sha, message, commit, branch_deleted, conflicts: [], resolved, pull };
  },
});

async function mergeClaimed(
  context: Pick<
    StudioContext<ResolutionPermission>,
    'em' | 'services' | 'git' | 'studio' | 'project' | 'grant' | 'require' | 'renewed'
  >,
  row: Pull,
  claim: MergeClaim,
  input: Input,
  author: { name: string; email: string },
): Promise<Merged> {
  const { git } = context;
  return writeMerge(context, {
    base: row.base_branch,
    head: row.head_branch,
    strategy: input.strategy,
    author,
    message: messageFor(row, input),
    resolutions: input.resolutions ?? [],
    require: context.require,
    admit: (heads, result, signal) => checkResult(context, heads, result, signal),
    publish: { context: () => context.renewed() },
    async check({ incoming }) {
      await keepClaim(context, row, claim);
      if (input.sha !== undefined && input.sha !== incoming) {
        const details = { current_sha: incoming };
        throw new DomainError('sha_mismatch', 'sha: the head has moved since it was read', { details });
      }
      await git.updateRefs([{ name: pullRef(row.number), to: incoming }]);
      return { pinned: false };
    },
  });
}

/** A branch that has moved since stays: what it holds now was not merged. So does one that has come to be protected, or wanted otherwise. */
async function dropBranch(
  context: Pick<StudioContext, 'em' | 'git' | 'log' | 'project'>,
  row: Pull,
  at: Oid,
): Promise<boolean> {
  const { git, log } = context;
  const branch = row.head_branch;
  try {
    await git.deleteBranch(branch, at, () => checkDeletable(context, row));
    return true;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    log.warn({ err: error, branch }, 'head branch of a merged pull request not deleted');
    return false;
  }
}
