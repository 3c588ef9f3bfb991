import type { BranchFollower } from '../repository/branches-moved.ts';

/** Takes in what a save, a push, a merge or an upstream brought to the default branch, before anybody asks for it. */
export const indexMoved: BranchFollower = async ({ git, content }, { uuid, settings }, branches) => {
  const repository = git.open(uuid);
  const branch = await repository.defaultBranch();
  const head = branches.includes(branch) ? await repository.head(branch) : null;
  if (head) await content.below(settings.content_root).site(repository, await repository.snapshot(head));
};
