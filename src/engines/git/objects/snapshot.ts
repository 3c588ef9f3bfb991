import { forEachYielding } from '../../../lib/concurrency.ts';
import type {
  FileChange,
  FileSide,
  Oid,
  PathLookup,
  Snapshot,
  TreeEntry,
  TreeFile,
} from '../../../ports/git-records.ts';
import { newCollision } from '../history/new-collision.ts';
import { rawLength } from './object-id.ts';
import type { ObjectSource } from './object-source.ts';
import { isLink, modes, Tree } from './tree-codec.ts';

/** Ends a walk that has found more than its caller can use. */
class TooMany extends Error {}

/**
 * Files by which a tree differs from another, without a git process. Only directories that differ are read, and within them runs of equal
 * entries are compared as bytes: the time depends on what changed, not on how large the trees are.
 *
 * @param from null: the empty tree, as with `to`
 * @returns in git's order; null when more than `limit` files and directories differ
 */
async function changedFiles(
  source: ObjectSource,
  from: Oid | null,
  to: Oid | null,
  limit: number,
): Promise<FileChange[] | null> {
  const found: FileChange[] = [];
  let left = limit;
  const spend = () => {
    left -= 1;
    if (left < 0) throw new TooMany();
  };
  const read = (oid: Oid | null) => (oid === null ? Tree.empty(rawLength[source.format]) : source.tree(oid));
  const walk = async (before: Oid | null, after: Oid | null, prefix: string): Promise<void> => {
    if (before === after) return;
    const [old, now] = await Promise.all([read(before), read(after)]);
    const changes = await now.changesFrom(old, left);
    if (changes === null) throw new TooMany();
    for (const change of changes) {
      spend();
      const path = `${prefix}${change.name}`;
      const sides = { before: fileOf(change.old), after: fileOf(change.new) };
      if (sides.before !== null || sides.after !== null) found.push({ path, ...sides });
      const directories = [change.old, change.new].map((entry) => (entry?.mode === modes.tree ? entry.oid : null));
      await walk(directories[0] ?? null, directories[1] ?? null, `${path}/`);
    }
  };
  try {
    await walk(from, to, '');
    return found;
  } catch (error) {
    if (error instanceof TooMany) return null;
    throw error;
  }
}

const fileOf = (entry: TreeEntry | null): FileSide | null =>
  entry === null || entry.mode === modes.tree ? null : { oid: entry.oid, mode: entry.mode };

const nothing: PathLookup = { entry: null, blocked: null };

/** A tree read through its objects; symlinks and submodules are shown, never followed. */
export class TreeSnapshot implements Snapshot {
  readonly commit: Oid | null;
  readonly tree: Oid | null;
  readonly #source: ObjectSource;

  constructor(source: ObjectSource, commit: Oid | null, tree: Oid | null) {
    this.#source = source;
    this.commit = commit;
    this.tree = tree;
  }

  async lookup(path: string): Promise<PathLookup> {
    const segments = path.split('/');
    const last = segments.pop() ?? '';
    let tree = this.tree;
    for (const [index, segment] of segments.entries()) {
      if (tree === null) return nothing;
      const entry: TreeEntry | null = (await this.#source.tree(tree)).find(segment);
      if (entry !== null && isLink(entry.mode)) return { entry: null, blocked: segments.slice(0, index + 1).join('/') };
      tree = entry?.mode === modes.tree ? entry.oid : null;
    }
    return tree === null ? nothing : { entry: (await this.#source.tree(tree)).find(last), blocked: null };
  }

  async directory(path: string): Promise<TreeEntry[]> {
    const oid = await this.treeOid(path);
    const found: TreeEntry[] = [];
    if (oid !== null) await forEachYielding((await this.#source.tree(oid)).entries(), (entry) => found.push(entry));
    return found;
  }

  async alike(directory: string, name: string): Promise<TreeEntry[]> {
    const oid = await this.treeOid(directory);
    return oid === null ? [] : (await this.#source.tree(oid)).alike(name);
  }

  async treeOid(path: string): Promise<Oid | null> {
    if (path === '') return this.tree;
    const { entry } = await this.lookup(path);
    return entry?.mode === modes.tree ? entry.oid : null;
  }

  async files(path = ''): Promise<readonly TreeFile[]> {
    const oid = await this.treeOid(path);
    return oid === null ? [] : this.#source.listing(oid, '');
  }

  changesSince(tree: Oid | null, limit: number): Promise<FileChange[] | null> {
    return changedFiles(this.#source, tree, this.tree, limit);
  }

  newCollision(trees: readonly (Oid | null)[]): Promise<[string, string] | null> {
    const { format } = this.#source;
    const read = async (oid: Oid | null) => (oid === null ? Tree.empty(rawLength[format]) : this.#source.tree(oid));
    return newCollision(read, this.tree, trees);
  }

  blob(oid: Oid): Promise<Buffer> {
    return this.#source.blob(oid);
  }

  async sizes(oids: readonly Oid[]): Promise<(number | null)[]> {
    const found = await this.#source.sizes(oids);
    return oids.map((oid) => found.get(oid) ?? null);
  }

  blobs(oids: readonly Oid[]): AsyncIterable<{ oid: Oid; content: Buffer }> {
    return this.#source.blobs(oids);
  }
}
