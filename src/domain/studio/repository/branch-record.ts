import type { z } from 'zod';
import type { Oid } from '../../../ports/git-records.ts';
import { draftsOf } from '../drafts/draft-record.ts';
import type { StudioContext } from '../studio.ts';
import { syncOf } from '../upstream/sync-record.ts';
import { canCommit, isProtected } from './branch-rules.ts';
import type { branch } from './repository.schema.ts';

/** A branch by its short name, and what it holds. */
export interface Head {
  name: string;
  oid: Oid;
}

/** All branches, sorted by name. */
export const headsOf = async ({ git }: Pick<StudioContext, 'git'>): Promise<Head[]> =>
  (await git.branches()).map(({ name, oid }) => ({ name: name.slice('refs/heads/'.length), oid }));

/** How long distances are counted for one list, milliseconds: each takes a walk of two histories, anew whenever the default branch has moved. */
const countingTime = 2_000;

type Context = Pick<StudioContext, 'em' | 'git' | 'services' | 'studio' | 'project' | 'grant' | 'actor'>;

/**
 * Branches as they are shown, in their order; what the database knows of them is read for all at once.
 * @param compare with how far each is from the default branch, where that is known soon enough
 */
export async function branchRecords(
  context: Context,
  heads: readonly Head[],
  { compare = false }: { compare?: boolean | undefined } = {},
): Promise<z.output<typeof branch>[]> {
  const { git, project } = context;
  const main = await git.defaultBranch();
  const base = compare ? await git.head(main) : null;
  const names = heads.map(({ name }) => name);
  const drafts = await draftsOf(context, names);
  const oids = heads.map(({ oid }) => oid);
  const distances = base === null ? null : await git.distances(oids, base, AbortSignal.timeout(countingTime));
  const syncs = project.is_mirror ? await syncOf(context, names) : null;
  return Promise.all(
    heads.map(async ({ name, oid }, at) => {
      const draft = drafts.get(name);
      const sync = syncs?.[at];
      return {
        name,
        default: name === main,
        protected: isProtected(project, name),
        commit: oid,
        can_commit: canCommit(context, name),
        ...(draft && { draft }),
        ...distances?.get(oid),
        ...(sync && { sync }),
      };
    }),
  );
}

/** One branch as it is shown. */
export async function branchRecord(
  context: Context,
  head: Head,
  options: { compare?: boolean | undefined } = {},
): Promise<z.output<typeof branch>> {
  const [record] = await branchRecords(context, [head], options);
  if (!record) throw new Error('a branch has no record');
  return record;
}
