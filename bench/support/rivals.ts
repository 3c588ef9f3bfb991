import fs from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import git from 'isomorphic-git';
import { author } from './engine.ts';
import { gitLine } from './stock-git.ts';

const now = () => Math.floor(Date.now() / 1000);

/** Replaces one file of a branch by a commit. */
export type CommitFile = (file: string, content: Buffer, message: string) => Promise<void>;

/** Reads every blob of a branch with isomorphic-git and its cache. @returns how many. */
export async function readAllIsomorphic(gitdir: string): Promise<number> {
  const cache = {};
  let count = 0;
  const readBelow = async (oid: string): Promise<void> => {
    const { tree } = await git.readTree({ fs, gitdir, oid, cache });
    for (const entry of tree) {
      if (entry.type === 'tree') await readBelow(entry.oid);
      else if (entry.type === 'blob') count += (await git.readBlob({ fs, gitdir, oid: entry.oid, cache })) ? 1 : 0;
    }
  };
  await readBelow(await git.resolveRef({ fs, gitdir, ref: 'refs/heads/main' }));
  return count;
}

/** Reads blobs with isomorphic-git, one cache kept for all. */
export function isomorphicReader(gitdir: string): (oid: string) => Promise<Uint8Array> {
  const cache = {};
  return async (oid) => (await git.readBlob({ fs, gitdir, oid, cache })).blob;
}

/** Merges branches with isomorphic-git; where both sides changed lines, ours are taken, which costs it less than a merge of fields would. */
export function isomorphicMerger(gitdir: string): (ours: string, theirs: string) => Promise<void> {
  const cache = {};
  const mergeDriver: git.MergeDriverCallback = ({ contents }) => ({ cleanMerge: true, mergedText: contents[1] ?? '' });
  return async (ours, theirs) => {
    await git.merge({ fs, gitdir, ours, theirs, author, fastForward: false, mergeDriver, cache });
  };
}

/** Commits with isomorphic-git by its plumbing: no index and no working tree, one cache kept for all commits. */
export function isomorphicCommitter(gitdir: string): CommitFile {
  const cache = {};
  const replace = async (tree: string | null, names: readonly string[], blob: string): Promise<string> => {
    const [name = '', ...below] = names;
    const { tree: entries } = await git.readTree({ fs, gitdir, oid: tree ?? '', cache });
    const old = entries.find((entry) => entry.path === name);
    if (!old) throw new Error(`There is no ${name}`);
    const oid = below.length > 0 ? await replace(old.oid, below, blob) : blob;
    const changed = entries.map((entry) => (entry === old ? { ...old, oid } : entry));
    return git.writeTree({ fs, gitdir, tree: changed });
  };
  return async (file, content, message) => {
    const ref = 'refs/heads/main';
    const parent = await git.resolveRef({ fs, gitdir, ref });
    const { commit: head } = await git.readCommit({ fs, gitdir, oid: parent, cache });
    const blob = await git.writeBlob({ fs, gitdir, blob: content });
    const tree = await replace(head.tree, file.split('/'), blob);
    const person = { ...author, timestamp: now(), timezoneOffset: 0 };
    const commit = { message: `${message}\n`, tree, parent: [parent], author: person, committer: person };
    const oid = await git.writeCommit({ fs, gitdir, commit });
    await git.writeRef({ fs, gitdir, ref, value: oid, force: true });
  };
}

/** Commits with a git process for each step, as services built on the command line do; durable as ours is. */
export function spawningCommitter(gitDir: string, branch = 'main'): CommitFile {
  const index = path.join(gitDir, 'bench-index');
  const ref = `refs/heads/${branch}`;
  return async (file, content, message) => {
    const line = (args: readonly string[], input?: Buffer) =>
      gitLine(gitDir, args, { index, ...(input !== undefined && { input }) });
    const parent = await line(['rev-parse', ref]);
    const blob = await line(['hash-object', '-w', '--stdin'], content);
    await line(['read-tree', parent]);
    await line(['update-index', '--cacheinfo', `100644,${blob},${file}`]);
    const tree = await line(['write-tree']);
    const commit = await line(['commit-tree', '-p', parent, '-m', message, tree]);
    await line(['update-ref', ref, commit, parent]);
    await rm(index);
  };
}
