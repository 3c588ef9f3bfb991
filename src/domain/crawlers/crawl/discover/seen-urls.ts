import type { UrlKind } from '../../frontier/crawl-url.entity.ts';
import { linkKey } from '../../frontier/link-keys.ts';
import { urlHash } from '../../frontier/url-draft.ts';
import { Generations } from './generations.ts';

/** What a run remembers of a URL it has come across. */
export interface Seen {
  key: bigint;
  /** Least depth it was found at, by kind; absent: it was not found as such. */
  page?: number;
  asset?: number;
  sitemap?: number;
}

/**
 * The URLs a run came across lately, so that what every page links to is decided, hashed and written once. It forgets those that were not
 * met for long: the frontier itself knows them all.
 */
export class SeenUrls {
  readonly #byKey = new Generations<bigint, Seen>();
  /** Those whose keys took a hash to find. */
  readonly #byUrl = new Generations<string, Seen>();

  /** What is remembered of a URL; one that is not begins anew. @param key of the URL, where it is known */
  of(url: string, key?: bigint): Seen {
    if (key !== undefined) return this.#keyed(key);
    const known = this.#byUrl.get(url);
    if (known) return known;
    const seen = this.#keyed(linkKey(urlHash(url)));
    this.#byUrl.set(url, seen);
    return seen;
  }

  /** Whether this way to a URL is no better than one before. */
  isKnown(key: bigint, kind: UrlKind, depth: number): boolean {
    const before = this.#byKey.get(key)?.[kind];
    return before !== undefined && before <= depth;
  }

  #keyed(key: bigint): Seen {
    const known = this.#byKey.get(key);
    if (known) return known;
    const seen: Seen = { key };
    this.#byKey.set(key, seen);
    return seen;
  }
}

/** @returns whether this way to a URL is new, or shorter than all before */
export function noteWay(seen: Seen, kind: UrlKind, depth: number): boolean {
  const before = seen[kind];
  if (before !== undefined && before <= depth) return false;
  seen[kind] = depth;
  return true;
}
