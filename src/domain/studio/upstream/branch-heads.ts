import type { Repository } from '../../ports/git.ts';
import type { Oid } from '../../ports/git-records.ts';

/** What the branches of the two sides hold, by their short names; of the upstream, when it was last fetched or pushed to. */
export async function branchHeads(git: Repository): Promise<{ here: Map<string, Oid>; there: Map<string, Oid> }> {
  const below = async (prefix: string) =>
    new Map((await git.refsBelow(prefix)).map(({ name, oid }) => [name.slice(prefix.length + 1), oid]));
  return { here: await below('refs/heads'), there: await below('refs/remotes/upstream') };
}
