import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import type { Oid } from '../../../ports/git-records.ts';
import { deploymentsOfBranches } from '../deployments/deployments.operations.ts';
import type { FoundConflicts } from '../merge/merge.schema.ts';
import { conflictsBetween } from '../merge/merge-commits.ts';
import { conflictTime, isMergeable, mergeabilityOf, timeLimit, unlessTooMuch } from '../merge/mergeability.ts';
import type { StudioContext } from '../studio.ts';
import { viewOf } from '../view.ts';
import { Pull } from './pull.entity.ts';
import type { pull as pullShape, pullSummary } from './pulls.schema.ts';

type Context = Pick<StudioContext, 'em' | 'git' | 'services' | 'studio' | 'project' | 'organization'>;

export interface PullHeads {
  head: Oid;
  base: Oid;
  /** Both branches are there, so that it can be merged. */
  live: boolean;
}

/** @throws DomainError `not_found` */
export async function findPull({ em, project }: Pick<Context, 'em' | 'project'>, number: number): Promise<Pull> {
  const row = await em.findOne(Pull, { project_id: project.id, number });
  if (!row) throw new DomainError('not_found', `Pull request ${number} not found`);
  return row;
}

/** What a pull request is about: while it is open, whatever its branches hold now. */
export async function headsOf(
  { git }: Pick<Context, 'git'>,
  row: Pick<Pull, 'state' | 'head_branch' | 'base_branch' | 'head_sha' | 'base_sha'>,
): Promise<PullHeads> {
  if (row.state !== 'open') return { head: row.head_sha, base: row.base_sha, live: false };
  const [head, base] = await Promise.all([git.head(row.head_branch), git.head(row.base_branch)]);
  return { head: head ?? row.head_sha, base: base ?? row.base_sha, live: head !== null && base !== null };
}

/** What the pull request is at: begins its ETag, and is all that a condition of a write looks at. */
export const versionOf = (row: Pick<Pull, 'version'>, { head, base }: PullHeads) => `${head}.${base}.${row.version}`;

/** @throws DomainError `precondition_failed` when the pull request or a branch of it has changed since it was read. */
export function checkTag(ifMatch: string | undefined, row: Pull, heads: PullHeads): void {
  if (ifMatch === undefined) return;
  const tags = ifMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  const version = versionOf(row, heads);
  if (tags.some((tag) => tag === '*' || tag === `"${version}"` || tag.startsWith(`"${version}.`))) return;
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

/** Lines of a list. Pull requests that are untested, and too many to test now, are queued for a test. */
export async function summariesOf(context: Context, rows: readonly Pull[]): Promise<z.output<typeof pullSummary>[]> {
  const { studio, project } = context;
  const lines = await Promise.all(rows.map(async (row) => ({ row, heads: await headsOf(context, row) })));
  const live = lines.filter(({ heads }) => heads.live);
  const pairs = live.map(({ heads }) => ({ current: heads.base, incoming: heads.head }));
  const answers = await mergeabilityOf(context, pairs);
  const unknown = live.filter((_, at) => answers[at] === null).map(({ row }) => row.head_branch);
  if (unknown.length > 0) studio.retests.want(project, unknown);
  const mergeable = new Map(live.map(({ row }, at) => [row, answers[at] ?? null]));
  return lines.map(({ row, heads }) => present(row, heads, mergeable.get(row) ?? null));
}

/**
 * What git finds out; null where that takes too long or too much: a pull request is shown without it, and is opened and changed for all that.
 * @param isDone what is shown has been changed already, which no fault of git undoes
 */
const orUnknown = <Found>(found: Promise<Found>, isDone: boolean): Promise<Found | null> =>
  unlessTooMuch(found).catch((error: unknown) => {
    if (error instanceof DomainError && isDone) return null;
    throw error;
  });

/** The whole record with what a merge would meet, answered with its ETag. @param isDone shown after the change that was requested */
export async function showPull(
  context: Context & Pick<StudioContext, 'tag' | 'room'>,
  row: Pull,
  isDone = false,
): Promise<z.output<typeof pullShape>> {
  const { git, studio, project } = context;
  const heads = await headsOf(context, row);
  const { head, base, live } = heads;
  const [deployments = []] = await deploymentsOfBranches(context, [row.head_branch]);
  const seen = deployments.map(({ id, status, attempt, published, url }) => [id, status, attempt, published, url]);
  context.tag(`"${versionOf(row, heads)}.${viewOf(seen)}"`);
  const known = <Found>(found: Promise<Found>) => orUnknown(found, isDone);
  const ancestor = await known(git.mergeBase(base, head));
  const distance = await known(git.aheadBehind(head, base));
  const pair = { current: base, incoming: head };
  const mergeable = live ? await known(isMergeable(context, pair)) : null;
  if (live && mergeable === null) studio.retests.want(project, [row.head_branch]);
  const listed = () =>
    conflictsBetween(context, pair, { takeRoom: (bytes) => context.room(bytes), signal: timeLimit(conflictTime) });
  const found = mergeable === false && ancestor ? await known(listed()) : noConflicts;
  const totals = await known(git.diffTotals(ancestor ?? base, head));
  // What is missing may be there for the next reader.
  if ((live && mergeable === null) || !distance || !found || !totals)
    context.tag(`"${versionOf(row, heads)}.${randomUUID()}"`);
  return {
    ...present(row, heads, mergeable),
    mergeable_state: mergeable === null || !ancestor || !distance ? 'unknown' : stateOf(mergeable, distance.behind_by),
    ...(found ?? { ...noConflicts, conflicts_truncated: true }),
    commits_count: distance?.ahead_by ?? null,
    ...(totals ?? { changed_files: null, additions: null, deletions: null }),
    deployments,
  };
}

const noConflicts: FoundConflicts = { conflicts: [] };

function stateOf(mergeable: boolean, behind: number) {
  if (!mergeable) return 'dirty';
  return behind > 0 ? 'behind' : 'clean';
}
