import fs from 'node:fs';
import git from 'isomorphic-git';
import { check } from '../benchmark.ts';
import type { Client } from './client.ts';
import { author, type Engine } from './engine.ts';
import { timed } from './statistics.ts';
import { gitLine, oidAt, runGit } from './stock-git.ts';

/** Merges `<name>-theirs` into `<name>-ours`. @returns milliseconds */
export type Merge = (name: string) => Promise<number>;

/** The engine's merge of lines and its commit. */
export const engineMerge =
  ({ repository, gitDir }: Engine): Merge =>
  async (name) => {
    const theirs = await oidAt(gitDir, `${name}-theirs`);
    return timed(() =>
      repository.write({
        branch: `${name}-ours`,
        author,
        stored_head: true,
        plan: async ({ commit }) => {
          const { tree, clean } = await repository.mergeTrees(commit ?? '', theirs);
          check(clean, `${name} is not merged by lines`);
          return { changes: [], tree, parents: [theirs], message: 'Merge', result: null };
        },
      }),
    );
  };

/** What an editor does. */
export const httpMerge =
  (client: Client, studio: string): Merge =>
  async (name) => {
    const body = { head: `${name}-theirs`, base: `${name}-ours` };
    return (await client.send(`${studio}/merge`, { method: 'POST', body, expect: 201 })).milliseconds;
  };

/** `git merge-tree`, and where it finds no conflict the commit and the ref, a process each. */
export const spawningMerge =
  (gitDir: string): Merge =>
  (name) =>
    timed(async () => {
      const [ours, theirs] = [`${name}-ours`, `${name}-theirs`];
      const answer = await gitLine(gitDir, ['merge-tree', '--write-tree', ours, theirs], { accept: 1 });
      const [tree = '', ...conflicts] = answer.split('\n');
      if (conflicts.length > 0) return;
      const parents = ['-p', ours, '-p', theirs];
      const commit = await gitLine(gitDir, ['commit-tree', ...parents, '-m', 'Merge', tree]);
      await gitLine(gitDir, ['update-ref', `refs/heads/${ours}`, commit]);
    });

/** `git merge` in a working tree, which stands at our side before. */
export function workTreeMerge(gitDir: string, workTree: string): Merge {
  const run = (...args: string[]) => runGit(gitDir, ['-c', 'core.bare=false', ...args], { workTree, accept: 1 });
  return async (name) => {
    await run('checkout', '--quiet', '--force', `${name}-ours`);
    return timed(() => run('merge', '--quiet', '--no-ff', '--no-edit', `${name}-theirs`));
  };
}

/** Merges branches with isomorphic-git; where both sides changed lines, ours are taken, which costs it less than a merge of fields would. */
export function isomorphicMerge(gitdir: string): Merge {
  const cache = {};
  const mergeDriver: git.MergeDriverCallback = ({ contents }) => ({ cleanMerge: true, mergedText: contents[1] ?? '' });
  return (name) =>
    timed(() => {
      const sides = { ours: `${name}-ours`, theirs: `${name}-theirs` };
      return git.merge({ fs, gitdir, ...sides, author, fastForward: false, mergeDriver, cache });
    });
}
