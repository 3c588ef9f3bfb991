import { raw } from '@mikro-orm/core';
import type { ProjectContext } from '../../operation.ts';
import type { Oid } from '../../ports/git-records.ts';
import type { PushCommand } from '../../ports/git-transfer.ts';
import { Pull, pullBaseRef, pullRef } from './pull.entity.ts';

/** Open pull requests whose head is a branch. */
export function openPullsFrom(
  { em, project }: Pick<ProjectContext, 'em' | 'project'>,
  branch: string,
): Promise<Pull[]> {
  return em.find(Pull, { project_id: project.id, head_branch: branch, state: 'open' }, { orderBy: { number: 'asc' } });
}

/** Keeps what pull requests propose reachable when their head branch goes. */
export async function keepHeads(
  { git }: Pick<ProjectContext, 'git'>,
  pulls: readonly Pull[],
  head: Oid,
): Promise<void> {
  await git.updateRefs(pulls.map(({ number }) => ({ name: pullRef(number), to: head })));
}

/** The same for the branches a push is about to delete. */
export async function keepPushedHeads(
  context: Pick<ProjectContext, 'em' | 'git' | 'project'>,
  commands: readonly PushCommand[],
): Promise<void> {
  for (const { ref, old, new: to } of commands) {
    if (to !== null || old === null || !ref.startsWith('refs/heads/')) continue;
    await keepHeads(context, await openPullsFrom(context, ref.slice('refs/heads/'.length)), old);
  }
}

/**
 * Deletes a branch that still holds `at`; pull requests it is the head of keep what they propose, and are closed.
 * @throws DomainError `branch_moved`, `not_found`, `protected`
 */
export async function deleteWithPulls(
  context: Pick<ProjectContext, 'em' | 'git' | 'services' | 'project'>,
  branch: string,
  at: Oid,
): Promise<void> {
  const pulls = await openPullsFrom(context, branch);
  await keepHeads(context, pulls, at);
  await context.git.deleteBranch(branch, at);
  await closeForLostHead(context, pulls, at);
}

/** Closes pull requests whose head branch has gone, unless they were merged since they were read: a merge may delete the branch. */
export async function closeForLostHead(
  { em, git, services }: Pick<ProjectContext, 'em' | 'git' | 'services'>,
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
