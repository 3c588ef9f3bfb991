/** Items of one chunk after it was split; a chunk holds twice as many at most. */
const chunkSize = 128;

/**
 * An immutable list in ascending order of unique keys (compared as JavaScript compares strings). A changed list shares all chunks in which
 * nothing changed with the list before, so a change takes as long, and as much memory, for 100,000 items as for 1,000, nearly.
 */
export class SortedList<T> {
  readonly #keyOf: (item: T) => string;
  /** None is empty, but the only one of an empty list. */
  readonly #chunks: readonly (readonly T[])[];
  readonly size: number;
  #array: readonly T[] | undefined;

  private constructor(keyOf: (item: T) => string, chunks: readonly (readonly T[])[]) {
    this.#keyOf = keyOf;
    this.#chunks = chunks.length > 0 ? chunks : [[]];
    this.size = chunks.reduce((size, chunk) => size + chunk.length, 0);
  }

  /** @param items in order of their keys */
  static of<T>(items: readonly T[], keyOf: (item: T) => string): SortedList<T> {
    return new SortedList(keyOf, split(items));
  }

  /** The item with a key. */
  get(key: string): T | undefined {
    const chunk = this.#chunks[this.#chunkOf(key)] ?? [];
    const item = chunk[this.#lowerBound(chunk, key)];
    return item !== undefined && this.#keyOf(item) === key ? item : undefined;
  }

  /** The items from a key on, whether one has it or not. */
  *from(key: string): Generator<T> {
    let at = this.#chunkOf(key);
    let start = this.#lowerBound(this.#chunks[at] ?? [], key);
    for (; at < this.#chunks.length; at += 1, start = 0) {
      const chunk = this.#chunks[at] ?? [];
      for (let index = start; index < chunk.length; index += 1) yield chunk[index] as T;
    }
  }

  /** The list with other items at some keys; null: none. */
  with(changes: ReadonlyMap<string, T | null>): SortedList<T> {
    const byChunk = Map.groupBy(changes, ([key]) => this.#chunkOf(key));
    const chunks = this.#chunks.flatMap((chunk, at) => {
      const own = byChunk.get(at);
      return own ? split(this.#edit(chunk, own)) : [chunk];
    });
    return new SortedList(this.#keyOf, chunks);
  }

  /** All items as one array: made at the first call, and the same one afterwards. */
  toArray(): readonly T[] {
    this.#array ??= this.#chunks.flat();
    return this.#array;
  }

  #edit(chunk: readonly T[], changes: readonly (readonly [string, T | null])[]): T[] {
    const edited = [...chunk];
    for (const [key, item] of changes) {
      const at = this.#lowerBound(edited, key);
      const held = edited[at];
      const isThere = held !== undefined && this.#keyOf(held) === key;
      edited.splice(at, isThere ? 1 : 0, ...(item === null ? [] : [item]));
    }
    return edited;
  }

  /** The chunk a key is in, or would be: the last one that begins with it or before it. */
  #chunkOf(key: string): number {
    let [low, high] = [0, this.#chunks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      const first = this.#chunks[middle]?.[0];
      if (first === undefined || this.#keyOf(first) > key) high = middle - 1;
      else low = middle;
    }
    return low;
  }

  #lowerBound(chunk: readonly T[], key: string): number {
    let [low, high] = [0, chunk.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#keyOf(chunk[middle] as T) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Items in chunks; one that fits is left as it is. */
function split<T>(items: readonly T[]): (readonly T[])[] {
  if (items.length === 0) return [];
  if (items.length <= 2 * chunkSize) return [items];
  return Array.from({ length: Math.ceil(items.length / chunkSize) }, (_, at) =>
    items.slice(at * chunkSize, (at + 1) * chunkSize),
  );
}
