import { DomainError } from '../../../kernel/errors.ts';
import type { Commit, Oid } from '../../../ports/git-records.ts';
import type {
  Change,
  CommitPlan,
  CommitRequest,
  Committed,
  StagedTree as StagedTreePort,
} from '../../../ports/git-writes.ts';
import type { GitProcesses } from '../git-process.ts';
import { isAncestor } from '../history/merge.ts';
import { PendingMerge } from '../history/trivial-merge.ts';
import { rawLength } from '../objects/object-id.ts';
import type { ObjectSource } from '../objects/object-source.ts';
import { PendingObjects } from '../objects/pending-objects.ts';
import { TreeSnapshot } from '../objects/snapshot.ts';
import type { StoredObjects } from '../objects/stored-objects.ts';
import { Tree } from '../objects/tree-codec.ts';
import type { RefFiles } from '../refs/ref-files.ts';
import type { RefUpdater } from '../refs/ref-updater.ts';
import { inTime } from '../time-limit.ts';
import type { BranchLock } from './branch-lock.ts';
import { applyChanges } from './tree-edit.ts';

/** The tree a plan works on. What it lays over the head lives in a scratch of its own, which is dropped with the plan. */
class StagedTree extends TreeSnapshot implements StagedTreePort {
  readonly #source: ObjectSource;
  readonly #scratch: PendingObjects | null;

  constructor(source: ObjectSource, commit: Oid | null, tree: Oid | null, scratch: PendingObjects | null = null) {
    super(scratch ?? source, commit, tree);
    this.#source = source;
    this.#scratch = scratch;
  }

  async with(changes: readonly Change[]): Promise<StagedTree> {
    const scratch = this.#scratch ?? new PendingObjects(this.#source);
    return new StagedTree(this.#source, null, await applyChanges(scratch, this.tree, changes), scratch);
  }
}

/** A writer waiting for its commit. */
export interface Writer {
  request: CommitRequest<unknown>;
  resolve(answer: Committed<unknown>): void;
  reject(error: unknown): void;
}

export interface RoundContext {
  processes: GitProcesses;
  gitDir: string;
  objects: StoredObjects;
  refs: RefFiles;
  updater: RefUpdater;
  lock: BranchLock;
  committer: () => { name: string; email: string };
  now: () => Date;
  planTime: number;
}

export interface Tip {
  commit: Oid | null;
  tree: Oid | null;
}

/** Where a writer would bring the branch, and what must hold of others then (full ref names). */
export interface Planned {
  writer: Writer;
  tip: Tip;
  commit: Commit | null;
  result: unknown;
  expected: [ref: string, oid: Oid | null][];
}

/** Runs one writer's plan on `tip` and makes its commit; new objects are added to `pending`. */
export async function planOne(
  context: RoundContext,
  pending: PendingObjects,
  tip: Tip,
  writer: Writer,
): Promise<Planned> {
  const { request } = writer;
  const head = new StagedTree(pending, tip.commit, tip.tree);
  const plan = await inTime(context.planTime, (signal) => request.plan(head, signal));
  const expected = await checkExpected(context, tip, request.branch, plan.expect ?? {});
  const { result } = plan;
  const commit =
    plan.fast_forward_to === undefined
      ? await addCommit(context, pending, tip, request, plan)
      : await fastForward(context, tip, plan, plan.fast_forward_to);
  return {
    writer,
    tip: commit === null ? tip : { commit: commit.sha, tree: commit.tree_sha },
    commit,
    result,
    expected,
  };
}

async function addCommit(
  context: RoundContext,
  pending: PendingObjects,
  tip: Tip,
  request: CommitRequest<unknown>,
  { changes, message, tree, parents = [] }: CommitPlan<unknown>,
): Promise<Commit | null> {
  // What a commit names must be there, or the repository would be damaged.
  if (tree instanceof PendingMerge) pending.adopt(tree.objects);
  else if (tree !== undefined) await context.objects.check(tree.oid, 'tree');
  for (const parent of parents) await context.objects.check(parent, 'commit');
  const start = tree?.oid ?? tip.tree;
  const edited = changes.length === 0 ? start : await applyChanges(pending, start, changes);
  if (edited === tip.tree && parents.length === 0) return null;
  return pending.addCommit({
    tree: edited ?? pending.addTree(Tree.empty(rawLength[pending.format])),
    parents: [...(tip.commit === null ? [] : [tip.commit]), ...parents],
    author: request.author,
    committer: context.committer(),
    date: context.now(),
    message,
  });
}

/** @returns the commit to move to; null when the branch has it already */
async function fastForward(
  { processes, gitDir, objects }: RoundContext,
  tip: Tip,
  plan: CommitPlan<unknown>,
  to: Oid,
): Promise<Commit | null> {
  if (plan.changes.length > 0) throw new Error('a fast-forward changes nothing of its own');
  const commit = await objects.commit(to);
  if (tip.commit === null) return commit;
  // A tip that is not stored yet has no stored descendant; whether it contains `to` is decided once it is stored.
  const stored = await objects.commit(tip.commit).catch(() => null);
  if (stored !== null) {
    if (await isAncestor(processes, gitDir, to, tip.commit)) return null;
    if (await isAncestor(processes, gitDir, tip.commit, to)) return commit;
  }
  throw new DomainError('not_fast_forward', 'The branch has commits that the other one lacks');
}

/** @throws DomainError `branch_moved` when a branch does not hold what the plan was made for */
async function checkExpected(
  { refs }: RoundContext,
  tip: Tip,
  own: string,
  expect: Record<string, Oid | null>,
): Promise<[ref: string, oid: Oid | null][]> {
  const expected: [ref: string, oid: Oid | null][] = [];
  for (const [branch, oid] of Object.entries(expect)) {
    const ref = `refs/heads/${branch}`;
    if ((branch === own ? tip.commit : await refs.read(ref)) !== oid)
      throw new DomainError('branch_moved', `The branch ${branch} has moved; try again`);
    // The own branch is compared by the update itself.
    if (branch !== own) expected.push([ref, oid]);
  }
  return expected;
}
