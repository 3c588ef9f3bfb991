import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { DomainError } from '../../domain/errors.ts';
import type {
  FsckReport,
  GitServeRequest,
  GitStore,
  ImportSource,
  MaintenanceLevel,
  Oid,
  Ref,
  Repository,
  Upstream,
  UpstreamPush,
  UpstreamRefs,
} from '../../domain/ports/git.ts';
import { backupRepository, restoreRepository } from './backup.ts';
import { fsck } from './fsck.ts';
import { GitProcesses, type Log, wallTime } from './git-process.ts';
import { importRepository } from './import.ts';
import type { UpstreamOptions } from './import-source.ts';
import { createLayout, hasLayout, readFormat, removeLayout } from './layout.ts';
import { maintain, maintenanceDue } from './maintenance.ts';
import { ObjectCaches } from './object-source.ts';
import { servePush } from './push.ts';
import { PushHooks } from './push-hook.ts';
import { GitRepository } from './repository.ts';
import { serveGit } from './serve.ts';
import { Slots } from './slots.ts';
import { fetchUpstream, lsRemote, pushUpstream, type UpstreamContext } from './upstream.ts';

export interface GitStoreOptions extends UpstreamOptions {
  /** Repositories lie in `<dataDir>/git/<id>.git`. */
  dataDir: string;
  log: Log;
  committer: { name: string; email: string } | (() => { name: string; email: string });
  now: () => Date;
  /** How long the plan of one writer may take while others wait, milliseconds; default 120,000 (a merge, studio.md 4.7). */
  planTime?: number;
}

/** Repository objects kept at once; those above it that sleep are dropped. */
const kept = 256;
/** Clones and pushes that wait for a slot; more are turned away. */
const waitingPackWork = 16;
/** Nobody aborts. */
const never = new AbortController().signal;
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
  readonly #packWork = new Slots(Math.max(1, Math.floor(availableParallelism() / 2)), waitingPackWork);
  readonly #imports = new Slots(2);
  readonly #upkeep = new Slots(1);
  readonly #caches = new ObjectCaches();
  readonly #closing = new AbortController();
  readonly #hooks: PushHooks;
  readonly #open = new Map<string, GitRepository>();

  constructor(options: GitStoreOptions) {
    this.#options = options;
    this.#directory = resolve(options.dataDir, 'git');
    this.#home = join(this.#directory, '.home');
    this.#processes = new GitProcesses(this.#home);
    this.#hooks = new PushHooks(join(this.#directory, '.hooks'));
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

  async importFrom(id: string, source: ImportSource): Promise<{ default_branch: string; branches: number }> {
    await mkdir(this.#home, { recursive: true });
    const { log } = this.#options;
    const job = {
      processes: this.#processes,
      repository: this.#repository(id),
      log,
      upstream: this.#options,
      source,
    };
    return this.#imports.run(() => importRepository(job), source.signal);
  }

  async serve(id: string, request: GitServeRequest): Promise<void> {
    const gitDir = this.#path(id);
    await readFormat(gitDir);
    // An advertisement is a list of refs; what follows it packs and unpacks.
    if (request.advertise) return serveGit(this.#processes, gitDir, this.#options.log, request);
    await this.#packWork.run(() => this.#exchange(id, request), request.signal);
  }

  async lsRemote(upstream: Upstream, signal = never): Promise<UpstreamRefs> {
    await mkdir(this.#home, { recursive: true });
    return lsRemote(this.#upstreamContext(signal), upstream);
  }

  fetchUpstream(id: string, upstream: Upstream, signal = never): Promise<Ref[]> {
    const repository = this.#repository(id);
    return repository.upstream.run(() => fetchUpstream(this.#upstreamContext(signal), repository, upstream), signal);
  }

  pushUpstream(
    id: string,
    upstream: Upstream,
    push: { oid: Oid; branch: string },
    signal = never,
  ): Promise<UpstreamPush> {
    const repository = this.#repository(id);
    return repository.upstream.run(
      () => pushUpstream(this.#upstreamContext(signal), repository, upstream, push),
      signal,
    );
  }

  async maintenanceDue(id: string): Promise<MaintenanceLevel | null> {
    return maintenanceDue(this.#path(id), this.#open.get(id)?.commits ?? 0);
  }

  maintain(id: string, level: MaintenanceLevel, signal = never): Promise<void> {
    const repository = this.#repository(id);
    return this.#upkeep.run(async () => {
      await readFormat(repository.gitDir);
      const { commits } = repository;
      await maintain(this.#processes, repository.gitDir, level, { log: this.#options.log, signal });
      repository.commits -= commits;
    }, signal);
  }

  fsck(id: string, signal = never): Promise<FsckReport> {
    return this.#upkeep.run(() => fsck(this.#processes, this.#path(id), signal), signal);
  }

  backup(id: string, directory: string, signal = never): Promise<{ bytes: number; refs: number }> {
    return backupRepository(this.#processes, this.#repository(id), directory, signal);
  }

  async restore(id: string, directory: string, signal = never): Promise<Repository> {
    await mkdir(this.#home, { recursive: true });
    await restoreRepository(this.#processes, this.#path(id), directory, signal);
    this.#open.get(id)?.forget();
    return this.open(id);
  }

  /** Lets writers finish, then ends every process. */
  async close(): Promise<void> {
    // Pushes hold branches still, and would make the writers wait for them.
    this.#closing.abort(new DomainError('unavailable', 'The server is stopping'));
    await Promise.all([...this.#open.values()].map((repository) => repository.close()));
    this.#open.clear();
    await this.#processes.close();
    await this.#hooks.close();
  }

  #upstreamContext(signal: AbortSignal): UpstreamContext {
    return { processes: this.#processes, options: this.#options, log: this.#options.log, signal };
  }

  #exchange(id: string, request: GitServeRequest): Promise<void> {
    const { log } = this.#options;
    const { service, authorizePush } = request;
    if (service === 'git-upload-pack' || authorizePush === undefined)
      return serveGit(this.#processes, this.#path(id), log, request);
    const signal = AbortSignal.any([request.signal, this.#closing.signal]);
    return servePush({
      processes: this.#processes,
      repository: this.#repository(id),
      hooks: this.#hooks,
      log,
      request: { ...request, authorizePush, signal },
    });
  }

  #repository(id: string): GitRepository {
    const known = this.#open.get(id);
    if (known !== undefined) {
      // Moved to the end: the map is in order of last use.
      this.#open.delete(id);
      this.#open.set(id, known);
      return known;
    }
    const { log, committer, now, planTime = wallTime.merge } = this.#options;
    const repository = new GitRepository(id, this.#path(id), {
      processes: this.#processes,
      caches: this.#caches,
      log,
      committer: typeof committer === 'function' ? committer : () => committer,
      now,
      planTime,
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
