import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DomainError } from '../../domain/errors.ts';
import type { GitServeRequest, GitStore, ImportSource, Repository } from '../../domain/ports/git.ts';
import { GitProcesses, type Log } from './git-process.ts';
import { createLayout, hasLayout, removeLayout } from './layout.ts';
import { ObjectCaches } from './object-source.ts';
import { GitRepository } from './repository.ts';

export interface GitStoreOptions {
  /** Repositories lie in `<dataDir>/git/<id>.git`. */
  dataDir: string;
  log: Log;
  committer: { name: string; email: string } | (() => { name: string; email: string });
  now: () => Date;
}

/** Repository objects kept at once; those above it that sleep are dropped. */
const kept = 256;
const oldestGit = [2, 38] as const;

/** The store of all repositories below a data directory. */
export function createGitStore(options: GitStoreOptions): GitStore {
  return new FileGitStore(options);
}

class FileGitStore implements GitStore {
  readonly #directory: string;
  readonly #home: string;
  readonly #processes: GitProcesses;
  readonly #options: GitStoreOptions;
  readonly #caches = new ObjectCaches();
  readonly #open = new Map<string, GitRepository>();

  constructor(options: GitStoreOptions) {
    this.#options = options;
    this.#directory = resolve(options.dataDir, 'git');
    this.#home = join(this.#directory, '.home');
    this.#processes = new GitProcesses(this.#home);
  }

  async check(): Promise<{ version: string }> {
    await mkdir(this.#home, { recursive: true });
    const { stdout } = await this.#processes.run(['version']);
    const version = /\d+\.\d+(\.\d+)*/.exec(stdout.toString('latin1'))?.[0] ?? '0.0';
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major > oldestGit[0] || (major === oldestGit[0] && minor >= oldestGit[1])) return { version };
    throw new DomainError('unavailable', `git ${oldestGit.join('.')} or later is needed; this one is ${version}`);
  }

  async create(id: string, defaultBranch: string): Promise<Repository> {
    const gitDir = this.#path(id);
    await mkdir(this.#home, { recursive: true });
    await createLayout(gitDir, defaultBranch, 'sha1');
    return this.open(id);
  }

  open(id: string): Repository {
    return this.#repository(id);
  }

  exists(id: string): Promise<boolean> {
    return hasLayout(this.#path(id));
  }

  async remove(id: string): Promise<void> {
    const repository = this.#open.get(id);
    this.#open.delete(id);
    await repository?.close();
    await removeLayout(this.#path(id));
  }

  async importFrom(_id: string, _source: ImportSource): Promise<{ default_branch: string; branches: number }> {
    throw new DomainError('unavailable', 'Not here yet');
  }

  async serve(_id: string, _request: GitServeRequest): Promise<void> {
    throw new DomainError('unavailable', 'Not here yet');
  }

  /** Lets writers finish, then ends every process. */
  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((repository) => repository.close()));
    this.#open.clear();
    await this.#processes.close();
  }

  #repository(id: string): GitRepository {
    const known = this.#open.get(id);
    if (known !== undefined) {
      // Moved to the end: the map is in order of last use.
      this.#open.delete(id);
      this.#open.set(id, known);
      return known;
    }
    const { log, committer, now } = this.#options;
    const repository = new GitRepository(id, this.#path(id), {
      processes: this.#processes,
      caches: this.#caches,
      log,
      committer: typeof committer === 'function' ? committer : () => committer,
      now,
    });
    this.#open.set(id, repository);
    this.#dropSleepers();
    return repository;
  }

  #dropSleepers(): void {
    for (const [id, repository] of this.#open) {
      if (this.#open.size <= kept) return;
      if (repository.asleep) this.#open.delete(id);
    }
  }

  /** Ids are made by the service; this only keeps a mistake from becoming a path. */
  #path(id: string): string {
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(id)) throw new DomainError('not_found', 'No such repository');
    return join(this.#directory, `${id}.git`);
  }
}
