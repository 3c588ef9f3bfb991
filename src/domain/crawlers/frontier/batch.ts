import type { StopRequest } from '../runs/crawler-run.entity.ts';
import type { RunCounts } from '../runs/run-counts.ts';
import type { LogLine } from '../runs/run-feed.ts';
import type { UrlKind } from './crawl-url.entity.ts';
import type { LeasedUrl } from './lease.ts';
import type { Outcome } from './outcome.ts';
import type { FrontierStatistics } from './statistics.ts';

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
 * URLs that may be leased as far as HTML pages are limited, if all leased URLs turn out to be pages. Once all are captured no
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
  // Leased URLs may yet be put back without a request.
  if (max_hits > 0 && hits >= max_hits && leased === 0) return { rule: 'max_hits' };
  if (max_html > 0 && html >= max_html) return { rule: 'max_html', kind: 'page' };
  return null;
}

/** A run as its worker addresses it. */
export interface RunHandle {
  id: number;
  project_id: number;
  epoch: number;
  snapshot_id: number;
  /** The newest sealed snapshot when the run began; null: no snapshot. */
  base_id: number | null;
}

/** The input of one batch. */
export interface BatchInput {
  run: RunHandle;
  statistics: FrontierStatistics;
  budget: Budget;
  outcomes: readonly Outcome[];
  /** URLs that may be claimed; 0: nothing is. */
  want: number;
  /** Seconds between starts a host is configured for. */
  delayOf(host: string): number;
  isDown(host: string): boolean;
  log: readonly LogLine[];
  /** Requests a second. */
  rate: number;
}

/** A leased URL, and when it may be fetched. */
export interface Slot {
  of: LeasedUrl;
  /** Milliseconds on the database's clock; 0: at once. */
  start: number;
  /** Milliseconds between starts on its host. */
  gap: number;
}

/** What a batch has changed. */
export interface BatchResult {
  counts: RunCounts;
  slots: Slot[];
  stop: StopRequest | null;
  /** Hosts that are paused or slowed down: their leased URLs are put back. */
  held: Set<string>;
  /** Milliseconds until the first host with waiting URLs is free; null: one is free now. */
  wait: number | null;
  /** Hosts given up in this batch. */
  down: string[];
}
