import type { ClassType } from 'type-graphql';
import { listBrokenLinks } from '../../../domain/crawlers/snapshots/broken-links.operations.ts';
import { diffSnapshots } from '../../../domain/crawlers/snapshots/diff-snapshots.operations.ts';
import { getImport } from '../../../domain/crawlers/snapshots/import/import-snapshot.operations.ts';
import {
  getSnapshot,
  listSnapshotEntries,
  listSnapshots,
} from '../../../domain/crawlers/snapshots/snapshots.operations.ts';
import { argsOf, connectionOf, outputOf } from '../../types/operations.ts';
import type { Placed, ProjectArgs } from '../places.ts';

export const Snapshot: ClassType = outputOf(getSnapshot);
export const SnapshotImport: ClassType = outputOf(getImport);
export const SnapshotConnection: ClassType = connectionOf(listSnapshots, 'Snapshot');
export const SnapshotEntryConnection: ClassType = connectionOf(listSnapshotEntries, 'SnapshotEntry');
export const SnapshotDifferenceConnection: ClassType = connectionOf(diffSnapshots, 'SnapshotDifference');
export const BrokenLinkConnection: ClassType = connectionOf(listBrokenLinks, 'BrokenLink');
export const SnapshotsArgs = argsOf(listSnapshots, ['crawler']);
export const SnapshotEntriesArgs = argsOf(listSnapshotEntries, ['crawler', 'snapshot']);
export const SnapshotDiffArgs = argsOf(diffSnapshots, ['crawler', 'snapshot']);
export const BrokenLinksArgs = argsOf(listBrokenLinks, ['crawler', 'run_id']);

/** What a snapshot's edges find in their parent. */
export type SnapshotParent = Placed<ProjectArgs & { crawler: string; snapshot: number }>;

/** A snapshot's record with its place; a crawler's number names it as well as its UUID. */
export const placedSnapshot = <Record extends { id: number; crawler_id: number }>(
  { organization, project }: ProjectArgs,
  record: Record,
) => ({ ...record, at: { organization, project, crawler: String(record.crawler_id), snapshot: record.id } });
