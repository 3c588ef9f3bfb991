import { raw } from '@mikro-orm/core';
import { DomainError } from '../../../kernel/errors.ts';
import type { Oid } from '../../../ports/git-records.ts';
import type { PushCommand } from '../../../ports/git-transfer.ts';
import type { StudioContext } from '../studio.ts';
import { Pull, pullBaseRef, pullRef } from './pull.entity.ts';

/** Open pull requests whose head is a branch. */
export function openPullsFrom({ em, project }: Pick<StudioContext, 'em' | 'project'>, branch: string): Promise<Pull[]> {
  return em.find(Pull, { project_id: project.id, head_branch: branch, state: 'open' }, { orderBy: { number: 'asc' } });
}

/** How often it is looked again at what others move at the same moment. */
const mostLooks = 10;

/** The commit that is kept of a pull request; null: none yet. */
export async function keptHead({ git }: Pick<StudioContext, 'git'>, number: number): Promise<Oid | null> {
  const refs = await git.refsBelow(`refs/pull/${number}`);
  return refs.find(({ name }) => name === pullRef(number))?.oid ?? null;
}

/**
 * Keeps what pull requests propose reachable, also when their head branch goes. The process that saw the branch first may be the last to say
 * so: each moves only a ref that is still as it was before the branch was read, and is done when it finds both to agree.
 * @returns what the branch holds; null when it is gone, and nothing was kept
 * @throws DomainError `branch_moved` when the refs go on moving
 */
export async function keepHeads(
  { git }: Pick<StudioContext, 'git'>,
  pulls: readonly Pull[],
  branch: string,
): Promise<Oid | null> {
  for (let look = 1; ; look += 1) {
    const kept = await Promise.all(
      pulls.map(async ({ number }) => ({ name: pullRef(number), from: await keptHead({ git }, number) })),
    );
    const to = await git.head(branch);
    const behind = kept.filter(({ from }) => from !== to);
    if (to === null || behind.length === 0) return to;
    try {
      await git.updateRefs(behind.map((ref) => ({ ...ref, to })));
    } catch (error) {
      if (!(error instanceof DomainError && error.code === 'branch_moved') || look >= mostLooks) throw error;
    }
  }
}

/** The same for the branches a push is about to delete. */
export async function keepPushedHeads(
  context: Pick<StudioContext, 'em' | 'git' | 'project'>,
  commands: readonly PushCommand[],
): Promise<void> {
  for (const { ref, old, new: to } of commands) {
    if (to !== null || old === null || !ref.startsWith('refs/heads/')) continue;
    const branch = ref.slice('refs/heads/'.length);
    await keepHeads(context, await openPullsFrom(context, branch), branch);
  }
}

/**
 * Deletes a branch that still holds `at`; pull requests it is the head of keep what they propose, and are closed. They are those of the moment
 * its turn comes: one may have been opened while writers of the branch were in front.
 * @param admit refuses the deletion for pull requests that are open then
 * @throws DomainError `branch_moved`, `not_found`, `protected`
 */
export async function deleteWithPulls(
  context: Pick<StudioContext, 'em' | 'git' | 'services' | 'project'>,
  branch: string,
  at: Oid,
  admit: (pulls: readonly Pull[]) => void = () => {},
): Promise<void> {
  let pulls: Pull[] = [];
  await context.git.deleteBranch(branch, at, async () => {
    pulls = await openPullsFrom(context, branch);
    admit(pulls);
    await keepHeads(context, pulls, branch);
  });
  await closeForLostHead(context, pulls, at);
}

/** Closes pull requests whose head branch has gone, unless they were merged since they were read: a merge may delete the branch. */
export async function closeForLostHead(
  { em, git, services }: Pick<StudioContext, 'em' | 'git' | 'services'>,
  pulls: readonly Pull[],
  head: Oid,
): Promise<void> {
  for (const { id, number, base_branch, base_sha } of pulls) {
    const base = await git.head(base_branch);
    if (base) await git.updateRefs([{ name: pullBaseRef(number), to: base }]);
    const now = services.clock.now();
    await em.nativeUpdate(
      Pull,
      { id, state: 'open' },
      {
        state: 'closed',
        head_sha: head,
        base_sha: base ?? base_sha,
        closed_at: now,
        updated_at: now,
        version: raw<number>('version + 1'),
      },
    );
  }
}
