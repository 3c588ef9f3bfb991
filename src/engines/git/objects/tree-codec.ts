import { forEachYielding, Pace } from '../../../lib/concurrency.ts';
import { foldCase } from '../../../lib/text.ts';
import type { TreeEntry } from '../../../ports/git-records.ts';

const slash = 0x2f;

export const modes = {
  file: '100644',
  executable: '100755',
  symlink: '120000',
  tree: '40000',
  submodule: '160000',
} as const;

/** A symlink or a submodule: an entry no path may lead through. */
export function isLink(mode: string): boolean {
  return mode === modes.symlink || mode === modes.submodule;
}

/** Bits of a mode that name the type of an entry (inode(7), S_IFMT), and what they are for each. */
const type = { mask: 0o170000, file: 0o100000, tree: 0o040000, symlink: 0o120000 } as const;
const executable = 0o100;
const space = 0x20;

/**
 * The mode at a place as a number, as git reads it: octal digits up to the space, of which 16 bits count (tree-walk.c, parse_mode). Old tools
 * padded modes with zeros and wrote permissions that git writes no more; hostile ones may write anything.
 */
function modeNumber(raw: Buffer, start: number): number {
  let mode = 0;
  for (let at = start; at < raw.length && raw[at] !== space; at += 1)
    mode = ((mode << 3) + ((raw[at] ?? 0) & 7)) & 0xffff;
  return mode;
}

/** The mode git takes a number for (cache.h, canon_mode): what it lists, checks out and merges. */
function canonicalMode(mode: number): string {
  switch (mode & type.mask) {
    case type.file:
      return (mode & executable) === 0 ? modes.file : modes.executable;
    case type.symlink:
      return modes.symlink;
    case type.tree:
      return modes.tree;
    default:
      return modes.submodule;
  }
}

const lowerCase = (byte: number) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte);

/** A name of which two trees hold different entries; null: it is not there. */
export interface TreeChange {
  name: string;
  /** Bytes of the name in the tree; `name` has lost what is no UTF-8. */
  bytes: number;
  old: TreeEntry | null;
  new: TreeEntry | null;
}

/** Bytes of a large tree that are read at once. */
const piece = 256 * 1024;

/** Finds where the entries of a tree begin. */
class EntryStarts {
  readonly #raw: Buffer;
  readonly #oidLength: number;
  readonly #starts: Uint32Array;
  #count = 0;
  #at = 0;

  constructor(raw: Buffer, oidLength: number) {
    this.#raw = raw;
    this.#oidLength = oidLength;
    // No entry is shorter than a digit, a space, a letter, NUL and the id.
    this.#starts = new Uint32Array(Math.ceil(raw.length / (4 + oidLength)) + 1);
  }

  /** Reads on to the end of the entry that holds the byte before `end`. */
  readTo(end: number): void {
    const raw = this.#raw;
    let at = this.#at;
    while (at < end) {
      this.#starts[this.#count] = at;
      this.#count += 1;
      at += 3;
      while (at < raw.length && raw[at] !== 0) at += 1;
      at += 1 + this.#oidLength;
    }
    this.#at = at;
  }

  /** Start of every entry, and the end of the last. @throws Error when the last one is cut off */
  all(): Uint32Array {
    if (this.#at !== this.#raw.length) throw new Error('a tree object ends in the middle of an entry');
    this.#starts[this.#count] = this.#at;
    return this.#starts.slice(0, this.#count + 1);
  }
}

/**
 * One tree object over its raw bytes: `mode SP name NUL raw-oid`, sorted as git sorts (by bytes, a directory as if its name ended with
 * a slash). Lookups are binary searches in the bytes and edits copy what they do not touch, so a directory of 10,000 files costs
 * neither 10,000 objects nor the loss of names that are not UTF-8.
 */
export class Tree {
  readonly raw: Buffer;
  readonly #oidLength: number;
  /** Start of every entry, and the end of the last. */
  readonly #starts: Uint32Array;

  private constructor(raw: Buffer, oidLength: number, starts: Uint32Array) {
    this.raw = raw;
    this.#oidLength = oidLength;
    this.#starts = starts;
  }

  /** @throws Error when the bytes are not a tree */
  static parse(raw: Buffer, oidLength: number): Tree {
    const starts = new EntryStarts(raw, oidLength);
    starts.readTo(raw.length);
    return new Tree(raw, oidLength, starts.all());
  }

  /** The same of a tree from outside, which may be large: in pieces, between which the event loop goes on. */
  static async read(raw: Buffer, oidLength: number): Promise<Tree> {
    const starts = new EntryStarts(raw, oidLength);
    const pace = new Pace();
    for (let end = piece; end < raw.length; end += piece) {
      starts.readTo(end);
      if (pace.isDue) await pace.yield();
    }
    starts.readTo(raw.length);
    return new Tree(raw, oidLength, starts.all());
  }

  static empty(oidLength: number): Tree {
    return Tree.parse(Buffer.alloc(0), oidLength);
  }

  get size(): number {
    return this.#starts.length - 1;
  }

  /** Bytes of the longest name, and of all. */
  nameBytes(): { longest: number; bytes: number } {
    let [longest, bytes] = [0, 0];
    for (let index = 0; index < this.size; index++) {
      const length = this.#nameEnd(index) - this.raw.indexOf(space, this.#start(index)) - 1;
      longest = Math.max(longest, length);
      bytes += length;
    }
    return { longest, bytes };
  }

  find(name: string): TreeEntry | null {
    const key = Buffer.from(name, 'utf8');
    const index = this.#indexOf(key);
    return index === -1 ? null : this.#entry(index);
  }

  /** Every entry, decoded as it is reached: a wide tree is gone through in steps. */
  *entries(): Generator<TreeEntry, undefined> {
    for (let index = 0; index < this.size; index++) yield this.#entry(index);
  }

  /** The directories among the entries, with the bytes of their names; no other entry is decoded. */
  *directories(): Generator<TreeEntry & { bytes: number }, undefined> {
    for (let index = 0; index < this.size; index++)
      if (this.#isTree(index)) yield { ...this.#entry(index), bytes: this.#nameBytes(index).length };
  }

  /** The entries whose names some file systems treat as equal to this one, found in steps; few of the others are decoded. */
  async alike(name: string): Promise<TreeEntry[]> {
    const pace = new Pace();
    const key = Buffer.from(name, 'utf8');
    const folded = foldCase(name);
    const found: TreeEntry[] = [];
    for (let index = 0; index < this.size; index++) {
      if (pace.isDue) await pace.yield();
      if (!this.#mayBeAlike(index, key)) continue;
      const entry = this.#entry(index);
      if (foldCase(entry.name) === folded) found.push(entry);
    }
    return found;
  }

  /**
   * The names that some file systems treat as equal to others of this tree, by what `foldCase` makes of them, found in steps: to look at all names
   * takes one time through the tree, where `alike` takes one for each.
   */
  async allAlike(): Promise<Map<string, string[]>> {
    const one = new Map<string, string>();
    const alike = new Map<string, string[]>();
    await forEachYielding(this.entries(), ({ name }) => {
      const folded = foldCase(name);
      const first = one.get(folded);
      if (first === undefined) {
        one.set(folded, name);
        return;
      }
      const names = alike.get(folded);
      if (names) names.push(name);
      else alike.set(folded, [first, name]);
    });
    return alike;
  }

  /** A tree with these names set, or removed where the value is null. */
  edit(edits: ReadonlyMap<string, TreeEntry | null>): Tree {
    const cuts: { at: number; key: Buffer; bytes: Buffer | null }[] = [];
    for (const [name, entry] of edits) {
      const key = Buffer.from(name, 'utf8');
      const old = this.#indexOf(key);
      if (old !== -1) cuts.push({ at: old, key, bytes: null });
      if (entry === null) continue;
      const sortKey = entry.mode === modes.tree ? Buffer.concat([key, Buffer.of(slash)]) : key;
      const bytes = Buffer.concat([Buffer.from(`${entry.mode} `), key, Buffer.of(0), Buffer.from(entry.oid, 'hex')]);
      cuts.push({ at: this.#lowerBound(sortKey), key: sortKey, bytes });
    }
    // At one place insertions come first, in git's order; the removed entry follows them.
    cuts.sort((a, b) => a.at - b.at || Number(a.bytes === null) - Number(b.bytes === null) || a.key.compare(b.key));
    const pieces: Buffer[] = [];
    const starts = new Uint32Array(this.#starts.length + cuts.length);
    let [next, count, length] = [0, 0, 0];
    const keepTo = (index: number) => {
      const [from, to] = [this.#start(next), this.#start(index)];
      for (; next < index; next += 1) starts[count++] = this.#start(next) - from + length;
      pieces.push(this.raw.subarray(from, to));
      length += to - from;
    };
    for (const { at, bytes } of cuts) {
      keepTo(at);
      if (bytes === null) {
        next = at + 1;
        continue;
      }
      starts[count++] = length;
      pieces.push(bytes);
      length += bytes.length;
    }
    keepTo(this.size);
    starts[count] = length;
    return new Tree(Buffer.concat(pieces, length), this.#oidLength, starts.slice(0, count + 1));
  }

  /**
   * How this tree differs from an earlier one, in git's order, found in steps; a name that changes from file to directory is one change. Names
   * that are no UTF-8 are as many changes as they are in bytes, although they may read alike.
   * @returns null when more than `most` names differ
   */
  async changesFrom(base: Tree, most: number): Promise<TreeChange[] | null> {
    const pace = new Pace();
    const changes = new Map<string, TreeChange>();
    const note = (side: 'old' | 'new', entry: TreeEntry, name: string) => {
      const known = changes.get(name) ?? { name: entry.name, bytes: name.length, old: null, new: null };
      changes.set(name, Object.assign(known, { [side]: entry }));
    };
    let [here, there] = [0, 0];
    while (here < this.size || there < base.size) {
      if (pace.isDue) await pace.yield();
      const same = this.#sameFrom(here, base, there);
      here += same;
      there += same;
      if (here >= this.size && there >= base.size) break;
      const order = here >= this.size ? 1 : there >= base.size ? -1 : this.#compare(here, base.#sortKey(there));
      const mine = order <= 0 ? this.#entry(here) : null;
      const theirs = order >= 0 ? base.#entry(there) : null;
      // The bytes of one mode may differ.
      if (mine === null || mine.mode !== theirs?.mode || mine.oid !== theirs.oid) {
        if (mine !== null) note('new', mine, this.#nameBytes(here));
        if (theirs !== null) note('old', theirs, base.#nameBytes(there));
        if (changes.size > most) return null;
      }
      if (mine !== null) here += 1;
      if (theirs !== null) there += 1;
    }
    return [...changes.values()];
  }

  /** How many entries from here on are those of another tree from there on; runs are compared as bytes. */
  #sameFrom(here: number, base: Tree, there: number): number {
    let same = 0;
    for (let run = 1024; run >= 1; run = run === 1 ? 0 : run / 32) {
      for (;;) {
        const [from, to] = [here + same, here + same + run];
        const [baseFrom, baseTo] = [there + same, there + same + run];
        if (to > this.size || baseTo > base.size) break;
        const order = base.raw.compare(
          this.raw,
          this.#start(from),
          this.#start(to),
          base.#start(baseFrom),
          base.#start(baseTo),
        );
        if (order !== 0) break;
        same += run;
      }
    }
    return same;
  }

  /** What an entry is ordered by: its name, and a slash when it is a tree. */
  #sortKey(index: number): Buffer {
    const name = this.raw.subarray(this.raw.indexOf(space, this.#start(index)) + 1, this.#nameEnd(index));
    return this.#isTree(index) ? Buffer.concat([name, Buffer.of(slash)]) : name;
  }

  /** A character for each byte of a name. */
  #nameBytes(index: number): string {
    return this.raw.toString('latin1', this.raw.indexOf(space, this.#start(index)) + 1, this.#nameEnd(index));
  }

  #start(index: number): number {
    return this.#starts[index] ?? this.raw.length;
  }

  #nameEnd(index: number): number {
    return this.#start(index + 1) - this.#oidLength - 1;
  }

  #isTree(index: number): boolean {
    return (modeNumber(this.raw, this.#start(index)) & type.mask) === type.tree;
  }

  #entry(index: number): TreeEntry {
    const start = this.#start(index);
    const end = this.#nameEnd(index);
    return {
      name: this.raw.toString('utf8', this.raw.indexOf(space, start) + 1, end),
      mode: canonicalMode(modeNumber(this.raw, start)),
      oid: this.raw.toString('hex', end + 1, this.#start(index + 1)),
    };
  }

  /** False only where two names differ whatever is folded: at a letter of ASCII, before which both are the same ASCII. */
  #mayBeAlike(index: number, key: Buffer): boolean {
    const start = this.raw.indexOf(space, this.#start(index)) + 1;
    const end = this.#nameEnd(index);
    for (let at = 0; at < key.length && start + at < end; at++) {
      const [mine, wanted] = [this.raw[start + at] ?? 0, key[at] ?? 0];
      if (mine > 0x7f || wanted > 0x7f) return true;
      if (mine !== wanted && lowerCase(mine) !== lowerCase(wanted)) return false;
    }
    return end - start === key.length;
  }

  /** A name may stand at two places: where a file of that name sorts, and where a directory does. */
  #indexOf(name: Buffer): number {
    for (const key of [name, Buffer.concat([name, Buffer.of(slash)])]) {
      const index = this.#lowerBound(key);
      if (index < this.size && this.#compare(index, key) === 0) return index;
    }
    return -1;
  }

  #lowerBound(key: Buffer): number {
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(middle, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Order of the entry's sort key (its name, and a slash when it is a tree) against a sort key. */
  #compare(index: number, key: Buffer): number {
    const start = this.raw.indexOf(space, this.#start(index)) + 1;
    const length = this.#nameEnd(index) - start;
    const common = Math.min(length, key.length);
    const order = this.raw.compare(key, 0, common, start, start + common);
    if (order !== 0) return order;
    const tail = this.#isTree(index) ? 1 : 0;
    if (length >= key.length) return length + tail - key.length;
    if (tail === 0) return -1;
    // In range: key is longer than the name here.
    return slash - (key[length] ?? 0) || length + 1 - key.length;
  }
}
