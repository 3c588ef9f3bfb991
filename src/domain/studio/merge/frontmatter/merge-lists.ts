import { pointerTo } from '../../frontmatter/values.ts';
import { identityOf } from './list-kind.ts';
import type { Walk } from './walk.ts';

interface Lists {
  base: readonly unknown[];
  current: readonly unknown[];
  incoming: readonly unknown[];
}

/** `(base − removed) ∪ added`, in current's order, then incoming's. */
export function mergeSets(
  base: readonly unknown[],
  current: readonly unknown[],
  incoming: readonly unknown[],
): unknown[] {
  const [was, ours, theirs] = [new Set(base), new Set(current), new Set(incoming)];
  return [
    ...current.filter((item) => theirs.has(item) || !was.has(item)),
    ...incoming.filter((item) => !ours.has(item) && !was.has(item)),
  ];
}

/**
 * Merges lists of maps item by item. The order is current's, unless only incoming moved items; what only the other side has
 * follows what it followed there. Pointers count items as in base, those that both sides added after them by their identity:
 * so they are the same whichever side is current.
 */
export function mergeItems(walk: Walk, pointer: string, key: string, lists: Lists): unknown[] {
  const byIdentity = (list: readonly unknown[]) => new Map(list.map((item) => [identityOf(item, key) ?? '', item]));
  const [base, current, incoming] = [byIdentity(lists.base), byIdentity(lists.current), byIdentity(lists.incoming)];
  const added = new Set([...current.keys(), ...incoming.keys()].filter((id) => !base.has(id)));
  const positions = new Map([...base.keys(), ...[...added].sort()].map((id, at) => [id, at]));
  const before = walk.clashes.length;
  const inner: Walk = { ...walk, resolved: [] };
  const incomingLeads = !moved(base, current) && moved(base, incoming);
  const order = incomingLeads ? interleave(base, incoming, current) : interleave(base, current, incoming);
  const merged = order.map((id) =>
    inner.mergeValue(inner, pointerTo(pointer, positions.get(id) ?? 0), {
      base: base.get(id),
      current: current.get(id),
      incoming: incoming.get(id),
    }),
  );
  if (walk.clashes.length === before) walk.resolved.push(pointer);
  else walk.resolved.push(...inner.resolved);
  return merged.filter((item) => item !== undefined);
}

type Items = ReadonlyMap<string, unknown>;

/** Whether items that were there already stand in another order. */
function moved(base: Items, side: Items): boolean {
  const kept = [...side.keys()].filter((id) => base.has(id));
  const was = [...base.keys()].filter((id) => side.has(id));
  return kept.some((id, at) => id !== was[at]);
}

/** All identities in the order of `lead`; those only `other` has come after their neighbour there and what `lead` added to it. */
function interleave(base: Items, lead: Items, other: Items): string[] {
  const followers = new Map<string | undefined, string[]>();
  let neighbour: string | undefined;
  for (const id of other.keys()) {
    if (lead.has(id)) neighbour = id;
    else if (followers.get(neighbour)?.push(id) === undefined) followers.set(neighbour, [id]);
  }
  const order: string[] = [];
  let waiting = followers.get(undefined) ?? [];
  for (const id of lead.keys()) {
    if (base.has(id) || other.has(id)) {
      order.push(...waiting);
      waiting = [];
    }
    order.push(id);
    waiting.push(...(followers.get(id) ?? []));
  }
  return [...order, ...waiting];
}
