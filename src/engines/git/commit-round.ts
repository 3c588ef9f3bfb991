import { join } from 'node:path';
import { DomainError } from '../../domain/errors.ts';
import type { Commit, CommitRequest, Committed, Oid } from '../../domain/ports/git.ts';
import type { GitProcesses } from './git-process.ts';
import { rawLength } from './object-id.ts';
import type { StoredObjects } from './object-source.ts';
import { type NewObject, writeObjects } from './object-writer.ts';
import { writePack } from './pack-writer.ts';
import { PendingObjects } from './pending-objects.ts';
import type { RefFiles } from './ref-files.ts';
import { RefsRejected, type RefUpdater } from './ref-updater.ts';
import { TreeSnapshot } from './snapshot.ts';
import { Tree } from './tree-codec.ts';
import { applyChanges } from './tree-edit.ts';

/** How often a round is planned anew when somebody else moves the branch, before its writers are told (studio.md 4.4). */
const rounds = 10;

/** Above this many objects one pack is faster than files of their own. A full batch of one-file writers stays below. */
const worthPack = 400;

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
  committer: () => { name: string; email: string };
  now: () => Date;
}

interface Tip {
  commit: Oid | null;
  tree: Oid | null;
}

/** What a writer gets once the branch has moved; an error stands only when the state it was thrown on does. */
type Outcome =
  | { writer: Writer; tip: Tip; commit: Commit | null; result: unknown }
  | { writer: Writer; error: unknown };

/** Commits a batch of writers as a chain on one branch and settles every one of them. */
export async function commitRound(context: RoundContext, branch: string, writers: Writer[]): Promise<void> {
  let waiting = writers;
  try {
    for (let round = 0; round < rounds && waiting.length > 0; round += 1)
      waiting = await attempt(context, branch, waiting);
    for (const { reject } of waiting)
      reject(new DomainError('branch_moved', `The branch ${branch} keeps moving; try again`));
  } catch (error) {
    for (const { reject } of waiting) reject(error);
  }
}

/** @returns the writers to plan anew, because the branch had moved; none when all are settled */
async function attempt(context: RoundContext, branch: string, writers: Writer[]): Promise<Writer[]> {
  const ref = `refs/heads/${branch}`;
  const head = await context.refs.read(ref);
  if (head === null) await checkFirstCommit(context, branch);
  const pending = new PendingObjects(context.objects);
  let tip: Tip = { commit: head, tree: head === null ? null : (await context.objects.commit(head)).tree_sha };
  const outcomes: Outcome[] = [];
  for (const writer of writers) {
    const { mark } = pending;
    try {
      const outcome = await planOne(context, pending, tip, writer);
      if (outcome.tip === tip) pending.rollback(mark);
      tip = outcome.tip;
      outcomes.push(outcome);
    } catch (error) {
      pending.rollback(mark);
      // What was refused on the stored state is refused; what was refused on a state still in memory waits for it to be stored.
      if (tip.commit === head) writer.reject(error);
      else outcomes.push({ writer, error });
    }
  }
  if (tip.commit !== null && tip.commit !== head) {
    await store(context, [...pending.objects]);
    if (!(await moveRef(context, ref, tip.commit, head))) return outcomes.map(({ writer }) => writer);
    context.objects.remember(pending.trees, pending.commits);
  }
  for (const outcome of outcomes) settle(context, outcome);
  return [];
}

async function store({ processes, gitDir, objects: { format } }: RoundContext, objects: NewObject[]): Promise<void> {
  if (objects.length > worthPack) await writePack(processes, gitDir, format, objects);
  else await writeObjects(join(gitDir, 'objects'), objects);
}

/** A branch is only born by a write when it is the first of its repository and HEAD's. */
async function checkFirstCommit({ refs }: RoundContext, branch: string): Promise<void> {
  const first = (await refs.head()) === `refs/heads/${branch}` && (await refs.list('refs/heads')).length === 0;
  if (!first) throw new DomainError('not_found', `There is no branch ${branch}`);
}

async function planOne(
  context: RoundContext,
  pending: PendingObjects,
  tip: Tip,
  writer: Writer,
): Promise<Outcome & { tip: Tip }> {
  const { request } = writer;
  const { changes, message, result } = await request.plan(new TreeSnapshot(pending, tip.commit, tip.tree));
  const edited = await applyChanges(pending, tip.tree, changes);
  if (edited === tip.tree) return { writer, tip, commit: null, result };
  const commit = pending.addCommit({
    tree: edited ?? pending.addTree(Tree.empty(rawLength[pending.format])),
    parents: tip.commit === null ? [] : [tip.commit],
    author: request.author,
    committer: context.committer(),
    date: context.now(),
    message,
  });
  return { writer, tip: { commit: commit.sha, tree: commit.tree_sha }, commit, result };
}

/** @returns false when the branch does not hold `from` any more, or is locked by another git process */
async function moveRef({ refs, updater }: RoundContext, ref: string, to: Oid, from: Oid | null): Promise<boolean> {
  try {
    await updater.commit([{ ref, to, from }]);
    return true;
  } catch (cause) {
    if (!(cause instanceof RefsRejected)) throw cause;
    const found = await refs.read(ref);
    // The process may have ended between the move and its answer.
    if (found === to) return true;
    if (found !== from || cause.message.includes(".lock': File exists")) return false;
    throw refRefused(ref, cause);
  }
}

/** The answer for a ref git would not move although it holds what was expected. */
export function refRefused(ref: string, cause: RefsRejected): DomainError {
  if (/exists; cannot create|cannot process .* and .* at the same time/.test(cause.message)) {
    return new DomainError('name_collision', `${ref} clashes with a branch whose name is the start of the other`, {
      cause,
    });
  }
  return new DomainError('repository_unavailable', 'The branch could not be moved', { cause });
}

function settle({ objects }: RoundContext, outcome: Outcome): void {
  if ('error' in outcome) {
    outcome.writer.reject(outcome.error);
    return;
  }
  const { writer, tip, commit, result } = outcome;
  writer.resolve({ commit, result, snapshot: new TreeSnapshot(objects, tip.commit, tip.tree) });
}
