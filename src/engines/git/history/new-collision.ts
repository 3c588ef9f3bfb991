import { forEachYielding, Pace } from '../../../lib/concurrency.ts';
import { foldCase } from '../../../lib/text.ts';
import type { Oid } from '../../../ports/git-records.ts';
import { modes, type Tree } from '../objects/tree-codec.ts';

/** Reads a tree; null: the empty one. */
type ReadTree = (oid: Oid | null) => Promise<Tree>;

/** Trees whose directories are compared with those of the result; all others are looked at only for what these leave open. */
const near = 8;

async function has(read: ReadTree, root: Oid | null, path: string): Promise<boolean> {
  let at = root;
  const names = path.split('/');
  const last = names.pop() ?? '';
  for (const name of names) {
    const entry = (await read(at)).find(name);
    if (entry?.mode !== modes.tree) return false;
    at = entry.oid;
  }
  return (await read(at)).find(last) !== null;
}

/**
 * Two paths of a merged tree whose names are one to file systems that fold case or normalise (`foldCase`), and that none of the trees it was made
 * of holds both. Only directories are read that are as in none of those, and names that the first of them lacks are compared with their siblings.
 *
 * @returns the one that the first tree lacks before the other; null: none
 */
export async function newCollision(
  read: ReadTree,
  result: Oid | null,
  trees: readonly (Oid | null)[],
): Promise<[string, string] | null> {
  const pace = new Pace();
  /** The trees that hold a path, a bit each. */
  const holdersOf = async (path: string) => {
    let holders = 0n;
    for (const [at, root] of trees.entries()) if (await has(read, root, path)) holders |= 1n << BigInt(at);
    return holders;
  };
  /** Two of some names that are one, which no tree holds both. What is held alike is compared once, for there may be thousands. */
  const clash = async (names: readonly string[], prefix: string): Promise<[string, string] | null> => {
    const byHolders = new Map<bigint, string>();
    for (const name of names) {
      if (pace.isDue) await pace.yield();
      const path = `${prefix}${name}`;
      const holders = await holdersOf(path);
      const other = byHolders.get(holders);
      if (holders === 0n && other !== undefined) return [path, other];
      byHolders.set(holders, path);
    }
    for (const [held, one] of byHolders) {
      if (pace.isDue) await pace.yield();
      for (const [holders, other] of byHolders)
        if (one !== other && (held & holders) === 0n) return (held & 1n) === 0n ? [one, other] : [other, one];
    }
    return null;
  };
  const walk = async (
    oid: Oid | null,
    sides: readonly (Oid | null)[],
    prefix: string,
  ): Promise<[string, string] | null> => {
    if (sides.includes(oid)) return null;
    if (pace.isDue) await pace.yield();
    const [tree, first] = [await read(oid), await read(sides[0] ?? null)];
    const changes = (await tree.changesFrom(first, Number.POSITIVE_INFINITY)) ?? [];
    const added = changes.filter((change) => change.old === null);
    const alike = new Map<string, string[]>();
    if (added.length > 0)
      await forEachYielding(tree.entries(), ({ name }) => {
        const key = foldCase(name);
        const names = alike.get(key);
        if (names) names.push(name);
        else alike.set(key, [name]);
      });
    for (const key of new Set(added.map(({ name }) => foldCase(name)))) {
      if (pace.isDue) await pace.yield();
      const names = alike.get(key) ?? [];
      const found = names.length > 1 ? await clash(names, prefix) : null;
      if (found) return found;
    }
    for (const { name, new: entry } of changes) {
      if (entry?.mode !== modes.tree) continue;
      const below: (Oid | null)[] = [];
      for (const side of sides) {
        const there = (await read(side)).find(name);
        below.push(there?.mode === modes.tree ? there.oid : null);
      }
      const found = await walk(entry.oid, below, `${prefix}${name}/`);
      if (found) return found;
    }
    return null;
  };
  return walk(result, trees.slice(0, near), '');
}
