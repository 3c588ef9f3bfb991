import { z } from 'zod';
import type { EventSubject } from '../../ports/event-feed.ts';
import type { Repository } from '../../ports/git.ts';
import type { BranchFollower } from './branches-moved.ts';

/** Paths one event names; with more of them, what is shown of the branch is better asked for anew. */
const mostPaths = 1000;

/** What an event of a branch keeps. */
export const storedMove = z.object({ sha: z.string().nullable(), paths: z.array(z.string()).nullable() });

/** The events of a branch. */
export const branchSubject = (project_id: number, branch: string): EventSubject => ({
  project_id,
  topic: `branch ${branch}`,
});

/** Paths that differ between two commits, both names of a renamed file; null: too many, or one of the commits is gone. */
async function changedPaths(git: Repository, before: string, after: string): Promise<string[] | null> {
  const diff = await git.diff(before, after, { skip: 0, limit: mostPaths }).catch(() => null);
  if (!diff || diff.total > mostPaths) return null;
  const paths = diff.files.flatMap(({ path, previous_path }) => (previous_path ? [previous_path, path] : [path]));
  return [...new Set(paths)];
}

/** Tells those who watch branches where they have moved to, whichever process moved them. */
export const publishMoves: BranchFollower = async (services, project, branches) => {
  const git = services.git.open(project.uuid);
  for (const branch of branches) {
    const publish = async (last: unknown) => {
      const before = storedMove.safeParse(last).data?.sha;
      // Read under the subject's lock: what another process publishes later is not older than this.
      const sha = await git.head(branch);
      if (sha === before || (sha === null && before === undefined)) return undefined;
      return { sha, paths: before && sha ? await changedPaths(git, before, sha) : null };
    };
    await services.orm.em
      .fork()
      .transactional((em) => services.events.publish(em, branchSubject(project.id, branch), publish));
  }
};
