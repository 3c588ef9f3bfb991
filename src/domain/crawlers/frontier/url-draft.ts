import { hash } from 'node:crypto';
import type { UrlKind } from './crawl-url.entity.ts';

/** The rule by which a URL is skipped; `exclude[3]` and the like name the pattern. */
export type SkipRule = string;

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
