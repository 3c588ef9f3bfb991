import type { UrlKind } from '../../frontier/crawl-url.entity.ts';

/** What a run remembers of a URL it has come across. */
export interface Seen {
  key: bigint;
  /** Least depth it was found at, by kind; absent: it was not found as such. */
  page?: number;
  asset?: number;
  sitemap?: number;
}

/** Half of what is remembered. */
const generation = 30_000;

/**
 * The URLs a run came across lately, so that what every page links to is decided, hashed and written once. It forgets those that were not
 * met for long: the frontier itself knows them all.
 */
export class SeenUrls {
  #young = new Map<string, Seen>();
  #old = new Map<string, Seen>();

  get(url: string): Seen | undefined {
    const young = this.#young.get(url);
    if (young) return young;
    const old = this.#old.get(url);
    if (old) this.#keep(url, old);
    return old;
  }

  /** @returns whether this way to the URL is new, or shorter than all before */
  note(url: string, seen: Seen, kind: UrlKind, depth: number): boolean {
    const before = seen[kind];
    if (before !== undefined && before <= depth) return false;
    seen[kind] = depth;
    this.#keep(url, seen);
    return true;
  }

  /** What was told of the URLs met since then may never have been written. */
  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
  }

  #keep(url: string, seen: Seen): void {
    if (this.#young.size >= generation) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(url, seen);
  }
}
