import { once } from 'node:events';
import { DomainError } from '../../kernel/errors.ts';
import { forEachConcurrently, forEachYielding, yieldLoop } from '../../lib/concurrency.ts';
import type {
  Blame,
  BlameQuery,
  Commit,
  Distance,
  LineCommit,
  LogQuery,
  Mergeability,
  MergedTree,
  Oid,
  Patch,
  Snapshot,
  TreeDiff,
  TreeMerge,
} from '../../ports/git-records.ts';
import type { IntroducedChange } from '../../ports/git-transfer.ts';
import type { Metrics } from '../../ports/metrics.ts';
import { StagedTree } from './commits/commit-plan.ts';
import type { GitProcesses, Log } from './git-process.ts';
import { commonAncestors, firstParentLine } from './history/ancestry.ts';
import { blame } from './history/blame.ts';
import { diffTotals, diffTrees, filePatch, renamedPaths } from './history/diff.ts';
import {
  aheadBehind,
  countCommits,
  hasVersion,
  hiddenObject,
  isVisible,
  lastCommits,
  listCommits,
  pullBases,
} from './history/history.ts';
import { GitTime, introducedChanges } from './history/introduced.ts';
import { isAncestor, mergeability, mergeBases, mergeTrees } from './history/merge.ts';
import { PendingMerge, trivialMerge } from './history/trivial-merge.ts';
import type { TreeLimits } from './incoming/limits.ts';
import { identityOf, readFormat } from './layout.ts';
import { isOid, type ObjectFormat } from './objects/object-id.ts';
import { ObjectReader } from './objects/object-reader.ts';
import type { ObjectCaches } from './objects/object-source.ts';
import { PendingObjects } from './objects/pending-objects.ts';
import { TreeSnapshot } from './objects/snapshot.ts';
import { lost, StoredObjects } from './objects/stored-objects.ts';
import { RefFiles } from './refs/ref-files.ts';

export interface RepositoryContext {
  processes: GitProcesses;
  caches: ObjectCaches;
  log: Log;
  committer: () => { name: string; email: string };
  now: () => Date;
  /** How long a writer's plan may take, milliseconds. */
  planTime: number;
  /** What the tree of a commit may hold. */
  limits: TreeLimits;
  /** Called with branches (short names) that were moved. */
  onMoved: (repository: string, branches: readonly string[]) => void;
  gitWriters: Metrics['gitWriters'];
}

/** Distances that are counted at the same time, each by a process that walks two histories. */
const countedTogether = 4;

const between = (head: Oid, base: Oid) => `${head} ${base}`;

function rangeOf(heads: readonly Oid[], without: Oid): string[] {
  if (![...heads, without].every(isOid)) throw new DomainError('not_found', 'No such commit');
  return [...heads, '--not', without];
}

/** Reads of a repository (merges store objects, but move no ref). */
export class RepositoryReads {
  readonly id: string;
  readonly gitDir: string;
  readonly refs: RefFiles;
  protected readonly context: RepositoryContext;
  protected readonly reader: ObjectReader;
  #objects: Promise<StoredObjects> | null = null;
  /** Of the repository that the objects and the reader's processes are of. */
  #identity: string | null = null;

  constructor(id: string, gitDir: string, context: RepositoryContext) {
    this.id = id;
    this.gitDir = gitDir;
    this.context = context;
    this.refs = new RefFiles(gitDir);
    this.reader = new ObjectReader(context.processes, gitDir);
  }

  async isReachable(oid: Oid): Promise<boolean> {
    await this.source();
    const object = await this.reader.info(oid);
    return object?.type === 'commit' && isVisible(this.processes, this.gitDir, oid);
  }

  hasVersion(path: string, oid: Oid): Promise<boolean> {
    return hasVersion(this.processes, this.gitDir, path, oid);
  }

  /**
   * One of some objects that git clients must not get: only refs that they are not shown reach it; null: none. It costs a process where there are
   * such refs, and the objects are not what branches, tags or pull requests point at.
   *
   * @param find the objects; called where there are such refs
   */
  async hiddenAmong(find: () => Iterable<Oid> | Promise<Iterable<Oid>>, signal: AbortSignal): Promise<Oid | null> {
    const aside = await Promise.all(['refs/portico', 'refs/remotes'].map((prefix) => this.refs.list(prefix)));
    if (aside.flat().every(({ name }) => name.startsWith(pullBases))) return null;
    const left = new Set(await find());
    for (const prefix of ['refs/heads', 'refs/tags', 'refs/pull'])
      if (left.size > 0) await forEachYielding(await this.refs.list(prefix), ({ oid }) => left.delete(oid));
    return left.size === 0 ? null : hiddenObject(this.processes, this.gitDir, left, signal);
  }

  async snapshot(commit: Oid | null): Promise<Snapshot> {
    const objects = await this.source();
    return new TreeSnapshot(objects, commit, commit === null ? null : (await objects.commit(commit, lost)).tree_sha);
  }

  async snapshotOfTree(tree: MergedTree): Promise<StagedTree> {
    return new StagedTree(tree instanceof PendingMerge ? tree.objects : await this.source(), null, tree.oid);
  }

  async commit(oid: Oid): Promise<Commit> {
    return (await this.source()).commit(oid);
  }

  async *blobs(oids: readonly Oid[]): AsyncGenerator<{ oid: Oid; content: Buffer }> {
    yield* (await this.source()).blobs(oids);
  }

  async sizes(oids: readonly Oid[]): Promise<(number | null)[]> {
    const found = await (await this.source()).sizes(oids);
    return oids.map((oid) => found.get(oid) ?? null);
  }

  async aheadBehind(head: Oid, base: Oid): Promise<Distance> {
    const { distances } = this.context.caches;
    const count = () => aheadBehind(this.processes, this.gitDir, head, base);
    const [ahead_by, behind_by] = await distances.of(this.id, between(head, base), count);
    return { ahead_by, behind_by };
  }

  async distances(heads: Iterable<Oid>, base: Oid, until: AbortSignal): Promise<ReadonlyMap<Oid, Distance>> {
    const found = new Map<Oid, Distance>();
    const find = async (head: Oid) => found.set(head, await this.aheadBehind(head, base));
    const isKnown = (head: Oid) => this.context.caches.distances.has(this.id, between(head, base));
    const groups = Map.groupBy(new Set(heads), isKnown);
    const counting = Promise.all([
      ...(groups.get(true) ?? []).map(find),
      forEachConcurrently(groups.get(false) ?? [], countedTogether, async (head) => {
        if (!until.aborted) await find(head);
      }),
    ]);
    const over = until.aborted ? Promise.resolve() : once(until, 'abort');
    // What is known takes no time, and is answered in any case.
    await Promise.race([counting, over.then(yieldLoop)]);
    return new Map(found);
  }

  async lastCommits(from: Oid, paths: readonly string[]): Promise<Map<string, Commit>> {
    const objects = await this.source();
    const found = await lastCommits(this.processes, this.gitDir, from, paths);
    const commits = await Promise.all(
      [...found].map(async ([path, oid]) => [path, await objects.commit(oid)] as const),
    );
    return new Map(commits);
  }

  blame(query: BlameQuery, time: number): Promise<Blame> {
    return blame(this.processes, this.gitDir, query, time);
  }

  line(head: Oid, without: Oid | null): AsyncIterable<LineCommit> {
    return firstParentLine(this.processes, this.gitDir, head, without);
  }

  async *introduced(
    heads: readonly Oid[],
    without: Oid,
    signal = new AbortController().signal,
  ): AsyncGenerator<IntroducedChange> {
    const { processes, gitDir } = this;
    const place = { processes, gitDir, env: {}, signal, time: new GitTime() };
    yield* introducedChanges(place, rangeOf(heads, without));
  }

  async edges(heads: readonly Oid[], without: Oid): Promise<Oid[]> {
    const args = ['rev-list', '--boundary', ...rangeOf(heads, without)];
    const text = (await this.processes.output(args, { gitDir: this.gitDir })).toString('latin1');
    return text.split('\n').flatMap((line) => (line.startsWith('-') ? line.slice(1) : []));
  }

  async log(query: LogQuery): Promise<Commit[]> {
    const objects = await this.source();
    const oids = await listCommits(this.processes, this.gitDir, query);
    return Promise.all(oids.map((oid) => objects.commit(oid)));
  }

  countCommits(query: Omit<LogQuery, 'skip'>): Promise<number> {
    return countCommits(this.processes, this.gitDir, query);
  }

  async objectFormat(): Promise<ObjectFormat> {
    return (await this.source()).format;
  }

  async diskSize(): Promise<number> {
    const text = await this.processes.output(['count-objects', '-v'], { gitDir: this.gitDir });
    const kib = [...text.toString('latin1').matchAll(/^size(?:-pack|-garbage)?: (\d+)$/gm)].map((line) =>
      Number(line[1]),
    );
    return 1024 * kib.reduce((sum, size) => sum + size, 0);
  }

  async commitsBetween(base: Oid, head: Oid, page: { skip: number; limit: number }): Promise<Commit[]> {
    const objects = await this.source();
    const oids = await listCommits(this.processes, this.gitDir, { from: head, without: base, ...page });
    return Promise.all(oids.map((oid) => objects.commit(oid)));
  }

  /** Best common ancestors as far as they are found without a process; null: not found, or not all is there. */
  async #nearAncestors(a: Oid, b: Oid): Promise<Oid[] | null> {
    if (!isOid(a) || !isOid(b)) return null;
    return commonAncestors(await this.source(), a, b).catch(() => null);
  }

  async mergeBase(a: Oid, b: Oid): Promise<Oid | null> {
    const [near, ...others] = (await this.#nearAncestors(a, b)) ?? [];
    if (near !== undefined && others.length === 0) return near;
    return (await mergeBases(this.processes, this.gitDir, a, b))[0] ?? null;
  }

  async mergeBases(a: Oid, b: Oid): Promise<Oid[]> {
    const near = (await this.#nearAncestors(a, b)) ?? [];
    return near.length > 0 ? near : mergeBases(this.processes, this.gitDir, a, b);
  }

  async isAncestor(ancestor: Oid, descendant: Oid): Promise<boolean> {
    const near = await this.#nearAncestors(ancestor, descendant);
    return near ? near.includes(ancestor) : isAncestor(this.processes, this.gitDir, ancestor, descendant);
  }

  async mergeTrees(current: Oid, incoming: Oid, signal?: AbortSignal): Promise<TreeMerge> {
    const tree = await this.#mergeTrivially(current, incoming);
    if (tree) return { tree, clean: true, may_follow_renames: false, conflicts: [], auto_merged: [] };
    return mergeTrees(this.processes, this.gitDir, { current, incoming }, signal);
  }

  /** The tree of a merge that needs no process; null when it does. */
  async #mergeTrivially(current: Oid, incoming: Oid): Promise<PendingMerge | null> {
    const [base, ...others] = (await this.#nearAncestors(current, incoming)) ?? [];
    if (base === undefined || others.length > 0) return null;
    const stored = await this.source();
    const objects = new PendingObjects(stored);
    const [from, here, there] = await Promise.all([base, current, incoming].map((oid) => stored.commit(oid)));
    if (!from || !here || !there) return null;
    const trees = { base: from.tree_sha, current: here.tree_sha, incoming: there.tree_sha };
    const merged = await trivialMerge(objects, trees);
    return merged?.tree ? new PendingMerge(merged.tree, objects) : null;
  }

  async mergeability(
    pairs: readonly { current: Oid; incoming: Oid }[],
    until?: AbortSignal,
  ): Promise<(Mergeability | undefined)[]> {
    const found = new Map<number, Mergeability | undefined>();
    for (const [at, { current, incoming }] of pairs.entries()) {
      if (until?.aborted) return pairs.map((_, other) => found.get(other));
      if (await this.#mergeTrivially(current, incoming).catch(() => null))
        found.set(at, { clean: true, conflicts: [], auto_merged: [], may_follow_renames: false });
    }
    const others = pairs.flatMap((pair, at) => (found.has(at) ? [] : [{ at, pair }]));
    const tried = others.map(({ pair }) => pair);
    for (const [order, outcome] of (await mergeability(this.processes, this.gitDir, tried, { until })).entries())
      found.set(others[order]?.at ?? -1, outcome);
    return pairs.map((_, at) => found.get(at));
  }

  diff(base: Oid | null, head: Oid, page: { skip: number; limit: number }): Promise<TreeDiff> {
    return diffTrees(this.processes, this.gitDir, base, head, page);
  }

  renames(base: Oid, head: Oid, signal?: AbortSignal): Promise<ReadonlyMap<string, string>> {
    return renamedPaths(this.processes, this.gitDir, base, head, signal);
  }

  diffTotals(base: Oid | null, head: Oid): Promise<{ changed_files: number; additions: number; deletions: number }> {
    return diffTotals(this.processes, this.gitDir, base, head);
  }

  patch(
    base: Oid | null,
    head: Oid,
    { path, previous_path }: { path: string; previous_path: string | null },
    limit: number,
  ): Promise<Patch> {
    const paths = previous_path === null ? [path] : [path, previous_path];
    return filePatch(this.processes, this.gitDir, [base, head], paths, limit);
  }

  protected get processes(): GitProcesses {
    return this.context.processes;
  }

  protected source(): Promise<StoredObjects> {
    const identity = identityOf(this.gitDir);
    if (identity !== this.#identity) {
      this.#identity = identity;
      this.#objects = null;
      this.reader.sleep();
    }
    this.#objects ??= readFormat(this.gitDir).then((format) => {
      const { id, gitDir } = this;
      const { caches, processes } = this.context;
      return new StoredObjects({ id, gitDir, format, reader: this.reader, caches, processes });
    });
    // A repository that was not there may be created later.
    this.#objects.catch(() => {
      this.#objects = null;
    });
    return this.#objects;
  }
}
