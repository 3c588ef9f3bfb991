import { LRUCache } from 'lru-cache';
import { DomainError } from '../../../kernel/errors.ts';
import { upTo } from '../../../lib/version-cache.ts';
import type { Oid } from '../../../ports/git-records.ts';
import { CatFile } from '../objects/cat-file.ts';
import { formatOf, rawLength } from '../objects/object-id.ts';
import { modes, Tree } from '../objects/tree-codec.ts';
import { findLargeBlob, type ObjectPlace, type Reach } from './large-blobs.ts';
import { type IncomingLimits, type Tip, tooDeep, tooLarge, tooManyFiles } from './limits.ts';

/** What hangs below a tree: files in all, and the names of its longest path. */
interface Extent {
  files: number;
  depth: number;
}

/** A tree has the extent it has for ever; a push changes few of them. */
const known = new LRUCache<string, Extent>(upTo(50_000));

/**
 * Measures trees, each once, however often it occurs: a few small trees that contain each other many times unfold to more paths than can be
 * counted one by one.
 */
class TreeExtents {
  readonly #repository: string;
  readonly #objects: CatFile;
  readonly #deepest: number;
  readonly #measured = new Map<Oid, Promise<Extent>>();

  /** @param deepest levels after which a tree is not followed any more; its `depth` is above that then */
  constructor(repository: string, objects: CatFile, deepest: number) {
    this.#repository = repository;
    this.#objects = objects;
    this.#deepest = deepest;
  }

  /** @throws DomainError `not_found` when there is no such tree */
  of(tree: Oid, level = 1): Promise<Extent> {
    if (level > this.#deepest) return Promise.resolve({ files: 0, depth: 1 });
    const under = this.#measured.get(tree);
    if (under) return under;
    const measured = this.#measure(tree, level);
    this.#measured.set(tree, measured);
    return measured;
  }

  async #measure(oid: Oid, level: number): Promise<Extent> {
    const key = `${this.#repository}:${oid}`;
    const found = known.get(key);
    if (found) return found;
    const content = (await this.#objects.ask(oid, true))?.content;
    if (content == null) throw new DomainError('not_found', `No such tree: ${oid}`);
    const entries = Tree.parse(content, rawLength[formatOf(oid)]).entries();
    const below = entries.filter(({ mode }) => mode === modes.tree);
    const extent = { files: entries.length - below.length, depth: entries.length === 0 ? 0 : 1 };
    for (const { files, depth } of await Promise.all(below.map(({ oid }) => this.of(oid, level + 1)))) {
      extent.files += files;
      extent.depth = Math.max(extent.depth, depth + 1);
    }
    if (level + extent.depth - 1 <= this.#deepest) known.set(key, extent);
    return extent;
  }
}

/**
 * Holds what has come in against the limits before a ref leads to it: the tree of every tip, and the size of every blob in reach.
 *
 * @throws DomainError `too_large` naming what is over a limit
 */
export async function checkIncoming(
  place: ObjectPlace,
  tips: readonly Tip[],
  reach: Reach,
  limits: IncomingLimits,
): Promise<void> {
  await checkTrees(place, tips, limits);
  const large = await findLargeBlob(place, tips, reach, limits);
  if (large !== null) throw tooLarge(large, limits);
}

async function checkTrees(place: ObjectPlace, tips: readonly Tip[], limits: IncomingLimits): Promise<void> {
  const { processes, gitDir, env, signal } = place;
  const objects = new CatFile(processes, gitDir, { env, signal });
  try {
    const extents = new TreeExtents(gitDir, objects, limits.depth);
    for (const tip of tips) {
      const tree = await treeOf(objects, tip.oid);
      if (tree === null) continue;
      const { files, depth } = await extents.of(tree);
      if (depth > limits.depth) throw tooDeep(tip, limits);
      if (files > limits.files) throw tooManyFiles(tip, limits);
    }
  } finally {
    await objects.close();
  }
}

/** The tree a commit or tag leads to; null when it leads to a file. */
async function treeOf(objects: CatFile, oid: Oid): Promise<Oid | null> {
  for (let at = oid; ; ) {
    const type = (await objects.ask(at, false))?.type;
    if (type === 'tree') return at;
    if (type === 'blob') return null;
    const head = (await objects.ask(at, true))?.content?.toString('latin1', 0, 80) ?? '';
    const next = /^(?:tree|object) ([0-9a-f]+)\n/.exec(head)?.[1];
    if (next === undefined) throw new DomainError('too_large', `${at} is larger than any commit this service reads`);
    at = next;
  }
}
