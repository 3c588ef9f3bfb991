import type { CollectionDescription, CollectionSchema } from './collection-schema.ts';
import { type Membership, membership } from './path-set.ts';

/**
 * Lets collections tell their entries: a file that is among the paths of several belongs to the first.
 * @param precedence names of all collections, the first one first
 * @returns the collections in the order given
 */
export function withMatches(
  collections: readonly CollectionDescription[],
  precedence: readonly string[],
): CollectionSchema[] {
  const sets = new Map(collections.map(({ collection, paths }) => [collection, membership(paths)]));
  const order = precedence.map((name): Membership => sets.get(name) ?? (() => false));
  return collections.map((description) => {
    const at = precedence.indexOf(description.collection);
    const own = order[at] ?? (() => false);
    const earlier = order.slice(0, at);
    return { ...description, matches: (path) => own(path) && !earlier.some((other) => other(path)) };
  });
}
