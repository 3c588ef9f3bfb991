import type { Commit, Oid, TreeEntry, TreeFile } from '../../../ports/git-records.ts';
import { type CommitDraft, formatCommit, parseCommit } from './commit-codec.ts';
import { listTree, newBudget } from './file-listing.ts';
import { hashObject, type ObjectFormat, type ObjectType } from './object-id.ts';
import type { ObjectSource } from './object-source.ts';
import type { NewObject } from './object-writer.ts';
import { modes, type Tree } from './tree-codec.ts';

/** How a new tree came of another: the directory it is (with a slash, '' the root) and the names that changed in it. */
interface Derivation {
  base: Oid;
  prefix: string;
  edits: ReadonlyMap<string, TreeEntry | null>;
}

/** New objects over a stored base: they can be read here before they are written, so that commits can be chained in memory. */
export class PendingObjects implements ObjectSource {
  readonly #base: ObjectSource;
  readonly #objects = new Map<Oid, NewObject>();
  readonly #trees = new Map<Oid, Tree>();
  readonly #commits = new Map<Oid, Commit>();
  readonly #derived = new Map<Oid, Derivation>();
  /** Listings of new trees made so far, by `<oid>:<prefix>`. */
  readonly listings = new Map<string, readonly TreeFile[]>();

  constructor(base: ObjectSource) {
    this.#base = base;
  }

  get format(): ObjectFormat {
    return this.#base.format;
  }

  get objects(): Iterable<NewObject> {
    return this.#objects.values();
  }

  get trees(): Iterable<[Oid, Tree]> {
    return this.#trees.entries();
  }

  get commits(): Iterable<Commit> {
    return this.#commits.values();
  }

  /** How much was added so far, for `rollback`. */
  get mark(): number {
    return this.#objects.size;
  }

  /** Drops what was added since: a writer that changed nothing, or was refused, leaves nothing to store. */
  rollback(mark: number): void {
    for (const oid of [...this.#objects.keys()].slice(mark)) {
      this.#objects.delete(oid);
      this.#trees.delete(oid);
      this.#commits.delete(oid);
    }
  }

  /** Takes in what was added to another one over the same base. */
  adopt(other: PendingObjects): void {
    for (const [oid, object] of other.#objects) if (!this.#objects.has(oid)) this.#objects.set(oid, object);
    for (const [oid, tree] of other.#trees) this.#trees.set(oid, tree);
    for (const [oid, from] of other.#derived) if (!this.#comesOf(from.base, oid)) this.#derived.set(oid, from);
  }

  addBlob(content: Buffer): Oid {
    return this.#add('blob', content);
  }

  /** @param from the tree it was made of, when its listing can be made of that one's */
  addTree(tree: Tree, from?: Derivation): Oid {
    const oid = this.#add('tree', tree.raw);
    if (from && !this.#comesOf(from.base, oid)) this.#derived.set(oid, from);
    this.#trees.set(oid, tree);
    return oid;
  }

  addCommit(draft: CommitDraft): Commit {
    const content = formatCommit(draft);
    const commit = parseCommit(this.#add('commit', content), content);
    this.#commits.set(commit.sha, commit);
    return commit;
  }

  async tree(oid: Oid): Promise<Tree> {
    return this.#trees.get(oid) ?? this.#base.tree(oid);
  }

  async commit(oid: Oid): Promise<Commit> {
    return this.#commits.get(oid) ?? this.#base.commit(oid);
  }

  async blob(oid: Oid): Promise<Buffer> {
    return this.#objects.get(oid)?.content ?? this.#base.blob(oid);
  }

  async *blobs(oids: readonly Oid[]): AsyncGenerator<{ oid: Oid; content: Buffer }> {
    const below = this.#base.blobs(oids.filter((oid) => !this.#objects.has(oid)))[Symbol.asyncIterator]();
    try {
      for (const oid of oids) {
        const known = this.#objects.get(oid);
        if (known) yield { oid, content: known.content };
        else yield (await below.next()).value;
      }
    } finally {
      await below.return?.();
    }
  }

  async listing(oid: Oid, prefix: string, budget = newBudget()): Promise<readonly TreeFile[]> {
    if (!this.#trees.has(oid)) return this.#base.listing(oid, prefix, budget);
    const key = `${oid}:${prefix}`;
    const known = this.listings.get(key);
    if (known) return known;
    const from = this.#derived.get(oid);
    const derived = from?.prefix === prefix ? await this.#derive(from) : null;
    const files = derived ?? (await listTree(this, oid, prefix, budget));
    this.listings.set(key, files);
    return files;
  }

  /** Also when it can be made of one that is known. */
  knowsListing(oid: Oid, prefix: string): boolean {
    for (let at = oid; ; ) {
      if (this.listings.has(`${at}:${prefix}`)) return true;
      const from = this.#derived.get(at);
      if (from?.prefix !== prefix) return !this.#trees.has(at) && this.#base.knowsListing(at, prefix);
      at = from.base;
    }
  }

  /** Whether a tree was made of another one here: an edit that takes an earlier one back leads to where it began. */
  #comesOf(oid: Oid, origin: Oid): boolean {
    for (let at: Oid | undefined = oid; at !== undefined; at = this.#derived.get(at)?.base)
      if (at === origin) return true;
    return false;
  }

  /** The listing of an edited tree made of the one before; null when files came or went, which is rarer and listed anew. */
  async #derive({ base, prefix, edits }: Derivation): Promise<readonly TreeFile[] | null> {
    let files = await this.listing(base, prefix);
    for (const [name, entry] of edits) {
      if (entry === null) return null;
      const path = `${prefix}${name}`;
      const below = `${path}/`;
      const isTree = entry.mode === modes.tree;
      const at = files.findIndex((file) => (isTree ? file.path.startsWith(below) : file.path === path));
      if (at === -1) return null;
      if (isTree) {
        const inside = await this.listing(entry.oid, below);
        const isBelow = (position: number) => files[position]?.path.startsWith(below) === true;
        // A directory whose files changed in place is as long as it was.
        let end = at + inside.length;
        if (!isBelow(end - 1) || isBelow(end)) for (end = at; isBelow(end); ) end += 1;
        files = [...files.slice(0, at), ...inside, ...files.slice(end)];
      } else {
        files = files.with(at, { path, mode: entry.mode, oid: entry.oid });
      }
    }
    return files;
  }

  #add(type: ObjectType, content: Buffer): Oid {
    const oid = hashObject(this.format, type, content);
    if (!this.#objects.has(oid)) this.#objects.set(oid, { oid, type, content });
    return oid;
  }
}
