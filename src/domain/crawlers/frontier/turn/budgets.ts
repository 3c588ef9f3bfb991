import type { RunCounts } from '../../runs/run-counts.ts';
import type { UrlKind } from '../crawl-url.entity.ts';

/** What a run may use up. */
export interface Budget {
  /** Requests; 0: no limit. */
  max_hits: number;
  /** Captured HTML pages; 0: no limit. */
  max_html: number;
  max_errors: number;
  /** Link hops; -1: no limit of the crawler's. */
  depth: number;
}

/**
 * URLs that may be leased as far as HTML pages are limited, when those that are leased may all turn out to be such. Once all are captured no
 * page waits any more, and their assets are not limited.
 */
export const htmlLeft = ({ max_html }: Budget, { html }: RunCounts, leasedPages: number): number =>
  max_html === 0 || html >= max_html ? Number.MAX_SAFE_INTEGER : Math.max(0, max_html - html - leasedPages);

/**
 * The limit that is reached, with what still waits to be left out by it.
 * @param hits requests that may have been on the wire
 */
export function spent(
  { max_hits, max_html }: Budget,
  { html, leased }: RunCounts,
  hits: number,
): { rule: 'max_hits' | 'max_html'; kind?: UrlKind } | null {
  // What is leased may yet be put back unasked.
  if (max_hits > 0 && hits >= max_hits && leased === 0) return { rule: 'max_hits' };
  if (max_html > 0 && html >= max_html) return { rule: 'max_html', kind: 'page' };
  return null;
}
