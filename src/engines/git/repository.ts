import { join } from 'node:path';
import { DomainError } from '../../domain/errors.ts';
import type {
  Commit,
  CommitRequest,
  Committed,
  LogQuery,
  Oid,
  Ref,
  Repository,
  Snapshot,
} from '../../domain/ports/git.ts';
import { checkRefName } from '../../domain/studio/ref-name.ts';
import { BranchQueues } from './branch-queue.ts';
import { commitRound, refRefused, type Writer } from './commit-round.ts';
import { replaceFile } from './durable-files.ts';
import type { GitProcesses, Log } from './git-process.ts';
import { aheadBehind, countCommits, isVisible, lastCommits, listCommits } from './history.ts';
import { readFormat } from './layout.ts';
import { isOid, type ObjectFormat } from './object-id.ts';
import { ObjectReader } from './object-reader.ts';
import { type ObjectCaches, StoredObjects } from './object-source.ts';
import { RefFiles } from './ref-files.ts';
import { RefsRejected, RefUpdater } from './ref-updater.ts';
import { TreeSnapshot } from './snapshot.ts';

export interface RepositoryContext {
  processes: GitProcesses;
  caches: ObjectCaches;
  log: Log;
  committer: () => { name: string; email: string };
  now: () => Date;
}

/** One bare repository on disk. */
export class GitRepository implements Repository {
  readonly id: string;
  readonly gitDir: string;
  readonly refs: RefFiles;
  readonly updater: RefUpdater;
  readonly #context: RepositoryContext;
  readonly #reader: ObjectReader;
  readonly #queues: BranchQueues<Writer>;
  #objects: Promise<StoredObjects> | null = null;

  constructor(id: string, gitDir: string, context: RepositoryContext) {
    this.id = id;
    this.gitDir = gitDir;
    this.#context = context;
    this.refs = new RefFiles(gitDir);
    this.updater = new RefUpdater(context.processes, gitDir, context.log);
    this.#reader = new ObjectReader(context.processes, gitDir);
    this.#queues = new BranchQueues((branch, writers) => this.#round(branch, writers));
  }

  async defaultBranch(): Promise<string> {
    await this.#source();
    const head = await this.refs.head();
    if (!head?.startsWith('refs/heads/'))
      throw new DomainError('repository_unavailable', 'HEAD of the repository names no branch');
    return head.slice('refs/heads/'.length);
  }

  async setDefaultBranch(branch: string): Promise<void> {
    const head = join(this.gitDir, 'HEAD');
    await replaceFile(head, `ref: refs/heads/${branch}\n`, `${head}.lock`);
  }

  async branches(): Promise<Ref[]> {
    await this.#source();
    return this.refs.list('refs/heads');
  }

  head(branch: string): Promise<Oid | null> {
    return this.refs.read(`refs/heads/${branch}`);
  }

  async isReachable(oid: Oid): Promise<boolean> {
    const object = await this.#reader.info(oid);
    return object?.type === 'commit' && isVisible(this.#context.processes, this.gitDir, oid);
  }

  async snapshot(commit: Oid | null): Promise<Snapshot> {
    const objects = await this.#source();
    return new TreeSnapshot(objects, commit, commit === null ? null : (await objects.commit(commit)).tree_sha);
  }

  async commit(oid: Oid): Promise<Commit> {
    return (await this.#source()).commit(oid);
  }

  async *blobs(oids: readonly Oid[]): AsyncGenerator<{ oid: Oid; content: Buffer }> {
    for await (const { oid, object } of this.#reader.stream(oids)) {
      if (object === null || object.type !== 'blob') throw new DomainError('not_found', `No such blob: ${oid}`);
      if (object.content === null) throw new DomainError('too_large', `The blob ${oid} is larger than 100 MiB`);
      yield { oid, content: object.content };
    }
  }

  async sizes(oids: readonly Oid[]): Promise<(number | null)[]> {
    return Promise.all(oids.map(async (oid) => (await this.#reader.info(oid))?.size ?? null));
  }

  write<T>(request: CommitRequest<T>): Promise<Committed<T>> {
    return new Promise((resolve, reject) => {
      // The queue does not know T; what it resolves with is what this request's own plan returned.
      this.#queues.add(request.branch, { request, resolve: (answer) => resolve(answer as Committed<T>), reject });
    });
  }

  async createBranch(name: string, oid: Oid): Promise<void> {
    const ref = `refs/heads/${checkRefName('name', name)}`;
    const object = isOid(oid) ? await this.#reader.info(oid) : null;
    if (object?.type !== 'commit') throw new DomainError('not_found', `No such commit: ${oid}`);
    try {
      await this.updater.commit([{ ref, to: oid, from: null }]);
    } catch (cause) {
      if (!(cause instanceof RefsRejected)) throw cause;
      if ((await this.refs.read(ref)) === null) throw refRefused(ref, cause);
      throw new DomainError('already_exists', `There is a branch ${name}`, { cause });
    }
  }

  async aheadBehind(head: Oid, base: Oid): Promise<{ ahead_by: number; behind_by: number }> {
    const [ahead_by, behind_by] = await aheadBehind(this.#context.processes, this.gitDir, head, base);
    return { ahead_by, behind_by };
  }

  async lastCommits(from: Oid, paths: readonly string[]): Promise<Map<string, Commit>> {
    const objects = await this.#source();
    const found = await lastCommits(this.#context.processes, this.gitDir, from, paths);
    const commits = await Promise.all(
      [...found].map(async ([path, oid]) => [path, await objects.commit(oid)] as const),
    );
    return new Map(commits);
  }

  async log(query: LogQuery): Promise<Commit[]> {
    const objects = await this.#source();
    const oids = await listCommits(this.#context.processes, this.gitDir, query);
    return Promise.all(oids.map((oid) => objects.commit(oid)));
  }

  countCommits(query: Omit<LogQuery, 'skip'>): Promise<number> {
    return countCommits(this.#context.processes, this.gitDir, query);
  }

  async objectFormat(): Promise<ObjectFormat> {
    return (await this.#source()).format;
  }

  async diskSize(): Promise<number> {
    const text = await this.#context.processes.output(['count-objects', '-v'], { gitDir: this.gitDir });
    const kib = [...text.toString('latin1').matchAll(/^size(?:-pack|-garbage)?: (\d+)$/gm)].map((line) =>
      Number(line[1]),
    );
    return 1024 * kib.reduce((sum, size) => sum + size, 0);
  }

  /** True when nothing is under way and no process runs: the object can be dropped and made anew. */
  get asleep(): boolean {
    return !this.#queues.busy && this.updater.asleep && this.#reader.asleep;
  }

  /** Reads the repository's configuration again: it was made anew. */
  forget(): void {
    this.#objects = null;
  }

  /** Lets the writers finish, then ends the processes. */
  async close(): Promise<void> {
    await this.#queues.settled();
    await Promise.all([this.updater.close(), this.#reader.close()]);
  }

  async #round(branch: string, writers: Writer[]): Promise<void> {
    try {
      const { gitDir, refs, updater } = this;
      const { processes, committer, now } = this.#context;
      const objects = await this.#source();
      await commitRound({ processes, gitDir, objects, refs, updater, committer, now }, branch, writers);
    } catch (error) {
      for (const writer of writers) writer.reject(error);
    }
  }

  #source(): Promise<StoredObjects> {
    this.#objects ??= readFormat(this.gitDir).then((format) => {
      const { id, gitDir } = this;
      const { caches, processes } = this.#context;
      return new StoredObjects({ id, gitDir, format, reader: this.#reader, caches, processes });
    });
    // A repository that was not there may be created later.
    this.#objects.catch(() => {
      this.#objects = null;
    });
    return this.#objects;
  }
}
