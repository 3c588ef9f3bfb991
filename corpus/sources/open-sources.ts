import { stat } from 'node:fs/promises';
import type { GitProcesses } from '../../src/engines/git/git-process.ts';
import { UsageError } from '../arguments.ts';
import { openDirectory } from './directory.ts';
import { findGitDir, headsOf, openCommit } from './repository.ts';
import type { Source } from './source.ts';

/** What is needed to open a source: how to run git, and when to stop. */
interface Opening {
  processes: GitProcesses;
  signal: AbortSignal;
  /** Branch or commit instead of every branch head. */
  ref: string | undefined;
}

/**
 * Says how to open each source there is at a path: the directory itself, or a repository's branch heads.
 * @throws UsageError for what is neither
 */
export async function sourcesAt(path: string, { processes, signal, ref }: Opening): Promise<(() => Promise<Source>)[]> {
  const seen = await stat(path).catch(() => null);
  if (seen === null) throw new UsageError(`There is nothing at ${path}.`);
  if (!seen.isDirectory()) throw new UsageError(`${path} is a file; name a directory or a git repository.`);
  const gitDir = await findGitDir(path);
  if (gitDir !== null) {
    const place = { name: path, gitDir, processes, signal };
    const heads = await headsOf(place, ref);
    return heads.map(
      ([branch, commit]) =>
        () =>
          openCommit(place, branch, commit),
    );
  }
  if (ref !== undefined) throw new UsageError(`--ref needs git repositories; ${path} is a plain directory.`);
  return [() => openDirectory(path, signal)];
}
