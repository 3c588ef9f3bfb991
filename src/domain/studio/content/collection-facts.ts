import { LRUCache } from 'lru-cache';
import type { Repository } from '../../ports/git.ts';
import type { Snapshot } from '../../ports/git-records.ts';
import type { CollectionIndex, IndexedEntry } from './collection-index.ts';
import { type EntryFacts, unreadable } from './entry-facts.ts';
import type { FactStore } from './stored/fact-store.ts';

interface Known {
  entries: readonly IndexedEntry[];
  facts: readonly EntryFacts[];
}

/** The facts of all entries of a collection as lists show them, kept as long as its index is: what they sort and filter by. */
export class CollectionFacts {
  readonly #store: FactStore;
  readonly #lists = new WeakMap<readonly IndexedEntry[], Promise<readonly EntryFacts[]>>();
  readonly #latest = new LRUCache<string, Known>({ max: 16 });

  constructor(store: FactStore) {
    this.#store = store;
  }

  of(git: Repository, snapshot: Snapshot, index: CollectionIndex): Promise<readonly EntryFacts[]> {
    const known = this.#lists.get(index.entries);
    if (known) return known;
    const made = this.#make(git, snapshot, index);
    this.#lists.set(index.entries, made);
    const forget = () => this.#lists.delete(index.entries);
    // An object that is damaged now may come back.
    made.then((facts) => facts.includes(unreadable) && forget(), forget);
    return made;
  }

  async #make(
    git: Repository,
    snapshot: Snapshot,
    { schema, entries }: CollectionIndex,
  ): Promise<readonly EntryFacts[]> {
    const key = `${git.id}:${schema.collection}`;
    const latest = this.#latest.get(key);
    const facts = entries.map((entry, at) => (latest?.entries[at] === entry ? latest.facts[at] : undefined));
    const missing = facts.flatMap((fact, at) => (fact ? [] : [at]));
    const places = missing.flatMap((at) => entries[at] ?? []);
    for (const [at, read] of (await this.#store.listed(git, snapshot, places)).entries())
      facts[missing[at] ?? 0] = read;
    const whole = facts as EntryFacts[];
    if (!whole.includes(unreadable)) this.#latest.set(key, { entries, facts: whole });
    return whole;
  }
}
