import type { SnapshotCheck } from '../snapshot.entity.ts';
import type { Collisions } from './collisions.ts';

/** What sealing needs to know of a run that ends. */
export interface EndedRun {
  id: number;
  crawler_id: number;
  /** Null when the run ended before it had one. */
  snapshot_id: number | null;
  mode: 'full' | 'list' | 'partial';
  status: 'completed' | 'stopped' | 'canceled' | 'failed';
  /** Scheme and host the run settled on. */
  origin: string | null;
  settings: {
    start_urls: readonly string[];
    urls: readonly string[];
    status_ok: readonly number[];
    allowed_domains: readonly string[];
    publish: { auto: boolean; max_lost_percent: number; max_error_percent: number };
  };
}

/** What became of a run's snapshot. */
export interface SealedSnapshot {
  id: number;
  state: 'ready' | 'held' | 'partial';
  /** Whether it is the live copy now. */
  published: boolean;
  /** What it was looked over for. */
  checks: readonly SnapshotCheck[];
  /** Captured URLs of any kind that the snapshot it is compared with has and it lacks; 0 unless the run completed. */
  removed: number;
  collisions: Collisions;
}
