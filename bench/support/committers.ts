import fs from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import git from 'isomorphic-git';
import { replaceFile } from '../../src/engines/git/durable-files.ts';
import type { Client } from './client.ts';
import { author, type Engine } from './engine.ts';
import { gitLine } from './stock-git.ts';

/** Replaces one file of a branch by a commit. */
export type CommitFile = (file: string, content: Buffer, message: string) => Promise<void>;

const now = () => Math.floor(Date.now() / 1000);

/** The engine without a server around it. */
export const engineCommitter =
  ({ repository }: Engine): CommitFile =>
  async (file, content, message) => {
    const plan = async () => ({ changes: [{ path: file, content }], message, result: null });
    await repository.write({ branch: 'main', author, plan });
  };

/** Saves the title of an entry as an editor does. */
export const httpCommitter =
  (client: Client, studio: string): CommitFile =>
  async (file, _content, message) => {
    const slug = file.slice('src/content/posts/'.length, -'.md'.length);
    const body = { frontmatter: { title: `${slug}: ${message}` }, message };
    await client.send(`${studio}/collections/posts/${slug}`, { method: 'PUT', body });
  };

/** The least a durable commit takes: an object and after it a ref, each a small file written, synced, named, and its directory synced. */
export const leastWrites =
  (directory: string): CommitFile =>
  async () => {
    for (const name of ['object', 'ref']) await replaceFile(path.join(directory, name), 'x'.repeat(100));
  };

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
