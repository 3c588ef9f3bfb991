import { mkdir, readdir, statfs } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { DomainError } from '../../kernel/errors.ts';
import type { FsckReport, GitStore, MaintenanceLevel, Repository } from '../../ports/git.ts';
import type { Ref } from '../../ports/git-records.ts';
import type {
  GitServeRequest,
  Imported,
  ImportSource,
  PushMove,
  Upstream,
  UpstreamPush,
  UpstreamRefs,
} from '../../ports/git-transfer.ts';
import { createLayout, hasLayout, readFormat, removeLayout } from './layout.ts';
import { type GitStoreOptions, RepositoryPool } from './repository-pool.ts';
import { Lane, type Lendable, Slots } from './slots.ts';
import { importRepository } from './transfer/import.ts';
import { hiddenWant, refusedWant } from './transfer/named-objects.ts';
import { headOf, servePush } from './transfer/push.ts';
import { refusedPush } from './transfer/push-answer.ts';
import { PushHooks } from './transfer/push-hook.ts';
import { clearScratch } from './transfer/reach.ts';
import { BodyRoom, withBody } from './transfer/request-body.ts';
import { type ServedRepository, serveGit } from './transfer/serve.ts';
import { lsRemote, pushUpstream, type UpstreamContext } from './transfer/upstream.ts';
import { fetchUpstream } from './transfer/upstream-fetch.ts';
import { backupRepository, restoreRepository } from './upkeep/backup.ts';
import { fsck } from './upkeep/fsck.ts';
import { maintain, maintenanceDue } from './upkeep/maintenance.ts';

export type { GitStoreOptions };

/** Clones, and apart from them pushes, at once. Two at least: one client has half of them. */
const packSlots = Math.max(2, Math.floor(availableParallelism() / 2));
/** Requests of git clients that send, wait or are served, and how many of them one client may have; more are refused. */
const places = { fetches: { all: 128, each: 20 }, pushes: { all: 32, each: 8 } } as const;
const mebibyte = 1024 * 1024;
/** Most bytes of a body. git itself refuses packs over 2 GiB with a report; commands stand before them. */
const bodySize = { fetch: 32 * mebibyte, push: 2048 * mebibyte + 32 * mebibyte } as const;
/** What the large bodies of all clients hold of the disk; one client has two of the largest. */
const bodyRoom = 4 * bodySize.push;
/** Whose slots a connection to another host takes. */
const hostOf = (url: string) => URL.parse(url)?.host ?? '';
/** A signal that is never aborted. */
const never = () => new AbortController().signal;
const oldestGit = [2, 38] as const;

/** The store of all repositories below a data directory. */
export function createGitStore(options: GitStoreOptions): GitStore {
  return new FileGitStore(options);
}

class FileGitStore implements GitStore {
  readonly #options: GitStoreOptions;
  readonly #pool: RepositoryPool;
  readonly #hooks: PushHooks;
  readonly #fetchPlaces = new Slots(places.fetches.all, { waiting: 0, each: places.fetches.each });
  readonly #pushPlaces = new Slots(places.pushes.all, { waiting: 0, each: places.pushes.each });
  /** Lists of refs, which take next to nothing. */
  readonly #refLists = new Lane(16);
  readonly #packing = new Lane(packSlots);
  readonly #unpacking = new Lane(packSlots);
  /** Imports, which mostly wait for their hosts: those of one host leave room for others. */
  readonly #imports = new Slots(8, { each: 2 });
  /** Commands that connect to other hosts. A host may keep each waiting for minutes, and there are few git processes in all. */
  readonly #outgoing = new Slots(64, { each: 16 });
  readonly #upkeep = new Slots(1);
  readonly #closing = new AbortController();
  readonly #bodies: BodyRoom;

  constructor(options: GitStoreOptions) {
    this.#options = options;
    this.#pool = new RepositoryPool(options);
    this.#bodies = new BodyRoom(options.bodyRoom ?? bodyRoom, async () => {
      const { bavail, bsize } = await statfs(options.dataDir);
      return bavail * bsize;
    });
    this.#hooks = new PushHooks(join(this.#pool.directory, '.hooks'));
  }

  async check(): Promise<{ version: string }> {
    await mkdir(this.#pool.home, { recursive: true });
    await clearScratch();
    const { stdout } = await this.#pool.processes.run(['version']);
    const version = /\d+\.\d+(\.\d+)*/.exec(stdout.toString('latin1'))?.[0] ?? '0.0';
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major > oldestGit[0] || (major === oldestGit[0] && minor >= oldestGit[1])) return { version };
    throw new DomainError('unavailable', `git ${oldestGit.join('.')} or later is needed; this one is ${version}`);
  }

  async create(id: string, defaultBranch: string): Promise<Repository> {
    const gitDir = this.#pool.path(id);
    await mkdir(this.#pool.home, { recursive: true });
    await createLayout(gitDir, defaultBranch, 'sha1');
    return this.open(id);
  }

  open(id: string): Repository {
    return this.#pool.get(id);
  }

  exists(id: string): Promise<boolean> {
    return hasLayout(this.#pool.path(id));
  }

  async remove(id: string): Promise<void> {
    await this.#pool.drop(id);
    await removeLayout(this.#pool.path(id));
  }

  async list(): Promise<{ ids: string[]; remains: string[] }> {
    const names = (await readdir(this.#pool.directory).catch(() => [])).filter((name) => !name.startsWith('.'));
    const isRepository = (name: string) => name.endsWith('.git');
    return {
      ids: names.filter(isRepository).map((name) => name.slice(0, -'.git'.length)),
      remains: names.filter((name) => !isRepository(name)),
    };
  }

  async importFrom(id: string, source: ImportSource): Promise<Imported> {
    await mkdir(this.#pool.home, { recursive: true });
    const { log } = this.#options;
    const job = {
      processes: this.#pool.processes,
      repository: this.#pool.get(id),
      log,
      upstream: this.#options,
      limits: this.#pool.limits,
      source,
    };
    return this.#imports.run(hostOf(source.url), () => importRepository(job), source.signal);
  }

  async serve(id: string, request: GitServeRequest): Promise<void> {
    await readFormat(this.#pool.path(id));
    if (request.service === 'git-receive-pack' && !request.advertise)
      await this.#pushPlaces.run(request.client, () => this.#servePush(id, request), request.signal);
    else await this.#fetchPlaces.run(request.client, () => this.#serveFetch(id, request), request.signal);
  }

  async lsRemote(upstream: Upstream, signal = never()): Promise<UpstreamRefs> {
    await mkdir(this.#pool.home, { recursive: true });
    return this.#connecting(upstream, signal, () => lsRemote(this.#upstreamContext(signal), upstream));
  }

  fetchUpstream(id: string, upstream: Upstream, signal = never()): Promise<readonly Ref[]> {
    const repository = this.#pool.get(id);
    return this.#connecting(
      upstream,
      signal,
      () => fetchUpstream(this.#upstreamContext(signal), repository, upstream),
      repository,
    );
  }

  pushUpstream(id: string, upstream: Upstream, push: PushMove, signal = never()): Promise<UpstreamPush> {
    const repository = this.#pool.get(id);
    return this.#connecting(
      upstream,
      signal,
      () => pushUpstream(this.#upstreamContext(signal), repository, upstream, push),
      repository,
    );
  }

  async maintenanceDue(id: string): Promise<MaintenanceLevel | null> {
    return maintenanceDue(this.#pool.path(id), this.#pool.peek(id)?.commits ?? 0);
  }

  maintain(id: string, level: MaintenanceLevel, signal = never()): Promise<void> {
    const repository = this.#pool.get(id);
    return this.#upkeep.run(
      '',
      async () => {
        await readFormat(repository.gitDir);
        const { commits } = repository;
        await maintain(this.#pool.processes, repository.gitDir, level, { log: this.#options.log, signal });
        repository.commits -= commits;
      },
      signal,
    );
  }

  fsck(id: string, signal = never()): Promise<FsckReport> {
    return this.#upkeep.run('', () => fsck(this.#pool.processes, this.#pool.path(id), signal), signal);
  }

  backup(id: string, directory: string, signal = never()): Promise<{ bytes: number; refs: readonly Ref[] }> {
    return backupRepository(this.#pool.processes, this.#pool.get(id), directory, signal);
  }

  async restore(id: string, directory: string, signal = never()): Promise<Repository> {
    await mkdir(this.#pool.home, { recursive: true });
    await restoreRepository(this.#pool.processes, this.#pool.path(id), directory, signal);
    return this.open(id);
  }

  /** Waits for writers, then ends every process. */
  async close(): Promise<void> {
    // Pushes hold branches still, and would make the writers wait for them.
    this.#closing.abort(new DomainError('unavailable', 'The server is stopping'));
    await this.#pool.close();
    await this.#hooks.close();
  }

  /** Runs a command that connects to an upstream, one at a time for a repository, once its host may have another. */
  #connecting<T>(
    { url }: Upstream,
    signal: AbortSignal,
    work: () => Promise<T>,
    repository?: ReturnType<RepositoryPool['get']>,
  ): Promise<T> {
    const connect = () => this.#outgoing.run(hostOf(url), work, signal);
    return repository ? repository.upstream.run('', connect, signal) : connect();
  }

  #upstreamContext(signal: AbortSignal): UpstreamContext {
    const { log } = this.#options;
    return { processes: this.#pool.processes, options: this.#options, limits: this.#pool.limits, log, signal };
  }

  #served(id: string): ServedRepository {
    const { log, silence = 120_000, pushCpu = 30 } = this.#options;
    return { processes: this.#pool.processes, gitDir: this.#pool.path(id), log, silence, pushCpu };
  }

  async #serveFetch(id: string, request: GitServeRequest): Promise<void> {
    const { client, signal, advertise, protocol } = request;
    const { fetchBodyTime: time = 60_000, spools } = this.#options;
    const served = this.#served(id);
    const serve = (slot: Lendable, input = request.input) => serveGit(served, { ...request, input }, { slot });
    if (advertise) return this.#refLists.run(client, signal, (slot) => serve(slot));
    const bounds = { size: bodySize.fetch, time, silence: served.silence, room: this.#bodies };
    await withBody(spools, request, bounds, async (open, beginning) => {
      const isRefList = protocol === 'version=2' && /^[0-9a-f]{4}command=ls-refs\b/i.test(beginning.toString('latin1'));
      if (isRefList) return this.#refLists.run(client, signal, (slot) => serve(slot, open()));
      // No clone waits for such a walk.
      const look = () => hiddenWant(this.#pool.get(id), open(), signal);
      const hidden = await this.#pool.processes.hiddenWalks.run(client, look, signal);
      if (hidden !== null) return void request.output.write(refusedWant(hidden));
      return this.#packing.run(client, signal, (slot) => serve(slot, open()));
    });
  }

  async #servePush(id: string, request: GitServeRequest): Promise<void> {
    const { client, authorizePush } = request;
    const served = this.#served(id);
    const signal = AbortSignal.any([request.signal, this.#closing.signal]);
    const bounds = { size: bodySize.push, time: null, silence: served.silence, room: this.#bodies };
    await withBody(this.#options.spools, { ...request, signal }, bounds, (open) =>
      this.#unpacking.run(client, signal, async (slot) => {
        const { commands, hasBands, excess, sent } = await headOf(open());
        if (excess !== null) {
          request.settledPush?.({ commands, moved: [] });
          return void request.output.write(refusedPush(excess, hasBands));
        }
        const input = open();
        if (authorizePush === undefined)
          return serveGit(
            served,
            { ...request, input, signal },
            { moves: () => commands, onEnd: async () => slot.lend() },
          );
        return servePush({
          ...served,
          repository: this.#pool.get(id),
          hooks: this.#hooks,
          limits: this.#pool.limits,
          commands,
          sent,
          slot,
          request: { ...request, authorizePush, input, signal },
        });
      }),
    );
  }
}
