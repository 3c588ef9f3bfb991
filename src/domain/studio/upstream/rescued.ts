import { z } from 'zod';
import type { Repository } from '../../../ports/git.ts';
import type { Oid } from '../../../ports/git-records.ts';

const prefix = 'refs/portico/rescue';
/** Of those a repository shows. */
const mostShown = 50;

/** A commit that a branch had and may have lost: `Repository.rescue` keeps it. */
export const rescued = z
  .object({
    branch: z.string(),
    sha: z.string(),
    ref: z
      .string()
      .describe('What keeps it; no git client sees it. A branch can be made from `sha` with manage_studio'),
  })
  .meta({ id: 'RescuedCommit' });
type Rescued = z.output<typeof rescued>;

async function rescuedIn(git: Repository): Promise<Rescued[]> {
  const refs = await git.refsBelow(prefix);
  return refs.map(({ name, oid }) => ({ branch: name.slice(prefix.length + 1, -oid.length - 1), sha: oid, ref: name }));
}

/**
 * The rescued commits of a repository, at most 50: those of branches that are there come first, for they may be missed, and the newest of either. Each
 * branch that is merged as one commit and deleted on its host leaves one behind.
 */
export async function latestRescued(git: Repository): Promise<Rescued[]> {
  const all = await rescuedIn(git);
  if (all.length === 0) return [];
  const heads = new Set((await git.refsBelow('refs/heads')).map(({ name }) => name));
  const isThere = ({ branch }: Rescued) => Number(heads.has(`refs/heads/${branch}`));
  const dated = await Promise.all(
    all.map(async (one) => ({ one, at: Date.parse((await git.commit(one.sha)).committer.date) })),
  );
  return dated
    .sort((a, b) => isThere(b.one) - isThere(a.one) || b.at - a.at)
    .slice(0, mostShown)
    .map(({ one }) => one);
}

/** Whether a commit is one of those rescued. */
export async function isRescued(git: Repository, oid: Oid): Promise<boolean> {
  return (await rescuedIn(git)).some(({ sha }) => sha === oid);
}

/** Lets go of what branches (short names), now in step with the upstream, have in their history again. */
export async function dropSettled(git: Repository, branches: ReadonlySet<string>): Promise<void> {
  const settled: Rescued[] = [];
  for (const one of await rescuedIn(git)) {
    if (!branches.has(one.branch)) continue;
    const [local, remote] = [await git.head(one.branch), await git.upstreamHead(one.branch)];
    if (local !== null && local === remote && (await git.isAncestor(one.sha, local))) settled.push(one);
  }
  await git.updateRefs(settled.map(({ ref, sha }) => ({ name: ref, to: null, from: sha })));
}
