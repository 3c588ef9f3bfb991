import { DomainError } from '../../../kernel/errors.ts';
import { filterYielding, Pace } from '../../../lib/concurrency.ts';
import type { Oid } from '../../../ports/git-records.ts';
import { modes, type Tree } from '../objects/tree-codec.ts';

/** Reads a tree; null: the empty one. */
type ReadTree = (oid: Oid | null) => Promise<Tree>;

/** Trees whose directories are compared with those of the result; all others are looked at only for what these leave open. */
const near = 8;
/** What it costs to read a tree, in names that are looked up in one. */
const reading = 16;

/** A directory of the result on the way down; `name` is empty for the root. */
interface Place {
  above: Place | null;
  name: string;
  /** Its path with a slash at the end; empty for the root. */
  prefix: string;
  /** What the trees hold there, each of what several share once; undefined: not looked up yet. */
  held?: readonly Oid[];
}

/**
 * Two paths of a merged tree whose names are one to file systems that fold case or normalise (`foldCase`), and that none of the trees it was made
 * of holds both. Only directories are read that are as in none of those, and names that the first of them lacks are compared with their siblings.
 *
 * @param most names that are looked up in trees, and pairs that are compared: with hundreds of trees both grow with their product
 * @returns the one that the first tree lacks before the other; null: none
 * @throws DomainError `too_large` where more would have to be looked up
 */
export async function newCollision(
  read: ReadTree,
  result: Oid | null,
  trees: readonly (Oid | null)[],
  most = Number.POSITIVE_INFINITY,
): Promise<[string, string] | null> {
  const pace = new Pace();
  let left = most;
  const spend = (cost: number) => {
    left -= cost;
    if (left >= 0) return;
    throw new DomainError(
      'too_large',
      `${trees.length} commits are merged that have too many names which differ only in case or normalisation; merge fewer of them at a time without manage_studio`,
    );
  };
  /** One of the trees that the result was made of. */
  const look = async (oid: Oid) => {
    spend(reading);
    if (pace.isDue) await pace.yield();
    return read(oid);
  };
  /** What the trees hold at a place, found by one way down them for all names there. */
  const heldAt = async (place: Place): Promise<readonly Oid[]> => {
    if (place.held) return place.held;
    const held = new Set<Oid>();
    if (place.above === null) for (const oid of trees) if (oid !== null) held.add(oid);
    if (place.above !== null)
      for (const oid of await heldAt(place.above)) {
        const entry = (await look(oid)).find(place.name);
        if (entry?.mode === modes.tree) held.add(entry.oid);
      }
    place.held = [...held];
    return place.held;
  };
  /** Two of some names that are one, which no tree holds both. What is held alike is compared once, for there may be thousands. */
  const apart = async (names: readonly string[], holders: readonly bigint[]): Promise<[string, string] | null> => {
    const byHolders = new Map<bigint, string>();
    for (const [at, name] of names.entries()) {
      if (pace.isDue) await pace.yield();
      const held = holders[at] ?? 0n;
      const other = byHolders.get(held);
      if (held === 0n && other !== undefined) return [name, other];
      byHolders.set(held, name);
    }
    const distinct = [...byHolders];
    for (const [at, [held, one]] of distinct.entries()) {
      spend(distinct.length - at - 1);
      if (pace.isDue) await pace.yield();
      for (let next = at + 1; next < distinct.length; next += 1) {
        const [holders, other] = distinct[next] ?? [0n, ''];
        if ((held & holders) === 0n) return [one, other];
      }
    }
    return null;
  };
  /** The same for several names and others that each is one with. Each tree is read once for all of them. */
  const clash = async (place: Place, all: readonly (readonly string[])[]): Promise<[string, string] | null> => {
    /** The trees that hold each name, a bit each. */
    let open = all.map((names) => ({ names, holders: names.map(() => 0n), isTogether: false }));
    for (const [bit, oid] of (await heldAt(place)).entries()) {
      const tree = await look(oid);
      for (const group of open) {
        let count = 0;
        for (const [at, name] of group.names.entries()) {
          spend(1);
          if (pace.isDue) await pace.yield();
          if (tree.find(name) === null) continue;
          group.holders[at] = (group.holders[at] ?? 0n) | (1n << BigInt(bit));
          count += 1;
        }
        group.isTogether = count === group.names.length;
      }
      open = open.filter(({ isTogether }) => !isTogether);
      if (open.length === 0) return null;
    }
    for (const { names, holders } of open) {
      const found = await apart(names, holders);
      if (found) return found;
    }
    return null;
  };
  const walk = async (
    place: Place,
    oid: Oid | null,
    sides: readonly (Oid | null)[],
  ): Promise<[string, string] | null> => {
    if (sides.includes(oid)) return null;
    if (pace.isDue) await pace.yield();
    const [tree, first] = [await read(oid), await read(sides[0] ?? null)];
    const changes = (await tree.changesFrom(first, Number.POSITIVE_INFINITY)) ?? [];
    const added = new Set((await filterYielding(changes, ({ old }) => old === null)).map(({ name }) => name));
    const alike = added.size === 0 ? [] : [...(await tree.allAlike()).values()];
    const met = await filterYielding(alike, (names) => names.some((name) => added.has(name)));
    const found = met.length === 0 ? null : await clash(place, met);
    if (found) {
      const [one, other] = first.find(found[0]) === null ? found : [found[1], found[0]];
      return [`${place.prefix}${one}`, `${place.prefix}${other}`];
    }
    const directories = await filterYielding(changes, ({ new: entry }) => entry?.mode === modes.tree);
    const below = directories.map((): (Oid | null)[] => []);
    for (const side of directories.length === 0 ? [] : sides) {
      const there = await read(side);
      for (const [at, { name }] of directories.entries()) {
        if (pace.isDue) await pace.yield();
        const entry = there.find(name);
        below[at]?.push(entry?.mode === modes.tree ? entry.oid : null);
      }
    }
    for (const [at, { name, new: entry }] of directories.entries()) {
      const inside = { above: place, name, prefix: `${place.prefix}${name}/` };
      const deeper = await walk(inside, entry?.oid ?? null, below[at] ?? []);
      if (deeper) return deeper;
    }
    return null;
  };
  return walk({ above: null, name: '', prefix: '' }, result, trees.slice(0, near));
}
