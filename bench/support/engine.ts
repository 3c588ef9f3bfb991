import { cp, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { createGitStore } from '../../src/engines/git/store.ts';
import { createSpools } from '../../src/engines/spool/spool.ts';
import type { GitStore, Repository } from '../../src/ports/git.ts';
import { createLog } from '../../src/server/log.ts';
import type { Bench } from '../benchmark.ts';
import type { Repository as Source } from './repositories.ts';

export const author = { name: 'Bench', email: 'bench@localhost' };

/** The git engine on a copy of a repository, without a server around it. */
export interface Engine {
  store: GitStore;
  repository: Repository;
  gitDir: string;
}

/** Copies a repository to a directory, as a benchmark's own. */
export async function copyOf({ gitDir }: Source, to: string): Promise<string> {
  await mkdir(path.dirname(to), { recursive: true });
  await cp(gitDir, to, { recursive: true });
  return to;
}

export async function openEngine({ directory, defer }: Bench, source: Source): Promise<Engine> {
  const dataDir = await directory();
  const gitDir = await copyOf(source, path.join(dataDir, 'git', 'bench.git'));
  const store = createGitStore({
    dataDir,
    spools: createSpools(path.join(dataDir, 'spool')),
    log: createLog({ level: 'silent', redactHeaders: [] }),
    committer: { name: 'Portico', email: 'portico@localhost' },
    now: () => new Date(),
    resolveUpstream: () => Promise.reject(new Error('nothing is fetched here')),
  });
  defer(() => store.close());
  await store.check();
  return { store, repository: store.open('bench'), gitDir };
}
