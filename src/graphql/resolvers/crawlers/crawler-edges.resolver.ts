import { Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import { getPublishedSnapshots } from '../../../domain/crawlers/config/crawlers.operations.ts';
import { getRun } from '../../../domain/crawlers/runs/runs.operations.ts';
import { getSnapshot } from '../../../domain/crawlers/snapshots/snapshots.operations.ts';
import type { GraphqlContext } from '../../context.ts';
import { outputOf } from '../../types/operations.ts';
import { Crawler, type CrawlerParent } from './crawlers.types.ts';

const CrawlerRun = outputOf(getRun);
const Snapshot = outputOf(getSnapshot);

/** What a crawler did last, and what it shows. */
@Resolver(() => Crawler)
export class CrawlerEdgesResolver {
  // It came with the crawler's record.
  @FieldResolver(() => CrawlerRun, { nullable: true, description: 'The newest run, whatever has become of it' })
  last_run(@Root() { at, last_run }: CrawlerParent) {
    return last_run && { ...last_run, at: { ...at, run_id: last_run.id } };
  }

  @FieldResolver(() => Snapshot, { nullable: true, description: 'The copy of the site that is live' })
  async published_snapshot(@Root() { at, id, published_snapshot_id }: CrawlerParent, @Ctx() context: GraphqlContext) {
    if (published_snapshot_id === null) return null;
    const { organization, project } = at;
    const snapshots = context.loader(`published snapshots ${organization}/${project}`, (ids) =>
      context.run(getPublishedSnapshots, { organization, project, crawlers: ids.map(Number) }),
    );
    const found = await snapshots.load(String(id));
    return found === null ? null : { ...found, at: { ...at, snapshot: found.id } };
  }
}
