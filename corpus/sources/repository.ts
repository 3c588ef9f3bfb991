import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { GitProcesses } from '../../src/engines/git/git-process.ts';
import { CatFile } from '../../src/engines/git/objects/cat-file.ts';
import { listRecursively } from '../../src/engines/git/objects/stored-objects.ts';
import { UsageError } from '../arguments.ts';
import { type ListedFile, largestFile, SkipCounter, type Source } from './source.ts';

/** The directory git keeps a repository in: of a checkout, of a linked worktree, or bare; null: there is no repository. */
export async function findGitDir(path: string): Promise<string | null> {
  const inside = join(path, '.git');
  const seen = await stat(inside).catch(() => null);
  if (seen?.isDirectory() && (await isGitDir(inside))) return resolve(inside);
  if (seen?.isFile()) {
    const target = /^gitdir: (.*)$/m.exec(await readFile(inside, 'utf8').catch(() => ''))?.[1];
    if (target !== undefined) return resolve(dirname(inside), target.trim());
  }
  return (await isGitDir(path)) ? resolve(path) : null;
}

/** gitrepository-layout(5): what makes a directory a repository. */
async function isGitDir(path: string): Promise<boolean> {
  const parts = await Promise.all(['HEAD', 'objects', 'refs'].map((name) => stat(join(path, name)).catch(() => null)));
  return parts.every((part) => part !== null);
}

/** Where a repository lies and how it is read. */
export interface RepositoryPlace {
  /** As it was given. */
  name: string;
  gitDir: string;
  processes: GitProcesses;
  signal: AbortSignal;
}

/**
 * The heads to read: one branch or commit, or every branch.
 * @throws UsageError when there is none
 */
export async function headsOf(place: RepositoryPlace, ref: string | undefined): Promise<[string, string][]> {
  const { processes, gitDir, name, signal } = place;
  if (ref !== undefined) {
    for (const candidate of [`refs/heads/${ref}`, ref]) {
      const wanted = ['rev-parse', '--quiet', '--verify', '--end-of-options', `${candidate}^{commit}`];
      const { code, stdout } = await processes.run(wanted, { gitDir, signal });
      // rev-parse repeats the words that end its options.
      const oid = stdout.toString('latin1').trim().split('\n').at(-1);
      if (code === 0 && oid) return [[ref, oid]];
    }
    throw new UsageError(`${name} has no branch or commit ${ref}.`);
  }
  const format = '--format=%(objectname) %(refname)';
  const { code, stdout, stderr } = await processes.run(['for-each-ref', format, 'refs/heads'], { gitDir, signal });
  if (code !== 0) throw new UsageError(`${name} cannot be read as a git repository: ${stderr.split('\n')[0]}`);
  const lines = stdout.toString('utf8').split('\n').filter(Boolean);
  if (lines.length === 0) throw new UsageError(`${name} has no branches.`);
  return lines.map((line) => [line.replace(/^\S+ refs\/heads\//, ''), line.split(' ', 1)[0] ?? '']);
}

/** The files of one commit. */
export async function openCommit(place: RepositoryPlace, branch: string, commit: string): Promise<Source> {
  const { processes, gitDir, name } = place;
  const skipped = new SkipCounter();
  const files: ListedFile[] = [];
  for await (const entries of listRecursively(processes, gitDir, commit)) {
    for (const { mode, type, path, oid } of entries) {
      if (mode === '120000') skipped.add('symlinks', path);
      else if (type === 'blob') files.push({ path, oid });
      else if (type === 'commit') skipped.add('special', path);
    }
  }
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return {
    name: `${name}@${branch}`,
    kind: 'git',
    commit,
    files,
    skipped: skipped.counts,
    ...blobReader(place, skipped),
  };
}

/** Reads blobs through one process; a damaged object ends it, and the next blob gets another. */
function blobReader({ processes, gitDir }: RepositoryPlace, skipped: SkipCounter): Pick<Source, 'read' | 'close'> {
  let reader = new CatFile(processes, gitDir);
  const ask = async (oid: string, withContent: boolean) => {
    if (reader.gone) reader = new CatFile(processes, gitDir);
    return reader.ask(oid, withContent).catch(() => null);
  };
  return {
    async read({ oid, path }) {
      const found = await ask(oid, false);
      const object = found && found.size <= largestFile ? await ask(oid, true) : null;
      if (object?.content) return object.content;
      skipped.add(found && found.size > largestFile ? 'too_large' : 'unreadable', path);
      return null;
    },
    close: () => reader.close(),
  };
}
