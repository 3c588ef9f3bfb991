import type { BranchFollower } from '../repository/branches-moved.ts';
import { closeForLostHead, keepHeads, keptHead } from './open-pulls.ts';
import { Pull } from './pull.entity.ts';

/**
 * Keeps open pull requests in step with their head branches, whoever moved them: `refs/pull/<n>/head` holds what is proposed, and those
 * whose branch has gone are closed with what it held last.
 */
export const followHeads: BranchFollower = async (services, project, branches) => {
  const em = services.orm.em.fork();
  const where = { project_id: project.id, state: 'open' as const, head_branch: { $in: [...branches] } };
  const pulls = await em.find(Pull, where, { orderBy: { number: 'asc' } });
  if (pulls.length === 0) return;
  const git = services.git.open(project.uuid);
  for (const [branch, of] of Map.groupBy(pulls, ({ head_branch }) => head_branch)) {
    if ((await keepHeads({ git }, of, branch)) !== null) continue;
    for (const pull of of)
      await closeForLostHead({ em, git, services }, [pull], (await keptHead({ git }, pull.number)) ?? pull.head_sha);
  }
};
