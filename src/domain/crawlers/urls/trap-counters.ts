const prime = 16_777_619;

/** 53 bits of a text, of two FNV-1a hashes that begin differently: enough to distinguish the members of small sets. */
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

/** Traps that only show in what a run has met so far. */
const trapBounds = { variants: 1_000, copies: 50 };

/** Hashes kept by each counter: some 10 MB at most. */
const capacity = 200_000;

/** The path a query hangs on, with its host; null for URLs without a query. */
function variantOf(url: string): { path: string; query: string } | null {
  const at = url.indexOf('?');
  return at === -1 ? null : { path: url.slice(0, at), query: url.slice(at + 1) };
}

/**
 * `query_fanout`: no more than 1,000 query variants of one path are taken. Kept by the run's process and made again from the URLs of
 * its frontier by calling `admits` with each.
 */
export class QueryFanout {
  readonly #variants = new KeyedSets(capacity);
  readonly #limit: number;

  constructor(limit = trapBounds.variants) {
    this.#limit = limit;
  }

  /** Whether a URL may be taken; the same answer for the same URL, however often it is found. */
  admits(url: string): boolean {
    const variant = variantOf(url);
    return variant === null || this.#variants.addWithin(variant.path, variant.query, this.#limit);
  }
}

/**
 * `same_content`: once more than 50 query variants of a path gave the very same body, its other variants are left out. Made again by
 * calling `add` with each captured URL that has a query, and its hash.
 */
export class SameContent {
  readonly #copies = new KeyedSets(capacity);
  readonly #trapped = new Set<string>();

  /** Takes note of a captured body. @returns whether this one has made its path a trap */
  add(url: string, sha256: string): boolean {
    const variant = variantOf(url);
    if (variant === null || this.#trapped.has(variant.path)) return false;
    if (this.#copies.addWithin(`${variant.path} ${sha256}`, variant.query, trapBounds.copies)) return false;
    if (this.#trapped.size < capacity) this.#trapped.add(variant.path);
    return true;
  }

  /** Whether a URL that was not fetched yet may be taken. */
  admits(url: string): boolean {
    const variant = variantOf(url);
    return variant === null || !this.#trapped.has(variant.path);
  }
}
