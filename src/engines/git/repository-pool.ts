import { join, resolve } from 'node:path';
import { DomainError } from '../../kernel/errors.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { Spools } from '../../ports/spool.ts';
import { GitProcesses, type Log, wallTime } from './git-process.ts';
import { defaultLimits, type TreeLimits } from './incoming/limits.ts';
import { ObjectCaches } from './objects/object-source.ts';
import { GitRepository } from './repository.ts';
import type { UpstreamOptions } from './transfer/reach.ts';

export interface GitStoreOptions extends UpstreamOptions {
  /** Repositories are `<dataDir>/git/<id>.git`. */
  dataDir: string;
  log: Log;
  /** Where the bodies of fetches and pushes are until all has come. */
  spools: Spools;
  committer: { name: string; email: string } | (() => { name: string; email: string });
  now: () => Date;
  /** How long the plan of one writer may take while others wait, milliseconds; default 120,000, as long as a merge may take. */
  planTime?: number;
  /** Milliseconds of silence on both sides after which a fetch or push is ended; default 120,000. */
  silence?: number;
  /** Milliseconds within which the body of a fetch must have come; default 60,000. Those of pushes may take longer. */
  fetchBodyTime?: number;
  /** Disk that the large bodies of fetches and pushes may hold together, bytes; default 8320 MiB. */
  bodyRoom?: number;
  /** Memory of each git process, bytes; default a quarter of the machine's, 512 MiB to 1 GiB. */
  memory?: number;
  /** Processor time of one push, seconds, for git and for each process it starts; default 300. */
  pushCpu?: number;
  /** What imports, fetches, pushes and merges may bring; what is not given is as `defaultLimits` has it. */
  limits?: Partial<TreeLimits>;
  metrics?: Pick<Metrics, 'gitProcess' | 'gitWriters'>;
  /** Called with branches (short names) this process moved, once that is durable. Must not throw. */
  onMoved?: (repository: string, branches: readonly string[]) => void;
}

/** Repository objects kept at once; those above it that sleep are dropped. */
const kept = 256;

/** The repositories of a data directory that are in use, and the processes they share. */
export class RepositoryPool {
  readonly directory: string;
  /** Stands in for HOME, empty; git starts in it. */
  readonly home: string;
  readonly processes: GitProcesses;
  readonly limits: TreeLimits;
  readonly #options: GitStoreOptions;
  readonly #caches = new ObjectCaches();
  readonly #open = new Map<string, GitRepository>();

  constructor(options: GitStoreOptions) {
    this.#options = options;
    this.limits = { ...defaultLimits, ...options.limits };
    this.directory = resolve(options.dataDir, 'git');
    this.home = join(this.directory, '.home');
    this.processes = new GitProcesses(this.home, options.metrics?.gitProcess, options.memory);
  }

  /** Ids are made by the service; this only keeps a mistake from becoming a path. */
  path(id: string): string {
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(id)) throw new DomainError('not_found', 'No such repository');
    return join(this.directory, `${id}.git`);
  }

  get(id: string): GitRepository {
    const known = this.#open.get(id);
    if (known !== undefined) {
      // Moved to the end: the map is in order of last use.
      this.#open.delete(id);
      this.#open.set(id, known);
      return known;
    }
    const { log, committer, now, planTime = wallTime.merge, onMoved = () => {}, metrics } = this.#options;
    const repository = new GitRepository(id, this.path(id), {
      processes: this.processes,
      caches: this.#caches,
      log,
      committer: typeof committer === 'function' ? committer : () => committer,
      now,
      planTime,
      limits: this.limits,
      onMoved,
      gitWriters: metrics?.gitWriters ?? (() => {}),
    });
    this.#open.set(id, repository);
    this.#dropSleepers();
    return repository;
  }

  /** The repository if it is in use: for what is only worth knowing then. */
  peek(id: string): GitRepository | undefined {
    return this.#open.get(id);
  }

  /** Waits for the writers of a repository and removes it from the pool. */
  async drop(id: string): Promise<void> {
    const repository = this.#open.get(id);
    this.#open.delete(id);
    await repository?.close();
  }

  /** Waits for all writers, then ends every process. */
  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((repository) => repository.close()));
    this.#open.clear();
    await this.processes.close();
  }

  #dropSleepers(): void {
    for (const [id, repository] of this.#open) {
      if (this.#open.size <= kept) return;
      if (repository.asleep) this.#open.delete(id);
    }
  }
}
