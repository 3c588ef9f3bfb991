import { LRUCache } from 'lru-cache';
import { forEachYielding, mapYielding, setYielding } from '../../../lib/concurrency.ts';
import { upTo } from '../../../lib/version-cache.ts';
import type { CommitChanges, ContentCache } from '../../../ports/content-cache.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Commit, LineCommit, Oid } from '../../../ports/git-records.ts';
import type { Log } from '../../../ports/log.ts';

/** With more commits between two, or more paths they change in all, a walk of the whole history is as good. */
const most = { commits: 1_000, paths: 200_000 };
/** Paths of all ways between commits that are remembered. */
const keptPaths = 1_000_000;

/** The line of a commit down to another one's history, and the commit it comes out at; null: it is too long, or nothing joins them. */
async function lineDownTo(git: Repository, head: Oid, base: Oid): Promise<{ line: LineCommit[]; fork: Oid } | null> {
  const line: LineCommit[] = [];
  let paths = 0;
  for await (const commit of git.line(head, base)) {
    paths += commit.paths.length;
    if (line.push(commit) > most.commits || paths > most.paths) return null;
  }
  const fork = line.length === 0 ? head : line.at(-1)?.parents[0];
  return fork === undefined ? null : { line, fork };
}

/**
 * Paths whose last commit at `to` is not the one at `from`, found on the first-parent lines on which both come from one commit. What a commit
 * with one parent changed, it changed last. A path that a merge changed may come from any of its parents, and one that only `from` has seen
 * change has the commit it had before: neither is known (null).
 * @returns null when the lines do not meet, or are long or change much
 */
async function changesBetween(git: Repository, from: Oid, to: Oid): Promise<CommitChanges | null> {
  const ours = await lineDownTo(git, to, from);
  if (!ours) return null;
  const theirs = ours.fork === from ? { line: [], fork: from } : await lineDownTo(git, from, ours.fork);
  if (theirs?.fork !== ours.fork) return null;
  const changes = new Map<string, Oid | null>();
  for (const { paths } of theirs.line) await forEachYielding(paths, (path) => changes.set(path, null));
  for (const { oid, parents, paths } of ours.line.toReversed()) {
    await forEachYielding(paths, (path) => changes.set(path, parents.length > 1 ? null : oid));
  }
  return changes;
}

/** The last commits of all files at a commit, as far as its first-parent line tells; null: a merge brought the file. */
async function changesUpTo(git: Repository, to: Oid, paths: readonly string[]): Promise<CommitChanges> {
  const wanted = await setYielding(paths, (path) => path);
  const changes = new Map<string, Oid | null>();
  for await (const commit of git.line(to, null)) {
    await forEachYielding(commit.paths, (path) => {
      if (wanted.delete(path)) changes.set(path, commit.parents.length > 1 ? null : commit.oid);
    });
    if (wanted.size === 0) break;
  }
  return changes;
}

/**
 * The last commit of each path. The cache holds them as one commit of the default branch sees them, the marker; another commit sees the same
 * but for what happened on the way to it, and what neither tells is looked for in the history.
 */
export class LastCommits {
  readonly #cache: ContentCache;
  readonly #log: Log;
  readonly #known = new LRUCache<string, Oid>(upTo(20_000));
  /** Weighed in paths, once they are known. */
  readonly #ways = new LRUCache<string, Promise<CommitChanges | null>>({ max: 32, maxSize: keptPaths });
  readonly #storing = new Map<string, Promise<unknown>>();

  constructor(cache: ContentCache, log: Log) {
    this.#cache = cache;
    this.#log = log;
  }

  /** For each path the newest commit reachable from `head` that touched it. */
  async of(git: Repository, head: Oid, paths: readonly string[]): Promise<Map<string, Commit>> {
    const keyOf = (path: string) => `${git.id}:${head}:${path}`;
    const found = new Map<string, Oid>();
    for (const path of paths) {
      const oid = this.#known.get(keyOf(path));
      if (oid !== undefined) found.set(path, oid);
    }
    const missing = () => paths.filter((path) => !found.has(path));
    if (found.size < paths.length)
      for (const [path, oid] of await this.#stored(git, head, missing())) found.set(path, oid);
    const unknown = missing().filter(fitsOneLine);
    const walked = unknown.length > 0 ? await git.lastCommits(head, unknown) : new Map<string, Commit>();
    for (const [path, { sha }] of walked) found.set(path, sha);
    for (const [path, oid] of found) this.#known.set(keyOf(path), oid);
    if (walked.size > 0) {
      const oids = new Map([...walked].map(([path, { sha }]) => [path, sha]));
      this.#store(git, () => this.#cache.addCommits(git.id, head, oids));
    }
    const commits = new Map<Oid, Promise<Commit>>();
    for (const oid of found.values()) commits.set(oid, commits.get(oid) ?? git.commit(oid));
    const answers = [...found].map(async ([path, oid]) => [path, await (commits.get(oid) as Promise<Commit>)] as const);
    return new Map(await Promise.all(answers));
  }

  /** Resolves when nothing is being stored. */
  async settled(): Promise<void> {
    while (this.#storing.size > 0) await Promise.allSettled(this.#storing.values());
  }

  async #stored(git: Repository, head: Oid, paths: readonly string[]): Promise<ReadonlyMap<string, Oid>> {
    const stored = await this.#cache.lastCommits(git.id, paths);
    if (!stored || stored.marker === head) return stored?.commits ?? new Map();
    const { marker, commits } = stored;
    const changes = marker === null ? null : await this.#way(git, marker, head);
    if (marker === null || (await isDefaultHead(git, head))) {
      this.#store(git, async () =>
        changes
          ? this.#cache.moveMarker(git.id, marker, head, changes)
          : this.#cache.moveMarker(git.id, null, head, await this.#allAt(git, head)),
      );
    }
    if (!changes) return new Map();
    const answers = paths.map((path) => [path, changes.has(path) ? changes.get(path) : commits.get(path)] as const);
    return new Map(answers.filter((answer): answer is readonly [string, Oid] => typeof answer[1] === 'string'));
  }

  #way(git: Repository, from: Oid, to: Oid): Promise<CommitChanges | null> {
    const key = `${git.id}:${from}:${to}`;
    // The marker may stand at a commit that is gone since the branch was moved by force.
    const known = this.#ways.get(key);
    if (known) return known;
    const way = changesBetween(git, from, to).catch(() => null);
    this.#ways.set(key, way, { size: 1 });
    void way.then((changes) => {
      if (this.#ways.peek(key) === way) this.#ways.set(key, way, { size: 1 + (changes?.size ?? 0) });
    });
    return way;
  }

  async #allAt(git: Repository, head: Oid): Promise<CommitChanges> {
    const files = await (await git.snapshot(head)).files();
    return changesUpTo(git, head, await mapYielding(files, (file) => file.path));
  }

  /** Does one thing per repository at a time, in the background; what comes meanwhile can be found again. */
  #store(git: Repository, work: () => Promise<boolean>): void {
    if (this.#storing.has(git.id)) return;
    const stored = work()
      .catch((err: unknown) => this.#log.warn({ err, repository: git.id }, 'last commits not stored'))
      .finally(() => this.#storing.delete(git.id));
    this.#storing.set(git.id, stored);
  }
}

/** git reads paths one a line. */
const fitsOneLine = (path: string) => !path.includes('\n');

const isDefaultHead = async (git: Repository, head: Oid) => (await git.head(await git.defaultBranch())) === head;
