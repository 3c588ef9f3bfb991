import { join } from 'node:path';
import { DomainError } from '../../../kernel/errors.ts';
import type { Oid } from '../../../ports/git-records.ts';
import type { CommitRequest, Committed } from '../../../ports/git-writes.ts';
import { tally } from '../../../ports/tally.ts';
import { type NewObject, writeObjects, writePack } from '../objects/object-writer.ts';
import { PendingObjects } from '../objects/pending-objects.ts';
import { TreeSnapshot } from '../objects/snapshot.ts';
import { RefsRejected, type RefUpdate } from '../refs/ref-updater.ts';
import { type Planned, planOne, type RoundContext, TimeIsUp, type Tip, type Writer } from './commit-plan.ts';

/** How often a round is planned anew when the branch was moved by another process, before its writers fail. */
const rounds = 10;

/** Above this many objects one pack is faster than files of their own. A full batch of one-file writers stays below. */
const worthPack = 400;

/** What a writer gets once the branch has moved; an error stands only when the state it was thrown on does. */
type Outcome = { writer: Writer } & (Planned | { error: unknown });

/** After this long, milliseconds, a round that others wait for plans no further writer. */
const longestPlanning = 500;

/**
 * Commits a batch of writers as a chain on one branch and settles them, but for the last ones where planning takes long and others wait.
 * @returns the writers that are not settled, in their order
 */
export async function commitRound(
  context: RoundContext,
  branch: string,
  writers: Writer[],
  isAwaited: () => boolean,
): Promise<Writer[]> {
  let waiting = writers;
  const left: Writer[] = [];
  let release: (() => Promise<void>) | null = null;
  try {
    for (let round = 0; round < rounds && waiting.length > 0; round += 1) {
      release ??= await context.lock.take(branch, round > 0);
      const tried = await attempt(context, branch, waiting, isAwaited);
      waiting = tried.again;
      left.unshift(...tried.left);
    }
    for (const { reject } of waiting)
      reject(new DomainError('branch_moved', `The branch ${branch} keeps moving; try again`));
  } catch (error) {
    for (const { reject } of waiting) reject(error);
  } finally {
    await release?.();
  }
  return left;
}

interface Tried {
  /** The writers to plan anew, because the branch had moved; none when all that were planned are settled. */
  again: Writer[];
  /** The last writers, which were not planned. */
  left: Writer[];
}

async function attempt(
  context: RoundContext,
  branch: string,
  writers: Writer[],
  isAwaited: () => boolean,
): Promise<Tried> {
  const began = performance.now();
  const ref = `refs/heads/${branch}`;
  const head = await context.refs.read(ref);
  if (head === null) await checkFirstCommit(context, branch);
  const pending = new PendingObjects(context.objects);
  let tip: Tip = { commit: head, tree: head === null ? null : (await context.objects.commit(head)).tree_sha };
  const outcomes: Outcome[] = [];
  const expected = new Map<string, Oid | null>();
  let agreed = true;
  let planned = 0;
  for (const writer of writers) {
    if (planned > 0 && isAwaited() && performance.now() - began > longestPlanning) break;
    planned += 1;
    const { mark } = pending;
    try {
      const outcome = { writer, ...(await planOne(context, pending, tip, writer.request)) };
      for (const [other, oid] of outcome.expected) {
        agreed &&= (expected.get(other) ?? oid) === oid;
        expected.set(other, oid);
      }
      if (outcome.tip === tip) pending.rollback(mark);
      tip = outcome.tip;
      outcomes.push(outcome);
    } catch (error) {
      pending.rollback(mark);
      // What was refused on the stored state is refused; what was refused on a state still in memory waits for it to be stored.
      // A writer whose time is over gets no second attempt: the others have waited for it.
      if (tip.commit === head || error instanceof TimeIsUp) writer.reject(error);
      else outcomes.push({ writer, error });
    }
  }
  const left = writers.slice(planned);
  tally.commitRound.publish(planned);
  if (tip.commit !== null && tip.commit !== head) {
    // Two writers that saw a third branch at different commits cannot both be right.
    if (!agreed) return { again: outcomes.map(({ writer }) => writer), left };
    await store(context, [...pending.objects]);
    const moved = await moveRef(context, { ref, to: tip.commit, from: head }, expected);
    if (!moved) return { again: outcomes.map(({ writer }) => writer), left };
    context.objects.remember(pending.trees, pending.commits);
  }
  for (const outcome of outcomes) settle(context, outcome);
  return { again: [], left };
}

/** Commits one plan on top of any commit and stores it; no branch moves. @throws what the plan throws */
export async function commitOnto(
  context: RoundContext,
  parent: Oid,
  request: Pick<CommitRequest<unknown>, 'author' | 'plan'>,
): Promise<Committed<unknown>> {
  const { tree_sha } = await context.objects.commit(parent);
  const pending = new PendingObjects(context.objects);
  const planned = await planOne(context, pending, { commit: parent, tree: tree_sha }, { ...request, branch: '' });
  const { tip, commit, result } = planned;
  if (commit !== null) {
    await store(context, [...pending.objects]);
    context.objects.remember(pending.trees, pending.commits);
  }
  return { commit, result, snapshot: new TreeSnapshot(context.objects, tip.commit, tip.tree) };
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

/** @returns false when a branch does not hold what it should any more, or is locked by another git process */
async function moveRef(
  { refs, updater }: RoundContext,
  update: RefUpdate,
  expected: ReadonlyMap<string, Oid | null>,
): Promise<boolean> {
  try {
    await updater.commit([update, ...Array.from(expected, ([ref, holds]) => ({ ref, holds }))]);
    return true;
  } catch (cause) {
    if (!(cause instanceof RefsRejected)) throw cause;
    const found = await refs.read(update.ref);
    // The process may have ended between the move and its answer.
    if (found === update.to) return true;
    if (found !== update.from || cause.message.includes(".lock': File exists")) return false;
    for (const [ref, oid] of expected) if ((await refs.read(ref)) !== oid) return false;
    throw refRefused(update.ref, cause);
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
