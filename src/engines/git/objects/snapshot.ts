import type { FileChange, Oid, PathLookup, Snapshot, TreeEntry, TreeFile } from '../../../ports/git-records.ts';
import type { ObjectSource } from './object-source.ts';
import { isLink, modes } from './tree-codec.ts';
import { changedFiles } from './tree-diff.ts';

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
    return oid === null ? [] : (await this.#source.tree(oid)).entries();
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

  blob(oid: Oid): Promise<Buffer> {
    return this.#source.blob(oid);
  }

  blobs(oids: readonly Oid[]): AsyncIterable<{ oid: Oid; content: Buffer }> {
    return this.#source.blobs(oids);
  }
}
