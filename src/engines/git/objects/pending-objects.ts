import type { Commit, Oid, TreeFile } from '../../../ports/git-records.ts';
import { type CommitDraft, formatCommit, parseCommit } from './commit-codec.ts';
import { listTree, newBudget } from './file-listing.ts';
import { hashObject, type ObjectFormat, type ObjectType } from './object-id.ts';
import type { ObjectSource } from './object-source.ts';
import type { NewObject } from './object-writer.ts';
import type { Tree } from './tree-codec.ts';

/** New objects over a stored base: they can be read here before they are written, so that commits can be chained in memory. */
export class PendingObjects implements ObjectSource {
  readonly #base: ObjectSource;
  readonly #objects = new Map<Oid, NewObject>();
  readonly #trees = new Map<Oid, Tree>();
  readonly #commits = new Map<Oid, Commit>();
  /** Listings of new trees, by `<oid>:<prefix>`: the checks of one commit may need the same one many times. */
  readonly #listings = new Map<string, readonly TreeFile[]>();

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
  }

  /** Takes in of some objects what was added to another one over this. @returns the others */
  adoptNamed(other: PendingObjects, oids: Iterable<Oid>): Oid[] {
    return [...oids].filter((oid) => {
      const object = this.#objects.get(oid) ?? other.#objects.get(oid);
      if (object) this.#objects.set(oid, object);
      return object === undefined;
    });
  }

  addBlob(content: Buffer): Oid {
    return this.#add('blob', content);
  }

  addTree(tree: Tree): Oid {
    const oid = this.#add('tree', tree.raw);
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

  async sizes(oids: Iterable<Oid>): Promise<Map<Oid, number | null>> {
    const all = new Set(oids);
    const found = await this.#base.sizes([...all].filter((oid) => !this.#objects.has(oid)));
    for (const oid of all) {
      const known = this.#objects.get(oid);
      if (known) found.set(oid, known.content.length);
    }
    return found;
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
    const known = this.#listings.get(key);
    if (known) return known;
    const files = await listTree(this, oid, prefix, budget);
    this.#listings.set(key, files);
    return files;
  }

  #add(type: ObjectType, content: Buffer): Oid {
    const oid = hashObject(this.format, type, content);
    if (!this.#objects.has(oid)) this.#objects.set(oid, { oid, type, content });
    return oid;
  }
}
