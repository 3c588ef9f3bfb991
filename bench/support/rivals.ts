import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import git from 'isomorphic-git';

const author = { name: 'Bench', email: 'bench@localhost' };
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

/** Runs stock git without any configuration of the machine. @returns stdout without the last newline. */
export function runGit(
  gitDir: string,
  args: readonly string[],
  options: { input?: Buffer; index?: string } = {},
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', ['-c', 'core.fsync=all', `--git-dir=${gitDir}`, ...args], {
      env: {
        PATH: process.env.PATH,
        HOME: gitDir,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: author.name,
        GIT_AUTHOR_EMAIL: author.email,
        GIT_COMMITTER_NAME: author.name,
        GIT_COMMITTER_EMAIL: author.email,
        ...(options.index !== undefined && { GIT_INDEX_FILE: options.index }),
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(Buffer.concat(out));
      else reject(new Error(`git ${args[0]} ended with ${code}: ${Buffer.concat(err)}`));
    });
    // A command that takes no input may be gone before its input is closed.
    child.stdin.on('error', () => {});
    child.stdin.end(options.input);
  });
}

/** Commits with a git process for each step, as services built on the command line do; durable as ours is. */
export function spawningCommitter(gitDir: string): CommitFile {
  const index = path.join(gitDir, 'bench-index');
  return async (file, content, message) => {
    const line = async (args: readonly string[], options = {}) =>
      (await runGit(gitDir, args, { index, ...options })).toString('latin1').trim();
    const parent = await line(['rev-parse', 'refs/heads/main']);
    const blob = await line(['hash-object', '-w', '--stdin'], { input: content });
    await line(['read-tree', parent]);
    await line(['update-index', '--cacheinfo', `100644,${blob},${file}`]);
    const tree = await line(['write-tree']);
    const commit = await line(['commit-tree', '-p', parent, '-m', message, tree]);
    await line(['update-ref', 'refs/heads/main', commit, parent]);
    await rm(index);
  };
}
