import { isGrantable, requirePermission } from '../../kernel/actor.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { AnyOperation, Extension } from '../../kernel/operation.ts';
import { currentCaller } from '../../lib/concurrency.ts';
import { FairSlots } from '../../lib/fair-queue.ts';
import { replacing } from '../../lib/objects.ts';
import type { CommitPlan, CommitRequest, Committed, StagedTree } from '../../ports/git-writes.ts';
import type { ProjectContext } from '../projects/operation.ts';
import { isProtected, movesByPulls } from './repository/branch-rules.ts';
import type { StudioContext } from './studio.ts';

/** The permissions that an operation needs, or may need. */
type Needs = Pick<AnyOperation, 'permission' | 'also'>;

/**
 * Holds a write against the rights and settings of the moment its turn comes.
 * @param branch that it commits to directly, or by merging; null: it does neither
 * @throws DomainError as `run()` does, and `branch_protected`
 */
export async function checkTurn<Context extends ProjectContext>(
  { permission, also }: Needs,
  before: Context,
  branch: string | null,
): Promise<Context> {
  const now = await before.renewed();
  for (const name of [permission, ...Object.keys(also ?? {})])
    if (isGrantable(name) && before.grant.permissions.has(name)) requirePermission(now.grant, name);
  if (branch !== null && !movesByPulls(before.project, branch) && movesByPulls(now.project, branch))
    throw new DomainError('branch_protected', `${branch} has become protected; it moves by merging pull requests`);
  return now;
}

/**
 * Holds the deletion of a branch against the same, and against protection.
 * @throws DomainError as `run()` does, and `protected`
 */
async function checkDeletion(operation: AnyOperation, before: ProjectContext, branch: string): Promise<void> {
  const now = await checkTurn(operation, before, null);
  if (isProtected(now.project, branch))
    throw new DomainError('protected', `${branch} has become protected; it cannot be deleted`);
}

/**
 * Commands check again when their turn to write has come, and when it is planned: hundreds of writers can have been in front of them, a plan can
 * take minutes, and the rights of the caller have ended meanwhile, or the branch become protected.
 */
export const inTurn: Extension<'project', object, Pick<ProjectContext, 'project' | 'organization' | 'renewed'>> = {
  around(operation, context, execute) {
    if (operation.kind !== 'command') return execute();
    const { git } = context;
    const check = (branch: string | null) => checkTurn(operation, context, branch);
    const turned =
      <T>(branch: string | null, { plan }: Pick<CommitRequest<T>, 'plan'>): CommitRequest<T>['plan'] =>
      async (...head) => {
        await check(branch);
        const planned = await plan(...head);
        await check(branch);
        return planned;
      };
    context.git = replacing(git, {
      write: (request) => git.write({ ...request, plan: turned(request.branch, request) }),
      writeOnto: (parent, request) => git.writeOnto(parent, { ...request, plan: turned(null, request) }),
      deleteBranch: (name, expected, ownCheck) =>
        git.deleteBranch(name, expected, async () => {
          await checkDeletion(operation, context, name);
          await ownCheck?.();
        }),
    });
    return execute();
  },
};

/** Milliseconds that one waits for what is prepared before it: a claim to merge lasts longer. */
const longestWait = 100_000;

/** By branch: what is prepared holds much in memory, and is of no use once another has moved the branch. Callers alternate. */
const preparing = new Map<string, FairSlots<string>>();

/** Runs work on a branch alone among what is prepared for it. @throws DomainError `busy` when it would wait too long */
export async function alone<T>(
  { git }: Pick<StudioContext, 'git'>,
  branch: string,
  work: () => Promise<T>,
): Promise<T> {
  const key = JSON.stringify([git.id, branch]);
  const slots = preparing.get(key) ?? new FairSlots<string>(1, { keysOf: (caller) => [caller], mayHold: () => true });
  preparing.set(key, slots);
  try {
    const release = await slots.take(currentCaller(), AbortSignal.timeout(longestWait)).catch(() => {
      throw new DomainError('busy', `Other changes of ${branch} take long to make; try again when they are done`);
    });
    return await work().finally(release);
  } finally {
    if (slots.isIdle) preparing.delete(key);
  }
}

/** How often a commit is made ahead while others move its branch. What comes to nothing there is planned in its turn, in so many milliseconds. */
const ahead = { tries: 3, longestTurn: 5_000 };

/** Ends the turn of a commit that was made on another head. */
class Moved extends Error {}

/**
 * Commits a plan that takes long: it is made on the head ahead of its turn, and others write to the branch meanwhile.
 * @throws DomainError `branch_moved`, `busy`, and what `plan` throws
 */
export function writeAhead<T>(
  { git }: Pick<StudioContext, 'git'>,
  { branch, author, plan }: Pick<CommitRequest<T>, 'branch' | 'author' | 'plan'>,
): Promise<Committed<T>> {
  const inTurn = { branch, author, stored_head: true, time: ahead.longestTurn };
  return alone({ git }, branch, async () => {
    for (let left = ahead.tries; left > 0; left -= 1) {
      const head = await git.head(branch);
      if (head === null) break;
      const { commit, result } = await git.writeOnto(head, { author, plan });
      const moved = commit && { fast_forward_to: commit.sha };
      const take = async (now: StagedTree): Promise<CommitPlan<T>> => {
        if (now.commit !== head) throw new Moved();
        return { changes: [], message: '', result, ...moved };
      };
      try {
        return await git.write({ ...inTurn, plan: take });
      } catch (error) {
        if (!(error instanceof Moved)) throw error;
      }
    }
    return git.write({ ...inTurn, plan }).catch((error: unknown) => {
      if (!(error instanceof DomainError) || error.code !== 'git_timeout') throw error;
      throw new DomainError('branch_moved', `branch: ${branch} keeps moving while the commit is made; try again`);
    });
  });
}
