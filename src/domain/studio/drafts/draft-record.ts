import type { z } from 'zod';
import type { BranchFollower } from '../repository/branches-moved.ts';
import type { draft } from '../repository/repository.schema.ts';
import type { StudioContext } from '../studio.ts';
import { Draft } from './draft.entity.ts';

const showDraft = (
  { actor }: Pick<StudioContext, 'actor'>,
  { owner_id, owner_name, base, title, created_at }: Draft,
): z.output<typeof draft> => ({
  owner: { id: owner_id, name: owner_name },
  own: owner_id === actor.id,
  base,
  title,
  created_at,
});

/** What is known of branches (short names) that are drafts. */
export async function draftsOf(
  context: Pick<StudioContext, 'em' | 'project' | 'actor'>,
  branches: readonly string[],
): Promise<Map<string, z.output<typeof draft>>> {
  const { em, project } = context;
  if (branches.length === 0) return new Map();
  const rows = await em.find(
    Draft,
    { project_id: project.id, branch: { $in: [...branches] } },
    { disableIdentityMap: true },
  );
  return new Map(rows.map((row) => [row.branch, showDraft(context, row)]));
}

/** Deletes the rows of drafts whose branches are gone, by whatever way. */
export const forgetDrafts: BranchFollower = async ({ orm, git }, project, branches) => {
  const repository = git.open(project.uuid);
  const heads = await Promise.all(branches.map((branch) => repository.head(branch)));
  const gone = branches.filter((_, at) => heads[at] === null);
  if (gone.length > 0) await orm.em.fork().nativeDelete(Draft, { project_id: project.id, branch: { $in: gone } });
};
