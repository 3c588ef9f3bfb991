import { pathProblem, placeProblem } from '../../../domain/studio/path-rules.ts';
import { DomainError } from '../../../kernel/errors.ts';
import type { Commit, Oid, TreeEntry } from '../../../ports/git-records.ts';
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
import { checkGrown, checkMerged, Growth } from '../incoming/check-incoming.ts';
import type { TreeLimits } from '../incoming/limits.ts';
import { rawLength } from '../objects/object-id.ts';
import type { ObjectSource } from '../objects/object-source.ts';
import { PendingObjects } from '../objects/pending-objects.ts';
import { TreeSnapshot } from '../objects/snapshot.ts';
import type { StoredObjects } from '../objects/stored-objects.ts';
import { isLink, modes, Tree } from '../objects/tree-codec.ts';
import type { RefFiles } from '../refs/ref-files.ts';
import type { RefUpdater } from '../refs/ref-updater.ts';
import type { BranchLock } from './branch-lock.ts';

/** A job was abandoned; it may still run, but its result is dropped. */
export class TimeIsUp extends DomainError {
  constructor() {
    super('git_timeout', 'The change took too long to prepare and was given up');
  }
}

/**
 * Runs a job for at most `limit` milliseconds.
 *
 * @throws TimeIsUp, with which the job's signal aborts too
 */
async function inTime<T>(limit: number, job: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const reason = new TimeIsUp();
      stop.abort(reason);
      reject(reason);
    }, limit);
  });
  try {
    return await Promise.race([job(stop.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Largest blob the service writes, bytes. */
const largestBlob = 100 * 1024 * 1024;
const writableModes = new Set<string>([modes.file, modes.executable, modes.symlink]);

/** The changes below one directory: a name is a file that changes, a directory with changes below it, or (file ↔ directory) both. */
interface Branch {
  path: string;
  change: Change | null;
  below: Map<string, Branch>;
}

/**
 * Applies changes to a tree, reading only the directories on the way; new blobs and trees go into `objects`.
 *
 * @param root the tree to start from; null: the empty one
 * @param growth counts what they add, and take away
 * @returns the new root, the old one when nothing changed; null when no file is left
 * @throws DomainError `not_editable` through or onto a symlink or submodule, `name_collision` where a file and a directory meet,
 *   `invalid_path`, `too_large`
 */
async function applyChanges(
  objects: PendingObjects,
  root: Oid | null,
  changes: readonly Change[],
  growth = new Growth(),
): Promise<Oid | null> {
  const top: Branch = { path: '', change: null, below: new Map() };
  for (const change of changes) place(top, change);
  return editDirectory(objects, root, top, growth);
}

function place(top: Branch, change: Change): void {
  // A file whose name would be refused today can be removed.
  const problem = change.content === null ? null : (pathProblem(change.path) ?? placeProblem(change.path));
  if (problem !== null) throw new DomainError('invalid_path', `path: ${problem}`);
  const segments = change.path.split('/');
  if (change.mode !== undefined && !writableModes.has(change.mode))
    throw new Error(`mode ${change.mode} cannot be written`);
  if (Buffer.isBuffer(change.content) && change.content.length > largestBlob)
    throw new DomainError('too_large', `${change.path} is larger than 100 MiB`);
  let at = top;
  for (const name of segments) {
    const path = at.path === '' ? name : `${at.path}/${name}`;
    const next = at.below.get(name) ?? { path, change: null, below: new Map<string, Branch>() };
    at.below.set(name, next);
    at = next;
  }
  if (at.change !== null) throw new Error(`one commit changes ${change.path} twice`);
  at.change = change;
}

async function editDirectory(
  objects: PendingObjects,
  oid: Oid | null,
  branch: Branch,
  growth: Growth,
): Promise<Oid | null> {
  const tree = oid === null ? Tree.empty(rawLength[objects.format]) : await objects.tree(oid);
  const edits = new Map<string, TreeEntry | null>();
  for (const [name, child] of branch.below) {
    const old = tree.find(name);
    const edited = await editEntry(objects, name, old, child, growth);
    if (edited?.oid === old?.oid && edited?.mode === old?.mode) continue;
    edits.set(name, edited);
    const path = { bytes: Buffer.byteLength(child.path), depth: child.path.split('/').length };
    growth.count(path, old, -1);
    growth.count(path, edited, 1);
  }
  if (edits.size === 0) return oid;
  const edited = tree.edit(edits);
  if (edited.size === 0) return null;
  return objects.addTree(edited);
}

async function editEntry(
  objects: PendingObjects,
  name: string,
  old: TreeEntry | null,
  branch: Branch,
  growth: Growth,
): Promise<TreeEntry | null> {
  const { change, below, path } = branch;
  const file = change === null ? undefined : change;
  if (below.size === 0) return file === undefined ? old : editFile(objects, name, old, file);
  if (old !== null && isLink(old.mode) && file?.content !== null) throw linkInTheWay(path);

  // A file that is in the way is removed first when the same commit removes it.
  const rest = old !== null && old.mode !== modes.tree ? (file?.content === null ? null : old) : old;
  if (rest !== null && rest.mode !== modes.tree) {
    if (file === undefined && !creates(branch)) return rest;
    if (creates(branch)) throw new DomainError('name_collision', `${path} is a file, not a directory`);
  }
  const oid = await editDirectory(objects, rest?.mode === modes.tree ? rest.oid : null, branch, growth);
  const directory = oid === null ? null : { name, mode: modes.tree, oid };
  if (file === undefined || file.content === null) return directory;
  if (directory !== null) throw new DomainError('name_collision', `${path} is a directory, not a file`);
  return editFile(objects, name, rest?.mode === modes.tree ? null : rest, file);
}

function editFile(objects: PendingObjects, name: string, old: TreeEntry | null, change: Change): TreeEntry | null {
  if (old?.mode === modes.tree) {
    if (change.content === null) throw new DomainError('not_editable', `${change.path} is a directory, not a file`);
    throw new DomainError('name_collision', `${change.path} is a directory, not a file`);
  }
  if (change.content === null) return null;
  // A new content for a symlink would be a new target; only a writer that names the mode can mean that.
  if (old !== null && isLink(old.mode) && (change.mode === undefined || old.mode === modes.submodule)) {
    throw linkInTheWay(change.path);
  }
  const oid = Buffer.isBuffer(change.content) ? objects.addBlob(change.content) : change.content.oid;
  return { name, mode: change.mode ?? old?.mode ?? modes.file, oid };
}

function creates(branch: Branch): boolean {
  return [...branch.below.values()].some((child) => (child.change?.content ?? null) !== null || creates(child));
}

function linkInTheWay(path: string): DomainError {
  return new DomainError('not_editable', `${path} is a symlink or a submodule and cannot be written through`);
}

/** The tree a plan works on, or that of a merge. What is laid over it lives in a scratch, of which a commit takes what its changes name. */
export class StagedTree extends TreeSnapshot implements StagedTreePort {
  readonly scratch: PendingObjects;

  constructor(source: ObjectSource, commit: Oid | null, tree: Oid | null, scratch = new PendingObjects(source)) {
    super(scratch, commit, tree);
    this.scratch = scratch;
  }

  async with(changes: readonly Change[]): Promise<StagedTree> {
    return new StagedTree(this.scratch, null, await applyChanges(this.scratch, this.tree, changes), this.scratch);
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
  limits: TreeLimits;
}

export interface Tip {
  commit: Oid | null;
  tree: Oid | null;
}

/** Where a writer would bring the branch, and what must hold of others then (full ref names). */
export interface Planned {
  tip: Tip;
  commit: Commit | null;
  result: unknown;
  expected: [ref: string, oid: Oid | null][];
}

/** Runs one plan on `tip` and makes its commit; new objects are added to `pending`. */
export async function planOne(
  context: RoundContext,
  pending: PendingObjects,
  tip: Tip,
  request: CommitRequest<unknown>,
): Promise<Planned> {
  const head = new StagedTree(pending, tip.commit, tip.tree);
  const time = Math.min(request.time ?? context.planTime, context.planTime);
  const plan = await inTime(time, (signal) => request.plan(head, signal));
  const expected = await checkExpected(context, tip, request.branch, plan.expect ?? {});
  const { result } = plan;
  const commit =
    plan.fast_forward_to === undefined
      ? await addCommit(context, pending, head, request, plan)
      : await fastForward(context, tip, plan, plan.fast_forward_to);
  return {
    tip: commit === null ? tip : { commit: commit.sha, tree: commit.tree_sha },
    commit,
    result,
    expected,
  };
}

async function addCommit(
  context: RoundContext,
  pending: PendingObjects,
  tip: StagedTree,
  request: CommitRequest<unknown>,
  { changes, message, tree, parents = [] }: CommitPlan<unknown>,
): Promise<Commit | null> {
  // What a commit names must be there, or the repository would be damaged.
  if (tree instanceof PendingMerge) pending.adopt(tree.objects);
  else if (tree !== undefined) await context.objects.check(tree.oid, 'tree');
  for (const parent of parents) await context.objects.check(parent, 'commit');
  const named = changes.flatMap(({ content }) => (content === null || Buffer.isBuffer(content) ? [] : content.oid));
  for (const [oid, size] of await context.objects.sizes(pending.adoptNamed(tip.scratch, named)))
    if (size === null) throw new Error(`a change names ${oid}, which is not stored`);
  const start = tree?.oid ?? tip.tree;
  const growth = new Growth();
  const edited = changes.length === 0 ? start : await applyChanges(pending, start, changes, growth);
  if (edited === tip.tree && parents.length === 0) return null;
  if (edited !== null && edited !== tip.tree) {
    const trees = treesOf(context, pending);
    const between = { before: tip.tree, after: edited };
    if (tree !== undefined) await checkMerged(trees, 'The merge', between, context.limits);
    // One that is made for no branch yet has no name to be refused by.
    else await checkGrown(trees, request.branch || 'The change', between, growth, context.limits);
  }
  return pending.addCommit({
    tree: edited ?? pending.addTree(Tree.empty(rawLength[pending.format])),
    parents: [...(tip.commit === null ? [] : [tip.commit]), ...parents],
    author: request.author,
    committer: context.committer(),
    date: context.now(),
    message,
  });
}

/** Trees as they are measured. */
const treesOf = ({ gitDir }: RoundContext, objects: Pick<ObjectSource, 'tree'>) => ({
  repository: gitDir,
  read: (oid: Oid) => objects.tree(oid),
});

/** @returns the commit to move to; null when the branch has it already */
async function fastForward(
  context: RoundContext,
  tip: Tip,
  plan: CommitPlan<unknown>,
  to: Oid,
): Promise<Commit | null> {
  if (plan.changes.length > 0) throw new Error('a fast-forward changes nothing of its own');
  const { processes, gitDir, objects, limits } = context;
  const commit = await objects.commit(to);
  if (tip.commit === null) return commit;
  // A tip that is not stored yet has no stored descendant; whether it contains `to` is decided once it is stored.
  const stored = await objects.commit(tip.commit).catch(() => null);
  if (stored !== null) {
    if (await isAncestor(processes, gitDir, to, tip.commit)) return null;
    if (await isAncestor(processes, gitDir, tip.commit, to)) {
      const between = { before: tip.tree, after: commit.tree_sha };
      await checkMerged(treesOf(context, objects), 'The merge', between, limits);
      return commit;
    }
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
