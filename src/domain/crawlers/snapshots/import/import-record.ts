import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { findableSnapshots } from '../find-snapshot.ts';
import type { SnapshotImport } from '../snapshot.entity.ts';
import type { snapshotImport } from './imports.schema.ts';

/** An import as callers see it. */
export async function importRecord(em: EntityManager, row: SnapshotImport): Promise<z.output<typeof snapshotImport>> {
  const snapshots = await findableSnapshots(em, [row.snapshot_id]);
  return {
    id: row.id,
    snapshot_id: snapshots.has(row.snapshot_id) ? row.snapshot_id : null,
    state: row.state,
    branch: row.request.branch,
    directory: row.request.directory,
    mode: row.request.mode,
    rewrite_links: row.request.rewrite_links,
    commit: row.commit_sha ?? null,
    added: row.added,
    changed: row.changed,
    removed: row.removed,
    skipped: row.skipped,
    error: row.error ?? null,
    created_at: row.created_at,
    completed_at: row.completed_at ?? null,
  };
}
