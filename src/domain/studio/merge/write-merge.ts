import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { counted } from '../../../lib/text.ts';
import type { Commit, Oid, Snapshot } from '../../../ports/git-records.ts';
import type { CommitPlan } from '../../../ports/git-writes.ts';
import { checkCarried } from '../compare/carried-content.ts';
import { checkPublishable, publishRules } from '../compare/publish-checks.ts';
import { alone } from '../in-turn.ts';
import type { StudioContext } from '../studio.ts';
import type { FoundConflicts, Resolution, ResolvedFile } from './merge.schema.ts';
import type { mergeStrategy } from './merge-branches.schema.ts';
import { mergeCommits } from './merge-commits.ts';
import type { ResolutionOptions } from './resolutions.ts';

interface Heads {
  current: Oid;
  incoming: Oid;
}

export interface MergeRequest {
  /** Short branch name. */
  base: string;
  /** Short branch name, or a stored commit that no branch of ours has. */
  head: string | { oid: Oid };
  strategy: z.output<typeof mergeStrategy>;
  /** Moves the base to the head where that is possible, whatever the strategy. */
  fast_forward?: boolean;
  author: { name: string; email: string };
  message: string;
  resolutions: readonly Resolution[];
  /** See `ResolutionOptions`. */
  require?: ResolutionOptions['require'];
  /** Looks at what the base is to hold. May throw. @param signal ends what takes long */
  admit?(heads: Heads, result: () => Promise<Snapshot>, signal: AbortSignal): Promise<void>;
  /** For `checkPublishable`; absent: what the base is to hold is not its matter. */
  publish?: {
    /** With the settings of the project that hold now. */
    context(): Promise<Pick<StudioContext, 'git' | 'studio' | 'project'>>;
    toleratesHead?: boolean;
  };
  /**
   * Looks at both heads before anything is merged, and says whether the caller has named them. May throw.
   * @param signal ends what takes long, where others wait for the branch
   */
  check(heads: Heads, signal?: AbortSignal): Promise<{ pinned: boolean }>;
}

/** `current` and `incoming` are the two heads that were merged. */
export interface Merged extends Heads {
  /** null when the base has all of the head already. */
  commit: Commit | null;
  resolved: ResolvedFile[];
}

/** A merge that people have to settle. */
export function mergeConflict(found: FoundConflicts): DomainError {
  const count = counted(found.conflicts.length, 'file is', 'files are');
  const message = found.conflicts_truncated ? `At least ${count} in conflict` : `${count} in conflict`;
  return new DomainError('merge_conflict', message, { details: { ...found } });
}

/**
 * Holds what a merge comes to against what the caller may bring in, and against the rule for names that holds for each new file.
 * @throws DomainError `name_collision` where a name of one side differs from one of the other only in case or normalisation, and what
 * `checkCarried` throws
 */
export async function checkResult(
  context: Pick<StudioContext, 'git' | 'studio' | 'grant'>,
  heads: Heads,
  result: () => Promise<Snapshot>,
  signal?: AbortSignal,
): Promise<void> {
  const { git } = context;
  await checkCarried(context, heads, result, signal);
  const sides = await Promise.all([heads.current, heads.incoming].map((commit) => git.snapshot(commit)));
  const found = await (await result()).newCollision(sides.map(({ tree }) => tree));
  if (found === null) return;
  const [theirs, ours] = found;
  throw new DomainError(
    'name_collision',
    `${theirs} of the head differs from ${ours} of the base only in case or normalisation; rename one of them on its branch`,
  );
}

export const headOf = async ({ git }: Pick<StudioContext, 'git'>, field: string, branch: string): Promise<Oid> => {
  const oid = await git.head(branch);
  if (oid) return oid;
  throw new DomainError('not_found', `${field}: branch ${branch} does not exist`);
};

type Context = Pick<StudioContext, 'git' | 'studio'>;

/** Changed files of a merge that are checked while others wait for the branch. */
const checkedInTurn = 100;
/**
 * Milliseconds that others wait at most: for a merge that may be made ahead of its turn, and for one that came to nothing there, since they kept moving
 * the branch. What git takes for it is not known before: it looks for renames among all that has changed, and compares long texts.
 */
const longestTurn = { first: 1_000, last: 5_000 };

/** Ends the turn of a merge that has to be prepared first. */
class Unprepared extends Error {}

/** Two heads that `MergeRequest.check` has looked at. */
interface CheckedHeads extends Heads {
  pinned: boolean;
}

/** The heads as they are now, where the base is at `current`. */
async function headsOf(
  context: Context,
  request: MergeRequest,
  current: Oid | null,
  signal?: AbortSignal,
): Promise<CheckedHeads> {
  const { base, head } = request;
  const incoming = typeof head === 'string' ? await headOf(context, 'head', head) : head.oid;
  if (current === null) throw new DomainError('not_found', `base: branch ${base} does not exist`);
  return { current, incoming, ...(await request.check({ current, incoming }, signal)) };
}

interface Planned extends Omit<Merged, 'commit'> {
  /** The rules for publishing by which it was checked; null: it kept to none. */
  rules: string | null;
}

/** A merge that is made, but for its branch. */
interface Prepared extends Planned {
  /** The commit the base is to be moved to. */
  to: Oid;
  /** Milliseconds that it took. */
  took: number;
}

/** The rules for publishing that a merge has to keep now; null: none. */
async function rulesOf({ publish, base }: MergeRequest): Promise<string | null> {
  return publish ? publishRules(await publish.context(), base) : null;
}

/** Merges two heads. @param most changed files that are checked @throws Unprepared for more */
async function planMerge(
  context: Context,
  request: MergeRequest,
  { pinned, ...heads }: CheckedHeads,
  { signal, most }: { signal: AbortSignal; most: number },
): Promise<CommitPlan<Planned>> {
  const { git } = context;
  const { base, strategy, fast_forward = strategy === 'ff', message, resolutions, require, admit, publish } = request;
  const { current, incoming } = heads;
  const isBounded = Number.isFinite(most);
  const leaveIfLong = async (before: Oid | null, after: Snapshot) => {
    const { tree } = await git.snapshot(before);
    if ((await after.changesSince(tree, most)) === null) throw new Unprepared('too long while others wait');
  };
  const check = async (result: () => Promise<Snapshot>): Promise<string | null> => {
    await admit?.(heads, result, signal);
    signal.throwIfAborted();
    const now = await publish?.context();
    const rules = now ? await publishRules(now, base) : null;
    if (!now || rules === null) return null;
    if (isBounded) await leaveIfLong(current, await result());
    await checkPublishable(now, { base, ...heads, result, toleratesHead: publish?.toleratesHead === true, signal });
    return rules;
  };
  // Most long ones are known before anything is merged.
  if (isBounded && (await rulesOf(request)) !== null)
    await leaveIfLong(await git.mergeBase(current, incoming), await git.snapshot(incoming));
  if (fast_forward && (strategy === 'ff' || (await git.isAncestor(current, incoming)))) {
    const rules = await check(() => git.snapshot(incoming));
    return { changes: [], message, result: { ...heads, resolved: [], rules }, fast_forward_to: incoming };
  }
  const { tree, changes, resolved, ...found } = await mergeCommits(context, heads, resolutions, {
    pinned,
    signal,
    ...(require && { require }),
  });
  if (found.conflicts.length > 0) throw mergeConflict(found);
  let staged: Promise<Snapshot> | undefined;
  const stage = async () => (await git.snapshotOfTree(tree)).with(changes);
  const rules = await check(() => (staged ??= stage()));
  const parents = strategy === 'merge' ? [incoming] : [];
  return { tree, changes, parents, message, result: { ...heads, resolved, rules } };
}

/** Makes the commit of a merge on its base as it is now. */
async function prepareMerge(context: Context, request: MergeRequest): Promise<Prepared> {
  const { git } = context;
  const start = performance.now();
  const heads = await headsOf(context, request, await git.head(request.base));
  const { commit, result } = await git.writeOnto(heads.current, {
    author: request.author,
    plan: (_head, signal) => planMerge(context, request, heads, { signal, most: Number.POSITIVE_INFINITY }),
  });
  return { ...result, to: commit?.sha ?? heads.current, took: performance.now() - start };
}

/**
 * Times a merge is prepared while its base keeps moving. None but the first begins later than so many milliseconds: each may take 120 s, and a claim to
 * merge, which is renewed when it begins, has to last until the turn of what it comes to.
 */
const tries = { most: 10, within: 20_000 };
/**
 * Prepares a merge, again as long as the base has moved when its turn comes, and moves the base. One that takes seconds alone is in the end made in its
 * turn: a branch that others write to all the time would never get it.
 * @throws DomainError `branch_moved`
 */
async function writePrepared(context: Context, request: MergeRequest): Promise<Merged> {
  const inTurn = async (turn: Turn): Promise<Merged | null> => {
    try {
      return await writeInTurn(context, request, turn);
    } catch (error) {
      if (error instanceof Unprepared) return null;
      throw error;
    }
  };
  const { base } = request;
  const began = performance.now();
  for (let tried = 1; ; tried += 1) {
    const prepared = await prepareMerge(context, request);
    const merged = await inTurn({ prepared });
    if (merged) return merged;
    if (tried < tries.most && performance.now() - began < tries.within) continue;
    const time = longestTurn.last;
    const last = prepared.took <= time ? await inTurn({ prepared, most: Number.POSITIVE_INFINITY, time }) : null;
    if (last) return last;
    throw new DomainError(
      'branch_moved',
      `base: ${base} keeps moving while the merge is made and checked; try again, or merge it in parts`,
    );
  }
}

/**
 * Merges one branch into another. Both must still be where they were read when the base moves. What takes long to merge, or to check before it is
 * published, is merged and checked ahead of its turn, and again when the base has moved since: nothing comes to the base unchecked, and others write to
 * it meanwhile.
 * @throws DomainError `merge_conflict` with `details.conflicts`, `not_fast_forward`, `branch_moved`, `busy`, `not_found`, `checks_failed`, and what
 * `check` and `admit` throw
 */
export async function writeMerge(context: Context, request: MergeRequest): Promise<Merged> {
  try {
    return await writeInTurn(context, request, {});
  } catch (error) {
    if (!(error instanceof Unprepared)) throw error;
    return alone(context, request.base, () => writePrepared(context, request));
  }
}

interface Turn {
  /** What has been made for it. */
  prepared?: Prepared;
  /** Changed files that are checked in it, unless the head is another than what was prepared. */
  most?: number;
  /** Milliseconds it may take. */
  time?: number;
}

/** What takes longer is prepared ahead of its turn. */
function leaveTurn(error: unknown): never {
  if (error instanceof DomainError && error.code === 'git_timeout') throw new Unprepared(error.message);
  throw error;
}

/** @throws Unprepared when the merge has to be prepared, or prepared anew */
async function writeInTurn(
  context: Context,
  request: MergeRequest,
  { prepared, most = checkedInTurn, time = longestTurn.first }: Turn,
): Promise<Merged> {
  const { git } = context;
  const { base, head, author, message } = request;
  const written = git.write<Planned>({
    branch: base,
    author,
    stored_head: true,
    time,
    async plan(snapshot, signal): Promise<CommitPlan<Planned>> {
      const heads = await headsOf(context, request, snapshot.commit, signal);
      const { current, incoming } = heads;
      const expect = typeof head === 'string' ? { [head]: incoming } : {};
      if (await git.isAncestor(incoming, current))
        return { changes: [], message, result: { current, incoming, resolved: [], rules: null } };
      if (prepared?.current === current && prepared.incoming === incoming) {
        const rules = await rulesOf(request);
        if (rules === null || rules === prepared.rules)
          return { changes: [], message, result: prepared, fast_forward_to: prepared.to, expect };
      }
      const isSameHead = prepared?.incoming === incoming;
      if (isSameHead && prepared.took > time) throw new Unprepared('too long while others wait');
      const checked = isSameHead ? most : checkedInTurn;
      return { ...(await planMerge(context, request, heads, { signal, most: checked })), expect };
    },
  });
  const { commit, result } = await written.catch(leaveTurn);
  const { current, incoming, resolved } = result;
  return { commit, current, incoming, resolved };
}
