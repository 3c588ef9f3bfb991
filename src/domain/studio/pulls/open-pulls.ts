import type { ProjectContext } from '../../operation.ts';
import type { Oid } from '../../ports/git.ts';
import { Pull, pullRef } from './pull.entity.ts';

/** Open pull requests whose head is a branch. */
export function openPullsFrom(
  { em, project }: Pick<ProjectContext, 'em' | 'project'>,
  branch: string,
): Promise<Pull[]> {
  return em.find(Pull, { project_id: project.id, head_branch: branch, state: 'open' }, { orderBy: { number: 'asc' } });
}

/** Closes pull requests whose head branch is about to go; what they proposed stays reachable. */
export async function closeForLostHead(
  { em, git, services }: Pick<ProjectContext, 'em' | 'git' | 'services'>,
  pulls: readonly Pull[],
  head: Oid,
): Promise<void> {
  if (pulls.length === 0) return;
  await git.updateRefs(pulls.map(({ number }) => ({ name: pullRef(number), to: head })));
  const now = services.clock.now();
  for (const pull of pulls) {
    const base_sha = (await git.head(pull.base_branch)) ?? pull.base_sha;
    Object.assign(pull, { state: 'closed', head_sha: head, base_sha, closed_at: now, updated_at: now });
    pull.version += 1;
  }
  await em.flush();
}
