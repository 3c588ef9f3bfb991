import { z } from 'zod';
import { timestamp } from '../../../shapes.ts';
import { importStates } from '../snapshot.entity.ts';

const skippedFile = z
  .object({
    path: z.string().describe('Relative to the directory'),
    url: z.string().nullable(),
    reason: z
      .enum(['not_imported', 'edited', 'too_large', 'blocked'])
      .describe('not_imported: somebody else’s file is there; edited: since it was imported'),
  })
  .meta({ id: 'SkippedFile' });

export const snapshotImport = z
  .object({
    id: z.int32(),
    snapshot_id: z.int32().nullable().describe('Null once it was deleted'),
    state: z.enum(importStates),
    branch: z.string(),
    directory: z.string(),
    mode: z.enum(['mirror', 'add']),
    rewrite_links: z.boolean(),
    commit: z.string().nullable().describe('Null when nothing was different'),
    added: z.int32(),
    changed: z.int32(),
    removed: z.int32(),
    skipped: z.array(skippedFile),
    error: z.string().nullable(),
    created_at: timestamp,
    completed_at: timestamp.nullable(),
  })
  .meta({ id: 'SnapshotImport' });
