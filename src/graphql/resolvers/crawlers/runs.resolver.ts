import { Arg, Args, Ctx, Extensions, FieldResolver, Int, Resolver, Root } from 'type-graphql';
import { cancelRun, runCrawler, stopRun } from '../../../domain/crawlers/runs/change-runs.operations.ts';
import { getRun, listRunLog, listRunPages, listRuns } from '../../../domain/crawlers/runs/runs.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { inputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { Crawler, type CrawlerParent } from './crawlers.types.ts';
import {
  CrawlerLogLine,
  CrawlerPageConnection,
  CrawlerRun,
  CrawlerRunConnection,
  placedRun,
  RunLogArgs,
  RunPagesArgs,
  type RunParent,
  RunsArgs,
} from './runs.types.ts';

const RunCrawlerInput = inputOf(runCrawler);
const StopRunInput = inputOf(stopRun);
const CancelRunInput = inputOf(cancelRun);

/** The runs of a crawler. */
@Resolver(() => Crawler)
export class CrawlerRunsResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => CrawlerRunConnection, { nullable: true, description: listRuns.summary })
  async runs(@Root() { at }: CrawlerParent, @Args(() => RunsArgs) args: ListArguments, @Ctx() context: GraphqlContext) {
    const page = await context.list(listRuns, { ...at, ...args });
    return mapConnection(page, (record) => placedRun(at, record));
  }

  @FieldResolver(() => CrawlerRun, { nullable: true, description: getRun.summary })
  async run(@Root() { at }: CrawlerParent, @Arg('run_id', () => Int) run_id: number, @Ctx() context: GraphqlContext) {
    return placedRun(at, await context.run(getRun, { ...at, run_id }));
  }

  @Command(() => String, runCrawler, `${runCrawler.summary}. Answers with the number of the run`)
  async runCrawler(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => RunCrawlerInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return (await context.run(runCrawler, { ...at, ...input })).run_id;
  }

  @Command(() => CrawlerRun, stopRun)
  async stopRun(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => StopRunInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placedRun(at, await context.run(stopRun, { ...at, ...input }));
  }

  @Command(() => CrawlerRun, cancelRun)
  async cancelRun(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => CancelRunInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placedRun(at, await context.run(cancelRun, { ...at, ...input }));
  }
}

/** Results of a run. */
@Resolver(() => CrawlerRun)
export class RunEdgesResolver {
  @Extensions({ cost: 10 })
  @FieldResolver(() => CrawlerPageConnection, { nullable: true, description: listRunPages.summary })
  pages(@Root() { at, id }: RunParent, @Args(() => RunPagesArgs) args: ListArguments, @Ctx() context: GraphqlContext) {
    return context.list(listRunPages, { ...at, ...args, run_id: id });
  }

  @Extensions({ cost: 5 })
  @FieldResolver(() => [CrawlerLogLine], { nullable: true, description: listRunLog.summary })
  log(@Root() { at, id }: RunParent, @Args(() => RunLogArgs) args: object, @Ctx() context: GraphqlContext) {
    return context.run(listRunLog, { ...at, ...args, run_id: id });
  }
}
