import type { z } from 'zod';
import { DomainError } from '../../errors.ts';
import type { ProjectContext } from '../../operation.ts';
import type { Oid } from '../../ports/git-records.ts';
import type { Conflict } from '../merge/merge.schema.ts';
import { mergeCommits } from '../merge/merge-commits.ts';
import { isMergeable } from '../merge/mergeability.ts';
import { Pull } from './pull.entity.ts';
import type { pull as pullShape, pullSummary } from './pulls.schema.ts';

type Context = Pick<ProjectContext, 'em' | 'git' | 'services' | 'project'>;

export interface PullHeads {
  head: Oid;
  base: Oid;
  /** Both branches are there, so that it can be merged. */
  live: boolean;
}

/** @throws DomainError `not_found` */
export async function findPull({ em, project }: Pick<Context, 'em' | 'project'>, number: number): Promise<Pull> {
  const row = await em.findOne(Pull, { project_id: project.id, number });
  if (!row) throw new DomainError('not_found', `number: there is no pull request ${number}`);
  return row;
}

/** What a pull request is about: while it is open, whatever its branches hold now. */
export async function headsOf({ git }: Pick<Context, 'git'>, row: Pull): Promise<PullHeads> {
  if (row.state !== 'open') return { head: row.head_sha, base: row.base_sha, live: false };
  const [head, base] = await Promise.all([git.head(row.head_branch), git.head(row.base_branch)]);
  return { head: head ?? row.head_sha, base: base ?? row.base_sha, live: head !== null && base !== null };
}

export const tagOf = (row: Pull, { head, base }: PullHeads) => `"${head}.${base}.${row.version}"`;

/** @throws DomainError `precondition_failed` when the pull request or a branch of it has changed since it was read. */
export function checkTag(ifMatch: string | undefined, row: Pull, heads: PullHeads): void {
  if (ifMatch === undefined) return;
  const tags = ifMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (tags.includes('*') || tags.includes(tagOf(row, heads))) return;
  throw new DomainError('precondition_failed', 'If-Match: the pull request has changed since it was read', {
    details: { current_sha: heads.head },
  });
}

function present(row: Pull, heads: PullHeads, mergeable: boolean | null): z.output<typeof pullSummary> {
  const { number, title, body, state, draft, created_at, updated_at } = row;
  return {
    number,
    title,
    body,
    state,
    draft,
    head: { ref: row.head_branch, sha: heads.head },
    base: { ref: row.base_branch, sha: heads.base },
    author: { id: row.author_id, name: row.author_name },
    merged: state === 'merged',
    mergeable,
    created_at,
    updated_at,
    merged_at: row.merged_at ?? null,
    closed_at: row.closed_at ?? null,
    merge_commit_sha: row.merge_commit_sha ?? null,
  };
}

/** A line of a list. */
export async function summaryOf(context: Context, row: Pull): Promise<z.output<typeof pullSummary>> {
  const heads = await headsOf(context, row);
  return present(row, heads, heads.live ? await isMergeable(context, heads.base, heads.head) : null);
}

/** The whole record, with what a merge would meet. */
export async function detailOf(context: Context, row: Pull): Promise<z.output<typeof pullShape>> {
  const { git } = context;
  const heads = await headsOf(context, row);
  const { head, base, live } = heads;
  const ancestor = await git.mergeBase(base, head);
  const { ahead_by, behind_by } = await git.aheadBehind(head, base);
  const conflicts = live && ancestor ? (await mergeCommits(context, { current: base, incoming: head })).conflicts : [];
  return {
    ...present(row, heads, live ? ancestor !== null && conflicts.length === 0 : null),
    mergeable_state: live && ancestor ? stateOf(conflicts, behind_by) : 'unknown',
    conflicts,
    commits_count: ahead_by,
    ...(await git.diffTotals(ancestor ?? base, head)),
    deployments: [],
  };
}

function stateOf(conflicts: readonly Conflict[], behind: number) {
  if (conflicts.length > 0) return 'dirty';
  return behind > 0 ? 'behind' : 'clean';
}
