import { z } from 'zod';
import { timestamp } from '../../../kernel/shapes.ts';
import { previewLink } from '../../studio/previews/preview-link.ts';
import { crawlerName } from '../config/crawler.schema.ts';
import { pageKind } from '../runs/runs.schema.ts';
import { snapshotStates } from './snapshot.entity.ts';

/** How one snapshot is named in paths. */
export const snapshotNumber = { ...crawlerName, snapshot: z.int32().min(1, 'must be at least 1') };

const snapshotCheck = z
  .object({
    name: z.enum(['home', 'not_empty', 'lost_pages', 'errors']),
    passed: z.boolean(),
    detail: z.string(),
    found: z.int32().optional().describe('What was counted'),
    limit: z.int32().optional().describe('How much of it there may be'),
  })
  .meta({ id: 'SnapshotCheck' });

export const snapshot = z
  .object({
    id: z.int32(),
    crawler_id: z.int32(),
    run_id: z.int32(),
    state: z.enum(snapshotStates),
    host: z.string(),
    origin: z.string().describe('Scheme and host that were crawled'),
    base_id: z
      .int32()
      .nullable()
      .describe(
        'The newest snapshot when its run began, with which it was compared; null when there was none, or it has gone',
      ),
    published: z.boolean().describe('It is the live copy'),
    pinned: z.boolean().describe('It is kept whatever its age'),
    note: z.string().nullable(),
    checks: z.array(snapshotCheck).describe('What it was looked over for before it could be published'),
    pages: z.int32().describe('Captured HTML pages'),
    assets: z.int32().describe('Captured contents that are neither HTML pages nor sitemaps'),
    bytes: z.int().describe('Size of its contents, each counted once'),
    sealed_at: timestamp.nullable(),
    published_at: timestamp.nullable().describe('When it was last made the live copy'),
    created_at: timestamp,
    preview: previewLink.nullable().optional().describe('Opens this snapshot; only in the answer for one snapshot'),
    live_preview: previewLink
      .nullable()
      .optional()
      .describe('Opens the live copy, when this is it; only in the answer for one snapshot'),
  })
  .meta({ id: 'Snapshot' });

export const snapshotEntry = z
  .object({
    url: z.string(),
    kind: pageKind,
    http_status: z.int32(),
    content_type: z.string().nullable(),
    charset: z.string().nullable(),
    headers: z.record(z.string(), z.string()).nullable(),
    sha256: z.string().nullable().describe('Of the content; null for a redirect'),
    bytes: z.int(),
    redirect_to: z.string().nullable(),
    etag: z.string().nullable(),
    last_modified: z.string().nullable(),
    first_seen_run: z.int32().describe('The first run that found this content here'),
    fetched_at: timestamp,
  })
  .meta({ id: 'SnapshotEntry' });

const side = z
  .object({
    http_status: z.int32(),
    content_type: z.string().nullable(),
    sha256: z.string().nullable(),
    bytes: z.int(),
    redirect_to: z.string().nullable(),
  })
  .meta({ id: 'SnapshotDifferenceSide' });

export const snapshotDifference = z
  .object({
    url: z.string(),
    kind: pageKind,
    change: z.enum(['added', 'changed', 'removed']),
    base: side.nullable().describe('Null when it was added'),
    head: side.nullable().describe('Null when it was removed'),
  })
  .meta({ id: 'SnapshotDifference' });
