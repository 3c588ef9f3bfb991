import { hash } from 'node:crypto';
import type { UrlKind } from './crawl-url.entity.ts';

/** The rule by which a URL is skipped; `exclude[3]` and the like name the pattern. */
type SkipRule = string;

/** A URL on its way into the frontier. */
export interface UrlDraft {
  url: string;
  kind: UrlKind;
  is_entry: boolean;
  follows: boolean;
  depth: number;
  priority: number;
  hop: number;
  level: number;
  parent_id: number | null;
  /** Null: it is to be fetched. */
  rule: SkipRule | null;
}

/** Order within a depth: sitemaps before pages, which lead on, and assets last. */
export const priorities: Record<UrlKind, number> = { sitemap: 0, page: 1, asset: 2 };

/** SHA-256 of a normalised URL, the name it has in frontier and snapshots. */
export const urlHash = (url: string): Buffer => hash('sha256', url, 'buffer');

/** Host of a normalised URL, with its port when that is not the scheme's own. */
export function hostOfUrl(url: string): string {
  const start = url.indexOf('//') + 2;
  for (let at = start; at < url.length; at += 1) {
    const character = url[at];
    if (character === '/' || character === '?') return url.slice(start, at);
  }
  return url.slice(start);
}

/** Keys of links, one after the other, each the first eight bytes of the hash of its URL: enough to distinguish the URLs of one run. */
export type LinkKeys = Uint8Array;

export const keyBytes = 8;
export const noKeys: LinkKeys = new Uint8Array();

/** A key as two signed numbers of 32 bits, which are compared without an allocation. */
export interface LinkKey {
  high: number;
  low: number;
}

/** Reads keys: the halves of one are four bytes each, the high one first. */
export const viewOf = (keys: Uint8Array): DataView => new DataView(keys.buffer, keys.byteOffset, keys.byteLength);

/** @param hash of a URL */
export function linkKey(hash: Uint8Array): LinkKey {
  const view = viewOf(hash);
  return { high: view.getInt32(0), low: view.getInt32(4) };
}

export function packKeys(keys: Iterable<LinkKey>): LinkKeys {
  const all = [...keys];
  const packed = Buffer.allocUnsafe(all.length * keyBytes);
  let at = 0;
  for (const { high, low } of all) at = packed.writeInt32BE(low, packed.writeInt32BE(high, at));
  return packed;
}
