import { LRUCache } from 'lru-cache';
import { DomainError } from '../../../kernel/errors.ts';
import { forEachConcurrently, forEachYielding, Pace } from '../../../lib/concurrency.ts';
import { upTo } from '../../../lib/version-cache.ts';
import type { Oid, TreeEntry } from '../../../ports/git-records.ts';
import { longestMessage } from '../../../ports/git-writes.ts';
import { CatFile, type StoredObject } from '../objects/cat-file.ts';
import { formatOf, rawLength } from '../objects/object-id.ts';
import { modes, Tree } from '../objects/tree-codec.ts';
import { RefFiles } from '../refs/ref-files.ts';
import { findLargeBlob, type ObjectPlace, objectLines, type Reach } from './large-blobs.ts';
import {
  type Tip,
  type TreeLimits,
  tooDeep,
  tooLarge,
  tooLong,
  tooManyEntries,
  tooManyFiles,
  tooMuchToList,
  tooWide,
} from './limits.ts';

/** What hangs below a tree: files, and directories as well, the names of its deepest path, and the bytes of its longest path and of all. */
interface Extent {
  files: number;
  entries: number;
  depth: number;
  longest: number;
  bytes: number;
}

const nothing: Readonly<Extent> = { files: 0, entries: 0, depth: 0, longest: 0, bytes: 0 };

/** A tree has the extent it has for ever; a push changes few of them. */
const known = new LRUCache<string, Extent>(upTo(50_000));

/** Trees to be measured: those of a repository, or of a push or a commit that is not stored yet. */
interface Trees {
  /** What its trees are known by. */
  repository: string;
  read(oid: Oid, tip: Pick<Tip, 'name'>): Promise<Tree>;
}

/** Directories of one tree that are measured at the same time. */
const together = 64;

/**
 * Measures trees, each once, however often it occurs: a few small trees that contain each other many times unfold to more paths than can be
 * counted one by one. What cannot be within the limits is refused as soon as that is known: a small pack may hold a tree of millions of entries.
 */
class TreeExtents {
  readonly #trees: Trees;
  readonly #limits: TreeLimits;
  readonly #measured = new Map<Oid, Promise<Extent>>();
  readonly #pace = new Pace();
  /** Seen below the tip so far, in trees that had to be read. */
  #seen = { files: 0, entries: 0 };

  constructor(trees: Trees, limits: TreeLimits) {
    this.#trees = trees;
    this.#limits = limits;
  }

  /** @throws DomainError `too_large` when a tip's tree holds more than it may, `not_found` when there is no such tree */
  async check(tip: Tip, tree: Oid): Promise<void> {
    checkExtent(tip, await this.of(tip, tree), this.#limits);
  }

  /**
   * The extent of a tip's tree. One deeper than the limit is not followed to its end: its `depth` is above the limit then.
   * @throws DomainError `too_large` when it holds too many files or directories, `not_found` when there is no such tree
   */
  of(tip: Tip, tree: Oid): Promise<Extent> {
    this.#seen = { files: 0, entries: 0 };
    return this.#at(tip, tree, 1);
  }

  #at(tip: Tip, tree: Oid, level: number): Promise<Extent> {
    if (level > this.#limits.depth) return Promise.resolve({ ...nothing, depth: 1 });
    const under = this.#measured.get(tree);
    if (under) return under;
    const measured = this.#measure(tip, tree, level);
    this.#measured.set(tree, measured);
    return measured;
  }

  async #measure(tip: Tip, oid: Oid, level: number): Promise<Extent> {
    const key = `${this.#trees.repository}:${oid}`;
    const found = known.get(key);
    if (found) return found;
    const tree = await this.#trees.read(oid, tip);
    // Every directory holds a file at least, for git makes none that is empty; one that is empty all the same is counted as a file.
    if (tree.size > this.#limits.files) throw tooManyFiles(tip, this.#limits);
    const below = new Map<Oid, { times: number; longest: number; bytes: number }>();
    await forEachYielding(tree.directories(), ({ oid, bytes: ofName }) => {
      const seen = below.get(oid) ?? { times: 0, longest: 0, bytes: 0 };
      // With the slash behind it.
      const bytes = ofName + 1;
      const longest = Math.max(seen.longest, bytes);
      below.set(oid, { times: seen.times + 1, longest, bytes: seen.bytes + bytes });
    });
    const extent = { files: tree.size, entries: tree.size, depth: tree.size === 0 ? 0 : 1, ...tree.nameBytes() };
    for (const { times } of below.values()) extent.files -= times;
    this.#seen.files += extent.files;
    this.#seen.entries += extent.entries;
    checkCounts(tip, this.#seen, this.#limits);
    await forEachConcurrently(below, together, async ([oid, above]) => {
      if (this.#pace.isDue) await this.#pace.yield();
      const { files, entries, depth, longest, bytes } = await this.#at(tip, oid, level + 1);
      extent.files += above.times * Math.max(files, 1);
      extent.entries += above.times * entries;
      extent.depth = Math.max(extent.depth, depth + 1);
      extent.longest = Math.max(extent.longest, above.longest + longest);
      extent.bytes += above.times * bytes + entries * above.bytes;
    });
    if (level + extent.depth - 1 <= this.#limits.depth) known.set(key, extent);
    return extent;
  }
}

function checkCounts(tip: Tip, { files, entries }: Pick<Extent, 'files' | 'entries'>, limits: TreeLimits): void {
  if (files > limits.files) throw tooManyFiles(tip, limits);
  if (entries > limits.entries) throw tooManyEntries(tip, limits);
}

function checkExtent(tip: Tip, extent: Extent, limits: TreeLimits): void {
  if (extent.depth > limits.depth) throw tooDeep(tip, limits);
  checkCounts(tip, extent, limits);
  if (extent.longest > limits.pathBytes) throw tooLong(tip, limits);
  if (extent.bytes > limits.listBytes) throw tooMuchToList(tip, limits);
}

/** Limits that are no lower than what a tree holds: its files, directories, and their paths together. */
const raisedTo = (limits: TreeLimits, { files, entries, bytes }: Extent): TreeLimits => ({
  ...limits,
  files: Math.max(limits.files, files),
  entries: Math.max(limits.entries, entries),
  listBytes: Math.max(limits.listBytes, bytes),
});

/** Of what is there already all is counted. */
const endless = { files: Number.POSITIVE_INFINITY, entries: Number.POSITIVE_INFINITY };

/**
 * The limits for what follows some trees: what is there already may be more than may come, and what adds nothing to it is taken.
 * @returns null where none of them is over a limit
 */
async function raisedBy(
  trees: Trees,
  tip: Tip,
  before: readonly Oid[],
  limits: TreeLimits,
): Promise<TreeLimits | null> {
  const extents = new TreeExtents(trees, { ...limits, ...endless });
  let raised = limits;
  for (const oid of before) raised = raisedTo(raised, await extents.of(tip, oid));
  const isRaised = (['files', 'entries', 'listBytes'] as const).some((name) => raised[name] > limits[name]);
  return isRaised ? raised : null;
}

/** @param before trees that are there already; called only where something is over a limit */
async function checkTree(
  extents: TreeExtents,
  trees: Trees,
  { tip, tree, before }: { tip: Tip; tree: Oid; before: () => Promise<readonly Oid[]> },
  limits: TreeLimits,
): Promise<void> {
  try {
    await extents.check(tip, tree);
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'too_large') throw error;
    const raised = await raisedBy(trees, tip, await before(), limits);
    if (raised === null) throw error;
    await new TreeExtents(trees, raised).check(tip, tree);
  }
}

/** How long a path is: the names in trees count, which need not be UTF-8. */
interface PathLength {
  bytes: number;
  depth: number;
}

/** What changes add to a tree, and take from it. */
export class Growth {
  readonly #sum: Extent = { ...nothing };

  /** Files and directories that are more than before; below zero: fewer. */
  get entries(): number {
    return this.#sum.entries;
  }

  /** Counts what a path holds before, or afterwards. */
  count({ bytes, depth }: PathLength, entry: TreeEntry | null, sign: 1 | -1): void {
    if (entry === null) return;
    const sum = this.#sum;
    sum.entries += sign;
    if (entry.mode !== modes.tree) sum.files += sign;
    sum.bytes += sign * bytes;
    if (sign === -1) return;
    sum.longest = Math.max(sum.longest, bytes);
    sum.depth = Math.max(sum.depth, depth);
  }

  /** The extent of a tree with the changes. */
  on(extent: Extent): Extent {
    const { files, entries, bytes, longest, depth } = this.#sum;
    return {
      files: extent.files + files,
      entries: extent.entries + entries,
      bytes: extent.bytes + bytes,
      longest: Math.max(extent.longest, longest),
      depth: Math.max(extent.depth, depth),
    };
  }
}

/** A tree that follows another on a branch. */
interface Step {
  /** null: the branch holds nothing. */
  before: Oid | null;
  after: Oid;
}

/** With more entries in which two trees differ, the second is measured: many directories are read at a time then. */
const mostDifferences = 10_000;

/** What a tree holds beside another, by the directories in which they differ alone; null: too much for that. */
async function growthOf(trees: Trees, tip: Tip, { before, after }: Step): Promise<Growth | null> {
  const growth = new Growth();
  let left = mostDifferences;
  const read = (oid: Oid | null) => (oid === null ? Tree.empty(rawLength[formatOf(after)]) : trees.read(oid, tip));
  const walk = async (from: Oid | null, to: Oid | null, above: PathLength): Promise<boolean> => {
    if (from === to) return true;
    const changes = await (await read(to)).changesFrom(await read(from), left);
    left -= changes?.length ?? 0;
    for (const { bytes, old, new: entry } of changes ?? []) {
      const path = { bytes: above.bytes + bytes, depth: above.depth + 1 };
      growth.count(path, old, -1);
      growth.count(path, entry, 1);
      const [was, is] = [old, entry].map((one) => (one?.mode === modes.tree ? one.oid : null));
      if (!(await walk(was ?? null, is ?? null, { ...path, bytes: path.bytes + 1 }))) return false;
    }
    return changes !== null;
  };
  return (await walk(before, after, { bytes: 0, depth: 0 })) ? growth : null;
}

/**
 * Holds the tree of a merge against the limits: each of two branches may be within them, and both together beyond. Where the extent of what the branch
 * holds is known, no directory is read in which the merge changes nothing.
 *
 * @throws DomainError `too_large` naming what is over a limit
 */
export async function checkMerged(trees: Trees, name: string, step: Step, limits: TreeLimits): Promise<void> {
  const { before, after } = step;
  const tip = { name, oid: after };
  const growth = extentOf(trees, before) ? await growthOf(trees, tip, step) : null;
  if (growth) return checkGrown(trees, name, step, growth, limits);
  const there = async () => (before === null ? [] : [before]);
  await checkTree(new TreeExtents(trees, limits), trees, { tip, tree: after, before: there }, limits);
}

const extentOf = ({ repository }: Pick<Trees, 'repository'>, oid: Oid | null) =>
  oid === null ? nothing : known.get(`${repository}:${oid}`);

/** So many files and directories are added to trees of which nothing is known, by a process that has measured none of a repository. */
const mostUncounted = 1_000;

/** Files and directories that were added to such trees, by repository. */
const uncounted = new LRUCache<string, number>(upTo(10_000));

/**
 * The extent of a tree that is added to, which is measured where it is not known and much was added: in one commit, or in many together. What is
 * known of the directories is not read again, so after the first time this takes little, also where other processes write as well.
 * @returns null: little was added, and nothing is known
 */
async function extentBefore(
  trees: Trees,
  name: string,
  before: Oid | null,
  growth: Growth,
  limits: TreeLimits,
): Promise<Extent | null> {
  const extent = extentOf(trees, before);
  if (extent !== undefined || before === null) return extent ?? null;
  const added = (uncounted.get(trees.repository) ?? 0) + Math.max(growth.entries, 0);
  uncounted.set(trees.repository, added);
  if (growth.entries <= 0 || added <= mostUncounted) return null;
  return new TreeExtents(trees, { ...limits, ...endless, depth: Number.POSITIVE_INFINITY }).of(
    { name, oid: before },
    before,
  );
}

/**
 * Holds what changes make of a tree against the limits, by the extent of that tree, which is carried on. Others wait for the branch: where the extent
 * is not known, a commit that adds little is not counted, and no tree is read for it.
 *
 * @throws DomainError `too_large` naming what is over a limit
 */
export async function checkGrown(
  trees: Trees,
  name: string,
  { before, after }: Step,
  growth: Growth,
  limits: TreeLimits,
): Promise<void> {
  const extent = await extentBefore(trees, name, before, growth, limits);
  if (extent === null) return;
  const grown = growth.on(extent);
  checkExtent({ name, oid: after }, grown, {
    ...raisedTo(limits, extent),
    depth: Math.max(limits.depth, extent.depth),
    pathBytes: Math.max(limits.pathBytes, extent.longest),
  });
  known.set(`${trees.repository}:${after}`, grown);
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
  limits: TreeLimits,
): Promise<void> {
  await checkTrees(place, tips, limits);
  const large = await findLargeBlob(place, tips, reach, limits);
  if (large !== null) throw tooLarge(large, limits);
}

async function checkTrees(place: ObjectPlace, tips: readonly Tip[], limits: TreeLimits): Promise<void> {
  const { processes, gitDir, env, signal } = place;
  const objects = new CatFile(processes, gitDir, { env, signal });
  const refs = new RefFiles(gitDir);
  const trees = { repository: gitDir, read: (oid: Oid, tip: Pick<Tip, 'name'>) => readTree(objects, oid, tip) };
  try {
    const extents = new TreeExtents(trees, limits);
    const known = new Map<Oid, Oid | null>();
    for (const tip of tips) {
      const tree = await treeOf(objects, tip.oid, known);
      if (tree === null) continue;
      const before = async () => {
        const there = await Promise.all([tip.ref ?? null, await refs.head()].map((ref) => ref && refs.read(ref)));
        const found = await Promise.all(there.map((oid) => oid && treeOf(objects, oid, known)));
        return found.filter((oid) => oid !== null);
      };
      await checkTree(extents, trees, { tip, tree, before }, limits);
    }
  } finally {
    await objects.close();
  }
}

/** Few trees are in memory at a time, for git waits with the next until one has been taken. */
async function readTree(objects: CatFile, oid: Oid, tip: Pick<Tip, 'name'>): Promise<Tree> {
  const found = await objects.ask(oid, true, true);
  if (found === null) throw new DomainError('not_found', `No such tree: ${oid}`);
  if (found.content === null) throw tooWide(tip);
  try {
    return await Tree.read(found.content, rawLength[formatOf(oid)]);
  } finally {
    objects.consumed(found.content.length);
  }
}

/**
 * The tree a commit or tag leads to; null when it leads to a file.
 * @param known what was found before: thousands of tags can stand on a chain of thousands, which is followed once
 */
async function treeOf(objects: CatFile, oid: Oid, known: Map<Oid, Oid | null>): Promise<Oid | null> {
  const way: Oid[] = [];
  let found: Oid | null | undefined;
  for (let at = oid; found === undefined; ) {
    found = known.get(at);
    way.push(at);
    if (found !== undefined) break;
    const type = (await objects.ask(at, false))?.type;
    if (type === 'tree' || type === 'blob') found = type === 'tree' ? at : null;
    else {
      const head = (await objects.ask(at, true))?.content?.toString('latin1', 0, 80) ?? '';
      const next = /^(?:tree|object) ([0-9a-f]+)\n/.exec(head)?.[1];
      if (next === undefined) throw new DomainError('too_large', `${at} is larger than any commit this service reads`);
      at = next;
    }
  }
  for (const one of way) known.set(one, found);
  return found;
}

/** Bytes of a commit or tag as a whole: the longest message, four bytes to a character at most, and as much again for signatures above it. */
const largest = 8 * longestMessage;
/** Objects per request for sizes. */
const atOnce = 1_000;

const tooLongMessage = (kind: string, name: string) =>
  new DomainError(
    'too_large',
    `the message of ${kind} ${name} is longer than ${longestMessage} characters; shorten it`,
  );

/**
 * Holds the messages of the commits and annotated tags that are new with some tips against the limit that holds for commits made here.
 *
 * @throws DomainError `too_large` naming the first that is over it
 */
export async function checkMessages(place: ObjectPlace, tips: readonly Tip[]): Promise<void> {
  if (tips.length === 0) return;
  const objects = new CatFile(place.processes, place.gitDir, { env: place.env, signal: place.signal });
  const check = async (oids: readonly string[]) => {
    const found = await Promise.all(oids.map((oid) => objects.ask(oid, false)));
    for (const object of found) {
      // Most messages are far shorter than their limit: few objects are read.
      if (object === null || object.size <= longestMessage) continue;
      const name = tips.find(({ oid }) => oid === object.oid)?.name ?? object.oid;
      if (object.size > largest)
        throw new DomainError('too_large', `${object.type} ${name} is larger than ${largest / 1024} KiB`);
      const read = await objects.ask(object.oid, true);
      if (read !== null && messageOf(read).length > longestMessage)
        throw tooLongMessage(object.type, object.type === 'tag' ? name : object.oid);
    }
  };
  try {
    let open: string[] = [];
    const args = ['--filter=tree:0', '--no-object-names', '--stdin', '--not', '--all'];
    for await (const oid of objectLines(place, args, tips)) {
      open.push(oid);
      if (open.length < atOnce) continue;
      await check(open);
      open = [];
    }
    await check(open);
  } finally {
    await objects.close();
  }
}

/** What stands below the headers, without the newline that ends every message. */
function messageOf({ content }: StoredObject): string {
  const text = content?.toString('utf8') ?? '';
  const at = text.indexOf('\n\n');
  return at === -1 ? '' : text.slice(at + 2).replace(/\n$/, '');
}
