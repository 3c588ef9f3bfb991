import { join } from 'node:path';
import { checkRefName } from '../../domain/studio/ref-name.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { Repository } from '../../ports/git.ts';
import type { Oid, Ref, StoredBlob } from '../../ports/git-records.ts';
import type { CommitRequest, Committed, InternalRefUpdate } from '../../ports/git-writes.ts';
import type { Spooled } from '../../ports/spool.ts';
import { BranchLock } from './commits/branch-lock.ts';
import { BranchQueues } from './commits/branch-queue.ts';
import type { RoundContext, Writer } from './commits/commit-plan.ts';
import { commitOnto, commitRound, refRefused } from './commits/commit-round.ts';
import { replaceFile } from './durable-files.ts';
import { storeBlob } from './objects/blob-store.ts';
import { isOid } from './objects/object-id.ts';
import { RefsRejected, type RefUpdate, RefUpdater } from './refs/ref-updater.ts';
import { type RepositoryContext, RepositoryReads } from './repository-reads.ts';
import { Slots } from './slots.ts';

/** Refs the service moves for itself; `updateRefs` refuses others. */
const internalRef = /^refs\/(pull\/[1-9]\d*\/head|portico\/[^\s].*)$/;

/** One bare repository on disk. */
export class GitRepository extends RepositoryReads implements Repository {
  readonly updater: RefUpdater;
  /** Fetches from the upstream and pushes to it, one after the other. */
  readonly upstream = new Slots(1);
  /** Made by this process since maintenance; counted apart from those of others only to decide when it is due. */
  commits = 0;
  readonly #queues: BranchQueues<Writer>;
  readonly #lock: BranchLock;

  constructor(id: string, gitDir: string, context: RepositoryContext) {
    super(id, gitDir, context);
    this.updater = new RefUpdater(context.processes, gitDir, context.log, (refs) => this.moved(refs));
    this.#lock = new BranchLock(gitDir);
    this.#queues = new BranchQueues((...round) => this.#round(...round));
  }

  async defaultBranch(): Promise<string> {
    await this.source();
    const head = await this.refs.head();
    if (!head?.startsWith('refs/heads/'))
      throw new DomainError('repository_unavailable', 'HEAD of the repository names no branch');
    return head.slice('refs/heads/'.length);
  }

  async setDefaultBranch(branch: string): Promise<void> {
    const head = join(this.gitDir, 'HEAD');
    await replaceFile(head, `ref: refs/heads/${branch}\n`, `${head}.lock`);
  }

  async branches(): Promise<readonly Ref[]> {
    await this.source();
    return this.refs.list('refs/heads');
  }

  head(branch: string): Promise<Oid | null> {
    return this.refs.read(`refs/heads/${branch}`);
  }

  async storeBlob(content: AsyncIterable<Uint8Array> | Spooled, limit: number): Promise<StoredBlob> {
    const { format } = await this.source();
    return storeBlob(join(this.gitDir, 'objects'), format, content, limit);
  }

  async write<T>(request: CommitRequest<T>): Promise<Committed<T>> {
    const { gitWriters } = this.context;
    gitWriters(1);
    try {
      return await this.#enqueue(request);
    } finally {
      gitWriters(-1);
    }
  }

  async writeOnto<T>(parent: Oid, request: Pick<CommitRequest<T>, 'author' | 'plan'>): Promise<Committed<T>> {
    const { gitWriters } = this.context;
    gitWriters(1);
    try {
      // What it resolves with is what this request's own plan returned.
      return (await commitOnto(await this.#roundContext(), parent, request)) as Committed<T>;
    } finally {
      gitWriters(-1);
    }
  }

  async createBranch(name: string, oid: Oid): Promise<void> {
    const ref = `refs/heads/${checkRefName('name', name)}`;
    await this.source();
    const object = isOid(oid) ? await this.reader.info(oid) : null;
    if (object?.type !== 'commit') throw new DomainError('not_found', `No such commit: ${oid}`);
    try {
      await this.updater.commit([{ ref, to: oid, from: null }]);
    } catch (cause) {
      if (!(cause instanceof RefsRejected)) throw cause;
      if ((await this.refs.read(ref)) === null) throw refRefused(ref, cause);
      throw new DomainError('already_exists', `There is a branch ${name}`, { cause });
    }
  }

  async deleteBranch(name: string, expected: Oid, inTurn?: () => Promise<void>): Promise<void> {
    const ref = `refs/heads/${checkRefName('name', name)}`;
    // Queued with the writers: those before it finish, those behind find no branch.
    const release = await this.holdBranches([name]);
    try {
      await inTurn?.();
      const found = await this.refs.read(ref);
      if (found === null) throw new DomainError('not_found', `There is no branch ${name}`);
      const checkHead = async () => {
        if ((await this.refs.head()) === ref)
          throw new DomainError('protected', 'The default branch cannot be deleted');
      };
      await checkHead();
      await this.moveRefs([{ ref, to: null, from: expected }]);
      // It may have become the default branch at that moment. What moves HEAD looks afterwards whether the branch is there, so one of both sees it.
      await checkHead().catch(async (error: unknown) => {
        await this.moveRefs([{ ref, to: expected, from: null }]);
        throw error;
      });
    } finally {
      release();
    }
  }

  async resetBranch(name: string, { from, to }: { from: Oid; to: Oid }): Promise<void> {
    const ref = `refs/heads/${checkRefName('branch', name)}`;
    const release = await this.holdBranches([name]);
    try {
      await this.commit(to);
      await this.moveRefs([{ ref, to, from }]);
    } finally {
      release();
    }
  }

  async updateRefs(updates: readonly InternalRefUpdate[]): Promise<void> {
    const stranger = updates.find(({ name }) => !internalRef.test(name));
    if (stranger !== undefined) throw new Error(`${stranger.name} is not a ref the service keeps for itself`);
    // To delete what is not there, whatever it held, is done already; git calls it an error.
    const there = await Promise.all(
      updates.map(async ({ name, to, from }) => to !== null || from != null || (await this.refs.read(name)) !== null),
    );
    await this.moveRefs(
      updates.filter((_, at) => there[at]).map(({ name, ...rest }): RefUpdate => ({ ref: name, ...rest })),
    );
  }

  async rescue(branch: string, oid: Oid): Promise<string> {
    const name = `refs/portico/rescue/${checkRefName('branch', branch)}/${oid}`;
    await this.updateRefs([{ name, to: oid }]);
    return name;
  }

  upstreamHead(branch: string): Promise<Oid | null> {
    return this.refs.read(`refs/remotes/upstream/${branch}`);
  }

  async refsBelow(prefix: string): Promise<readonly Ref[]> {
    await this.source();
    return this.refs.list(prefix);
  }

  /** Notifies the store of branches among refs that have moved. */
  moved(refs: readonly string[]): void {
    const branches = refs.filter((ref) => ref.startsWith('refs/heads/')).map((ref) => ref.slice('refs/heads/'.length));
    if (branches.length > 0) this.context.onMoved(this.id, branches);
  }

  /** Keeps the writers of this process off some branches until the answer is called. */
  holdBranches(branches: Iterable<string>, signal?: AbortSignal): Promise<() => void> {
    return this.#queues.hold(branches, signal);
  }

  /**
   * Moves refs in one transaction.
   *
   * @throws DomainError `branch_moved` when one does not hold its `from`
   */
  async moveRefs(updates: readonly RefUpdate[]): Promise<void> {
    if (updates.length === 0) return;
    try {
      await this.updater.commit(updates);
    } catch (cause) {
      if (!(cause instanceof RefsRejected)) throw cause;
      const found = await Promise.all(updates.map(({ ref }) => this.refs.read(ref)));
      // The process may have ended between the move and its answer.
      if (updates.every(({ to }, at) => found[at] === to)) return;
      const moved = updates.find(({ from }, at) => from !== undefined && found[at] !== from);
      if (moved !== undefined) throw new DomainError('branch_moved', `${moved.ref} has moved; try again`, { cause });
      throw refRefused(updates[0]?.ref ?? '', cause);
    }
  }

  /** True when nothing is under way and no process runs: the object can be dropped and made anew. */
  get asleep(): boolean {
    return !this.#queues.busy && this.updater.asleep && this.reader.asleep;
  }

  /** Waits for the writers, then ends the processes. */
  async close(): Promise<void> {
    await this.#queues.settled();
    await Promise.all([this.updater.close(), this.reader.close()]);
  }

  #enqueue<T>(request: CommitRequest<T>): Promise<Committed<T>> {
    return new Promise((resolve, reject) => {
      // The queue has no T; what it resolves with is what this request's own plan returned.
      const answer = (committed: Committed<unknown>) => {
        if (committed.commit !== null) this.commits += 1;
        resolve(committed as Committed<T>);
      };
      const writer = { request, resolve: answer, reject };
      this.#queues.add(request.branch, writer, request.stored_head);
    });
  }

  async #roundContext(): Promise<RoundContext> {
    const { gitDir, refs, updater } = this;
    const { processes, committer, now, planTime, limits } = this.context;
    const place = { processes, gitDir, refs, updater, lock: this.#lock, objects: await this.source() };
    return { ...place, committer, now, planTime, limits };
  }

  async #round(branch: string, writers: Writer[], isAwaited: () => boolean): Promise<Writer[]> {
    try {
      return await commitRound(await this.#roundContext(), branch, writers, isAwaited);
    } catch (error) {
      for (const writer of writers) writer.reject(error);
      return [];
    }
  }
}
