import type { StopRequest } from '../../runs/crawler-run.entity.ts';
import type { RunCounts } from '../../runs/run-counts.ts';
import type { LogLine } from '../../runs/run-feed.ts';
import type { Census } from '../census.ts';
import type { ClaimedUrl } from '../claim.ts';
import type { Outcome } from '../outcome.ts';
import type { Budget } from './budgets.ts';

/** The run as whoever works on it knows it. */
export interface RunHandle {
  id: number;
  project_id: number;
  epoch: number;
  snapshot_id: number;
  /** The newest sealed snapshot when the run began; null: there was none. */
  base_id: number | null;
}

/** What one turn is given. */
export interface TurnInput {
  run: RunHandle;
  census: Census;
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

/** A leased URL, and when it may be asked for. */
export interface Slot {
  of: ClaimedUrl;
  /** Milliseconds on the database's clock; 0: at once. */
  start: number;
  /** Milliseconds between starts on its host. */
  gap: number;
}

/** What a turn has changed. */
export interface TurnResult {
  counts: RunCounts;
  slots: Slot[];
  stop: StopRequest | null;
  /** Hosts that are not to be asked just now, or slower: what is leased of them goes back. */
  held: Set<string>;
  /** Milliseconds until a host that waits may be asked again; null: some may be asked now. */
  wait: number | null;
  /** Hosts given up in this turn. */
  down: string[];
}
