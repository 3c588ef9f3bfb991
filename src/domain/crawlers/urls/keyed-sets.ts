const prime = 16_777_619;

/** 53 bits of a text, of two FNV-1a hashes that begin differently: enough to tell the members of small sets apart. */
function hashOf(text: string): number {
  let [high, low] = [0x811c9dc5, 0x01000193];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    high = Math.imul(high ^ code, prime);
    low = Math.imul(low ^ (code + at), prime);
  }
  return (high & 0x1fffff) * 2 ** 32 + (low >>> 0);
}

/** Small sets of texts by key, which together keep no more than so many hashes: the key that was longest without use is forgotten. */
export class KeyedSets {
  /** In the order of last use. */
  readonly #sets = new Map<string, Set<number>>();
  readonly #capacity: number;
  #size = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Adds a member unless its set is full. @returns whether it is in the set */
  addWithin(key: string, member: string, limit: number): boolean {
    const set = this.#sets.get(key) ?? new Set();
    this.#sets.delete(key);
    this.#sets.set(key, set);
    const hash = hashOf(member);
    if (set.has(hash)) return true;
    if (set.size >= limit) return false;
    set.add(hash);
    this.#size += 1;
    this.#shrink(key);
    return true;
  }

  get size(): number {
    return this.#size;
  }

  #shrink(current: string): void {
    for (const [key, set] of this.#sets) {
      if (this.#size <= this.#capacity || key === current) return;
      this.#sets.delete(key);
      this.#size -= set.size;
    }
  }
}
