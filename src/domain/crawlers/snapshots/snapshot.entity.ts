import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const snapshotStates = ['building', 'ready', 'held', 'partial', 'expired'] as const;

export type SnapshotState = (typeof snapshotStates)[number];

/** One thing a snapshot was looked at for before it may be published, with the numbers that decided. */
export interface SnapshotCheck {
  name: 'home' | 'not_empty' | 'lost_pages' | 'errors';
  passed: boolean;
  /** In words for people. */
  detail: string;
  /** What was counted, and how much of it there may be; absent where nothing is counted. */
  found?: number;
  limit?: number;
}

/** Every scheme and host a snapshot has entries of, in order of precedence where two addresses are the same. */
export interface SnapshotOrigins {
  /** Where the site begins: the first start URL, or the root. */
  home: string;
  /** Origins that share one tree: the primary host, its sibling, and those of `allowed_domains`. */
  tree: string[];
  /** Origins with a tree of their own. */
  others: string[];
}

/** What one run captured. Once sealed only `state` (to expired), `pinned`, `note` and `published_at` change. */
export const CrawlSnapshot = defineEntity({
  name: 'CrawlSnapshot',
  tableName: 'snapshot',
  properties: {
    id: p.integer().primary().autoincrement(),
    crawler_id: p.integer(),
    run_id: p.integer(),
    state: p.text().$type<SnapshotState>(),
    /** Primary host, with its port when it is not the scheme's own. */
    host: p.text(),
    /** Scheme and host the run settled on. */
    origin: p.text(),
    /** Null until it is sealed. */
    origins: p.json<SnapshotOrigins>().nullable(),
    /** The newest sealed snapshot when the run began: whose validators it used, and what it is compared with. */
    base_id: p.integer().nullable(),
    pinned: p.boolean().default(false),
    note: p.text().nullable(),
    /** Null until it is sealed. */
    checks: p.json<SnapshotCheck[]>().nullable(),
    /** Captured HTML pages. */
    pages: p.integer().default(0),
    /** Captured contents that are neither HTML pages nor sitemaps. */
    assets: p.integer().default(0),
    /** Bytes of all captured contents as they are stored, the same content counted once. */
    bytes: p.bigint('number').defaultRaw('0'),
    sealed_at: p.datetime(3).nullable(),
    /** When it was last made the live copy; null when it never was. */
    published_at: p.datetime(3).nullable(),
    created_at: p.datetime(3),
  },
});
export type CrawlSnapshot = InferEntity<typeof CrawlSnapshot>;

export const importStates = ['queued', 'running', 'completed', 'failed'] as const;
export type ImportState = (typeof importStates)[number];

/** A file an import did not write or remove, and why. */
export interface SkippedFile {
  path: string;
  url: string | null;
  reason: 'not_imported' | 'edited' | 'too_large' | 'blocked';
}

/** The request of an import. */
export interface ImportRequest {
  branch: string;
  directory: string;
  message: string | null;
  mode: 'mirror' | 'add';
  rewrite_links: boolean;
  expected_head: string | null;
}

/** One copying of a snapshot into a branch. */
export const SnapshotImport = defineEntity({
  name: 'SnapshotImport',
  tableName: 'snapshot_import',
  properties: {
    id: p.integer().primary().autoincrement(),
    snapshot_id: p.integer(),
    crawler_id: p.integer(),
    state: p.text().$type<ImportState>(),
    /** Counts the processes that have taken it up. */
    attempt: p.integer().default(0),
    request: p.json<ImportRequest>(),
    /** Author of the commit. */
    actor: p.json<{ id: string; name: string; email: string }>(),
    commit_sha: p.text().nullable(),
    added: p.integer().default(0),
    changed: p.integer().default(0),
    removed: p.integer().default(0),
    skipped: p.json<SkippedFile[]>(),
    error: p.text().nullable(),
    created_at: p.datetime(3),
    completed_at: p.datetime(3).nullable(),
  },
});
export type SnapshotImport = InferEntity<typeof SnapshotImport>;
