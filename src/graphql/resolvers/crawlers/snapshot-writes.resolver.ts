import { Arg, Args, Ctx, Resolver } from 'type-graphql';
import { importSnapshot } from '../../../domain/crawlers/snapshots/import/import-snapshot.operations.ts';
import {
  deleteSnapshot,
  publishSnapshot,
  updateSnapshot,
} from '../../../domain/crawlers/snapshots/snapshots.operations.ts';
import type { GraphqlContext } from '../../context.ts';
import { inputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { placedSnapshot, Snapshot, SnapshotImport } from './snapshots.types.ts';

const PublishSnapshotInput = inputOf(publishSnapshot);
const UpdateSnapshotInput = inputOf(updateSnapshot);
const DeleteSnapshotInput = inputOf(deleteSnapshot);
const ImportSnapshotInput = inputOf(importSnapshot);

/** What is done with snapshots. */
@Resolver(() => Snapshot)
export class SnapshotWritesResolver {
  @Command(() => Snapshot, publishSnapshot)
  async publishSnapshot(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => PublishSnapshotInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placedSnapshot(at, await context.run(publishSnapshot, { ...at, ...input }));
  }

  @Command(() => Snapshot, updateSnapshot)
  async updateSnapshot(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => UpdateSnapshotInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placedSnapshot(at, await context.run(updateSnapshot, { ...at, ...input }));
  }

  @Command(() => Boolean, deleteSnapshot)
  async deleteSnapshot(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => DeleteSnapshotInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    await context.run(deleteSnapshot, { ...at, ...input });
    return true;
  }

  @Command(() => SnapshotImport, importSnapshot)
  importSnapshot(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => ImportSnapshotInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(importSnapshot, { ...at, ...input });
  }
}
