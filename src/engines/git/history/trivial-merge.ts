import type { MergedTree, Oid, TreeEntry } from '../../../ports/git-records.ts';
import { rawLength } from '../objects/object-id.ts';
import type { PendingObjects } from '../objects/pending-objects.ts';
import { modes, Tree } from '../objects/tree-codec.ts';

/** The tree of a merge that no process made: it is stored with the commit that names it. */
export class PendingMerge implements MergedTree {
  readonly oid: Oid;
  readonly objects: PendingObjects;

  constructor(oid: Oid, objects: PendingObjects) {
    this.oid = oid;
    this.objects = objects;
  }
}

interface Sides<T> {
  base: T;
  current: T;
  incoming: T;
}

/** With more names of one directory changed on a side, git merges in a process of its own: a tree is edited without a pause. */
const mostChanges = 2_000;

/**
 * Merges three trees where no path was changed on both sides, unless in the same way (git's "trivial merge"); new trees go into `objects`.
 * What git does beyond that, finding renames, can come to another result only where a path that is gone on one side was touched on the
 * other, or is gone on both.
 * @returns null for everything else: git has to say
 */
export async function trivialMerge(
  objects: PendingObjects,
  sides: Sides<Oid | null>,
): Promise<{ tree: Oid | null } | null> {
  const [base, current, incoming] = await Promise.all(
    [sides.base, sides.current, sides.incoming].map((oid) =>
      oid === null ? Tree.empty(rawLength[objects.format]) : objects.tree(oid),
    ),
  );
  if (!base || !current || !incoming) return null;
  const ours = await current.changesFrom(base, mostChanges);
  const others = await incoming.changesFrom(base, mostChanges);
  if (!ours || !others) return null;
  const here = new Map(ours.map((change) => [change.name, change]));
  const edits = new Map<string, TreeEntry | null>();
  for (const change of others) {
    const { name, old, new: theirs } = change;
    // A name that is no UTF-8 could not be written back.
    if (name.includes('\ufffd')) return null;
    const mine = here.get(name);
    if (!mine) {
      edits.set(name, theirs);
      continue;
    }
    const merged = await mergeEntry(objects, { base: old, current: mine.new, incoming: theirs });
    if (!merged) return null;
    if (merged.entry?.oid !== mine.new?.oid || merged.entry?.mode !== mine.new?.mode) edits.set(name, merged.entry);
  }
  if (edits.size === 0) return { tree: sides.current };
  const edited = current.edit(edits);
  if (edited.size === 0) return { tree: null };
  return { tree: objects.addTree(edited) };
}

/** An entry both sides have changed. */
async function mergeEntry(
  objects: PendingObjects,
  { base, current, incoming }: Sides<TreeEntry | null>,
): Promise<{ entry: TreeEntry | null } | null> {
  const isTree = (entry: TreeEntry | null) => entry?.mode === modes.tree;
  if (current === null || incoming === null) return null;
  if (isTree(current) && isTree(incoming) && (base === null || isTree(base))) {
    const sides = { base: base?.oid ?? null, current: current.oid, incoming: incoming.oid };
    const merged = await trivialMerge(objects, sides);
    return merged && { entry: merged.tree === null ? null : { ...current, oid: merged.tree } };
  }
  return current.oid === incoming.oid && current.mode === incoming.mode && !isTree(base) ? { entry: current } : null;
}
