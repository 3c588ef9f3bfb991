import { LRUCache } from 'lru-cache';
import type { IndexedEntry } from './collection-index.ts';

/** The order of a list at one tree, and all entries it was chosen from, in order of their paths. */
export interface ListOrder {
  entries: readonly IndexedEntry[];
  ordered: readonly IndexedEntry[];
}

/** A list at a tree. */
export interface ListAt {
  /** Names everything that decides what is shown and how it is ordered, but for the files. */
  list: string;
  /** Of the directory the entries are in. */
  tree: string | null;
  entries: readonly IndexedEntry[];
}

/** Orders of lists by their trees, and the last one of each list to go on from. */
export class ListOrders {
  readonly #trees = new LRUCache<string, Promise<ListOrder['ordered']>>({ max: 256 });
  readonly #latest = new LRUCache<string, ListOrder>({ max: 64 });

  /**
   * An order, computed once.
   * @param compute is given the order at a tree before, if one is known
   * @param isWhole whether what has been computed by now may be kept
   */
  of(
    { list, tree, entries }: ListAt,
    compute: (before: ListOrder | undefined) => Promise<ListOrder['ordered']>,
    isWhole: () => boolean,
  ): Promise<ListOrder['ordered']> {
    const key = `${list}:${tree ?? ''}`;
    const known = this.#trees.get(key);
    if (known) return known;
    const made = compute(this.#latest.get(list));
    this.#trees.set(key, made);
    const forget = () => this.#trees.delete(key);
    made.then((ordered) => (isWhole() ? this.#latest.set(list, { entries, ordered }) : forget()), forget);
    return made;
  }
}
