import type { Repository } from '../../ports/git.ts';
import type { Oid } from '../../ports/git-records.ts';
import { newRefNameProblem } from '../ref-name.ts';

const namesBelow = async (git: Repository, prefix: string) =>
  (await git.refsBelow(prefix)).map(({ name }) => name.slice(prefix.length + 1));

/** Short names of the upstream's branches that the last fetch left out, since no branch of such a name can be made here. */
export async function leftOutBranches(git: Repository): Promise<string[]> {
  const odd = (await namesBelow(git, 'refs/portico/upstream')).filter((name) => newRefNameProblem(name) !== null);
  if (odd.length === 0) return [];
  const followed = new Set(await namesBelow(git, 'refs/remotes/upstream'));
  return odd.filter((name) => !followed.has(name));
}

/** What the branches of the two sides hold, by their short names; of the upstream, when it was last fetched or pushed to. */
export async function branchHeads(git: Repository): Promise<{ here: Map<string, Oid>; there: Map<string, Oid> }> {
  const below = async (prefix: string) =>
    new Map((await git.refsBelow(prefix)).map(({ name, oid }) => [name.slice(prefix.length + 1), oid]));
  return { here: await below('refs/heads'), there: await below('refs/remotes/upstream') };
}
