import type { Repository } from '../../ports/git.ts';

/** The same repository, noting which branches (short names) are moved through it. */
export function noteMoves(git: Repository, moved: Set<string>): Repository {
  const own: Partial<Repository> = {
    async write(request) {
      const committed = await git.write(request);
      if (committed.commit) moved.add(request.branch);
      return committed;
    },
    async createBranch(name, oid) {
      await git.createBranch(name, oid);
      moved.add(name);
    },
    async deleteBranch(name, expected) {
      await git.deleteBranch(name, expected);
      moved.add(name);
    },
  };
  return new Proxy(git, {
    get(target, key) {
      const value = Reflect.get(own, key) ?? Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
