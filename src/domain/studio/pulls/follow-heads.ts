import type { BranchFollower } from '../repository/branches-moved.ts';
import { closeForLostHead, keepHeads } from './open-pulls.ts';
import { Pull, pullRef } from './pull.entity.ts';

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
  const kept = new Map((await git.refsBelow('refs/pull')).map(({ name, oid }) => [name, oid]));
  for (const [branch, of] of Map.groupBy(pulls, ({ head_branch }) => head_branch)) {
    const head = await git.head(branch);
    if (head !== null) {
      await keepHeads(
        { git },
        of.filter(({ number }) => kept.get(pullRef(number)) !== head),
        head,
      );
      continue;
    }
    for (const pull of of)
      await closeForLostHead({ em, git, services }, [pull], kept.get(pullRef(pull.number)) ?? pull.head_sha);
  }
};
