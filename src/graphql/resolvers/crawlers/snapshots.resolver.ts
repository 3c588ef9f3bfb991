import { Arg, Args, Ctx, Extensions, FieldResolver, Int, Resolver, Root } from 'type-graphql';
import { listBrokenLinks } from '../../../domain/crawlers/snapshots/broken-links.operations.ts';
import { diffSnapshots } from '../../../domain/crawlers/snapshots/diff-snapshots.operations.ts';
import { getImport } from '../../../domain/crawlers/snapshots/import/import-snapshot.operations.ts';
import {
  getSnapshot,
  listSnapshotEntries,
  listSnapshots,
} from '../../../domain/crawlers/snapshots/snapshots.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { Crawler, type CrawlerParent } from './crawlers.types.ts';
import { CrawlerRun, type RunParent } from './runs.types.ts';
import {
  BrokenLinkConnection,
  BrokenLinksArgs,
  placedSnapshot,
  Snapshot,
  SnapshotConnection,
  SnapshotDiffArgs,
  SnapshotDifferenceConnection,
  SnapshotEntriesArgs,
  SnapshotEntryConnection,
  SnapshotImport,
  type SnapshotParent,
  SnapshotsArgs,
} from './snapshots.types.ts';

/** What a crawler has captured. */
@Resolver(() => Crawler)
export class CrawlerSnapshotsResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => SnapshotConnection, { nullable: true, description: listSnapshots.summary })
  async snapshots(
    @Root() { at }: CrawlerParent,
    @Args(() => SnapshotsArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    const page = await context.list(listSnapshots, { ...at, ...args });
    return mapConnection(page, (record) => placedSnapshot(at, record));
  }

  @FieldResolver(() => Snapshot, { nullable: true, description: getSnapshot.summary })
  async snapshot(@Root() { at }: CrawlerParent, @Arg('id', () => Int) id: number, @Ctx() context: GraphqlContext) {
    return placedSnapshot(at, await context.run(getSnapshot, { ...at, snapshot: id }));
  }

  @FieldResolver(() => SnapshotImport, { nullable: true, description: getImport.summary })
  import(@Root() { at }: CrawlerParent, @Arg('id', () => Int) id: number, @Ctx() context: GraphqlContext) {
    return context.run(getImport, { ...at, import: id });
  }
}

/** What a snapshot holds. */
@Resolver(() => Snapshot)
export class SnapshotEdgesResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => SnapshotEntryConnection, { nullable: true, description: listSnapshotEntries.summary })
  entries(
    @Root() { at }: SnapshotParent,
    @Args(() => SnapshotEntriesArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listSnapshotEntries, { ...at, ...args });
  }

  @Extensions({ cost: 5 })
  @FieldResolver(() => SnapshotDifferenceConnection, { nullable: true, description: diffSnapshots.summary })
  diff(
    @Root() { at }: SnapshotParent,
    @Args(() => SnapshotDiffArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(diffSnapshots, { ...at, ...args });
  }
}

/** What a run could not get. */
@Resolver(() => CrawlerRun)
export class RunBrokenLinksResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => BrokenLinkConnection, { nullable: true, description: listBrokenLinks.summary })
  broken_links(
    @Root() { at, id }: RunParent,
    @Args(() => BrokenLinksArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    const { organization, project, crawler } = at;
    return context.list(listBrokenLinks, { organization, project, crawler, run_id: id, ...args });
  }
}
