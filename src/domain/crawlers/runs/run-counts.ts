/** Responses of one status or media type. */
export interface Tally {
  count: number;
  /** Decoded. */
  bytes: number;
}

/** What a run has done, kept on its row by the very transactions that change the rows counted. */
export interface RunCounts {
  /** Requests that are done; robots.txt is none. */
  requests: number;
  html: number;
  assets: number;
  captured: number;
  unchanged_304: number;
  unchanged_hash: number;
  new: number;
  changed: number;
  removed: number;
  redirects: number;
  /** 404 and 410. */
  broken: number;
  errors: number;
  retries: number;
  skipped_robots: number;
  skipped_filter: number;
  skipped_scope: number;
  skipped_trap: number;
  skipped_limit: number;
  pending: number;
  leased: number;
  bytes_wire: number;
  bytes_stored: number;
  by_status: Record<string, Tally>;
  by_type: Record<string, Tally>;
}

/** @returns the counters of a run that has done nothing yet */
export const noCounts = (): RunCounts => ({
  requests: 0,
  html: 0,
  assets: 0,
  captured: 0,
  unchanged_304: 0,
  unchanged_hash: 0,
  new: 0,
  changed: 0,
  removed: 0,
  redirects: 0,
  broken: 0,
  errors: 0,
  retries: 0,
  skipped_robots: 0,
  skipped_filter: 0,
  skipped_scope: 0,
  skipped_trap: 0,
  skipped_limit: 0,
  pending: 0,
  leased: 0,
  bytes_wire: 0,
  bytes_stored: 0,
  by_status: {},
  by_type: {},
});
