import type { UrlKind } from '../../frontier/crawl-url.entity.ts';
import { type LinkKey, linkKey } from '../../frontier/link-keys.ts';
import { urlHash } from '../../frontier/url-draft.ts';
import { Generations } from './generations.ts';

/** Whether a way to a URL is no better than the best before; depths of both. */
const isReached = (before: number | undefined, depth: number): boolean => before !== undefined && before <= depth;

/** What a run remembers of a URL it has come across: its key, and by kind the least depth it was found at. */
export interface Seen extends LinkKey {
  page?: number;
  asset?: number;
  sitemap?: number;
}

/**
 * The URLs a run came across lately, so that what every page links to is decided, hashed and written once. It forgets those that were not
 * met for long: the frontier itself knows them all.
 */
export class SeenUrls {
  /** By the lower half of their keys; of those that share it, the one met first is forgotten. */
  readonly #byKey = new Generations<number, Seen>();
  /** Those whose keys took a hash to find. */
  readonly #byUrl = new Generations<string, Seen>();

  /** What is remembered of a URL; one that is not begins anew. */
  of(url: string): Seen {
    const known = this.#byUrl.get(url);
    if (known) return known;
    const { high, low } = linkKey(urlHash(url));
    const seen = this.keyed(high, low);
    this.#byUrl.set(url, seen);
    return seen;
  }

  /** The same by the halves of its key. */
  keyed(high: number, low: number): Seen {
    const known = this.#byKey.get(low);
    if (known?.high === high) return known;
    const seen: Seen = { high, low };
    this.#byKey.set(low, seen);
    return seen;
  }

  /** Whether this way to a URL is no better than one before. */
  isKnown(high: number, low: number, kind: UrlKind, depth: number): boolean {
    const seen = this.#byKey.get(low);
    return seen?.high === high && isReached(seen[kind], depth);
  }
}

/** @returns whether this way to a URL is new, or shorter than all before */
export function noteWay(seen: Seen, kind: UrlKind, depth: number): boolean {
  if (isReached(seen[kind], depth)) return false;
  seen[kind] = depth;
  return true;
}
