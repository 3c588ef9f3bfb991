import { DomainError } from '../../../kernel/errors.ts';
import { forEachConcurrently, Pace } from '../../../lib/concurrency.ts';
import type { Commit, Mode, Oid, TreeFile } from '../../../ports/git-records.ts';
import { type GitProcesses, wallTime } from '../git-process.ts';
import { gitStream, records } from '../git-stream.ts';
import { parseCommit } from './commit-codec.ts';
import { type ListingBudget, listTree, newBudget, spend } from './file-listing.ts';
import { isOid, type ObjectFormat, type ObjectType, rawLength } from './object-id.ts';
import type { ObjectReader } from './object-reader.ts';
import type { ObjectCaches, ObjectSource } from './object-source.ts';
import { Tree } from './tree-codec.ts';

/** Objects whose sizes are read at the same time. */
const sizesTogether = 1_000;

interface ListedEntry {
  mode: Mode;
  type: string;
  oid: Oid;
  path: string;
}

/**
 * Everything below a tree, directories before what they hold, in git's order (`ls-tree -r -t -z`), in pieces. A consumer that leaves
 * early ends the process, so a tree that unfolds without end costs nothing beyond its bound.
 */
export async function* listRecursively(
  processes: GitProcesses,
  gitDir: string,
  treeish: Oid,
): AsyncGenerator<ListedEntry[]> {
  const args = ['ls-tree', '-r', '-t', '-z', '--end-of-options', treeish];
  const stream = gitStream(processes, args, { gitDir, timeout: wallTime.read, what: 'A tree' });
  for await (const some of records(stream)) yield some.map(parseRecord);
}

/** `<mode> SP <type> SP <oid> TAB <path>` */
function parseRecord(record: string): ListedEntry {
  const tab = record.indexOf('\t');
  const [mode = '', type = '', oid = ''] = record.slice(0, tab).split(' ');
  return { mode, type, oid, path: record.slice(tab + 1) };
}

function missing(oid: Oid): DomainError {
  return new DomainError('not_found', `No such object: ${oid}`);
}

/** Of an object that a ref, commit or tree names: it must be there. */
export function lost(oid: Oid): DomainError {
  if (!isOid(oid)) return missing(oid);
  return new DomainError('repository_unavailable', `The repository is damaged: object ${oid} is missing or unreadable`);
}

/** Bytes of memory: the objects of a commit, and its text, two bytes to a character at most. */
const commitWeight = (text: number) => 600 + 2 * text;

/** The objects one repository has stored. */
export class StoredObjects implements ObjectSource {
  readonly format: ObjectFormat;
  readonly #key: string;
  readonly #gitDir: string;
  readonly #reader: ObjectReader;
  readonly #caches: ObjectCaches;
  readonly #processes: GitProcesses;

  constructor(options: {
    id: string;
    gitDir: string;
    format: ObjectFormat;
    reader: ObjectReader;
    caches: ObjectCaches;
    processes: GitProcesses;
  }) {
    this.format = options.format;
    this.#key = options.id;
    this.#gitDir = options.gitDir;
    this.#reader = options.reader;
    this.#caches = options.caches;
    this.#processes = options.processes;
  }

  async tree(oid: Oid): Promise<Tree> {
    const key = `${this.#key}:${oid}`;
    const known = this.#caches.trees.get(key);
    if (known !== undefined) return known;
    const tree = await Tree.read(await this.#content(oid, 'tree'), rawLength[this.format]);
    this.#caches.trees.set(key, tree);
    return tree;
  }

  blob(oid: Oid): Promise<Buffer> {
    return this.#content(oid, 'blob');
  }

  async *blobs(oids: readonly Oid[]): AsyncGenerator<{ oid: Oid; content: Buffer }> {
    for await (const { oid, object } of this.#reader.stream(oids)) {
      if (object === null || object.type !== 'blob') throw lost(oid);
      if (object.content === null) throw new DomainError('too_large', `The blob ${oid} is larger than 100 MiB`);
      yield { oid, content: object.content };
    }
  }

  /** @param absent what is thrown of one that is not there; for one that a ref names, `lost` */
  async commit(oid: Oid, absent = missing): Promise<Commit> {
    const key = `${this.#key}:${oid}`;
    const known = this.#caches.commits.get(key);
    if (known !== undefined) return known;
    const content = await this.#content(oid, 'commit', absent);
    const commit = parseCommit(oid, content);
    this.#caches.commits.set(key, commit, { size: commitWeight(content.length) });
    return commit;
  }

  /** @throws DomainError `not_found` when there is no object of this type; its content is not read */
  async check(oid: Oid, type: ObjectType): Promise<void> {
    if ((await this.#reader.info(oid))?.type !== type) throw missing(oid);
  }

  async listing(oid: Oid, prefix: string, budget = newBudget()): Promise<readonly TreeFile[]> {
    const key = `${this.#key}:${oid}:${prefix}`;
    const known = this.#caches.listings.get(key);
    if (known !== undefined) {
      spend(budget, known.length, 0);
      return known;
    }
    const files = await listTree(this, oid, prefix, budget, {
      known: (subtree, below) => this.#caches.listings.has(`${this.#key}:${subtree}:${below}`),
      readAll: () => this.#listWithGit(oid, prefix, budget),
    });
    this.#caches.listings.set(key, files);
    return files;
  }

  /** Size of an object in bytes; null when it is not there. */
  async size(oid: Oid): Promise<number | null> {
    const key = `${this.#key}:${oid}`;
    const known = this.#caches.sizes.get(key);
    if (known !== undefined) return known;
    const size = (await this.#reader.info(oid))?.size ?? null;
    if (size !== null) this.#caches.sizes.set(key, size);
    return size;
  }

  /** Sizes of objects in bytes; null for one that is not there. */
  async sizes(oids: Iterable<Oid>): Promise<Map<Oid, number | null>> {
    const found = new Map<Oid, number | null>();
    const pace = new Pace();
    await forEachConcurrently(new Set(oids), sizesTogether, async (oid) => {
      if (pace.isDue) await pace.yield();
      found.set(oid, await this.size(oid));
    });
    return found;
  }

  /** Adds what was just stored, so that the next reader needs no git process. */
  remember(trees: Iterable<[Oid, Tree]>, commits: Iterable<Commit>): void {
    for (const [oid, tree] of trees) this.#caches.trees.set(`${this.#key}:${oid}`, tree);
    for (const commit of commits) {
      const { author, committer, message } = commit;
      const people = [author, committer].reduce((sum, { name, email }) => sum + name.length + email.length, 0);
      this.#caches.commits.set(`${this.#key}:${commit.sha}`, commit, { size: commitWeight(message.length + people) });
    }
  }

  async #content(oid: Oid, type: string, absent = lost): Promise<Buffer> {
    const object = await this.#reader.read(oid);
    if (object === null || object.type !== type) throw absent(oid);
    if (object.content === null) throw new DomainError('too_large', 'The object is larger than 100 MiB');
    return object.content;
  }

  /** One process for a tree nothing is known of; the listings of its directories are remembered on the way. */
  async #listWithGit(oid: Oid, prefix: string, budget: ListingBudget): Promise<TreeFile[]> {
    const files: TreeFile[] = [];
    const open: { oid: Oid; path: string; from: number }[] = [];
    const close = (path: string) => {
      for (let last = open.at(-1); last !== undefined && !path.startsWith(last.path); last = open.at(-1)) {
        this.#caches.listings.set(`${this.#key}:${last.oid}:${prefix}${last.path}`, files.slice(last.from));
        open.pop();
      }
    };
    for await (const entries of listRecursively(this.#processes, this.#gitDir, oid)) {
      const characters = entries.reduce((sum, { path }) => sum + prefix.length + path.length, 0);
      spend(budget, entries.length, characters);
      for (const { mode, type, oid: entry, path } of entries) {
        close(path);
        if (type === 'tree') open.push({ oid: entry, path: `${path}/`, from: files.length });
        else files.push({ path: `${prefix}${path}`, mode, oid: entry });
      }
    }
    // No path starts with this, so all that is open closes.
    close('\0');
    return files;
  }
}
