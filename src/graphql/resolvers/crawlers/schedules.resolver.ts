import { Arg, Args, type ClassType, Ctx, FieldResolver, Int, Resolver, Root } from 'type-graphql';
import {
  createSchedule,
  deleteSchedule,
  getSchedule,
  listFires,
  listSchedules,
  listSchedulesOf,
  previewSchedule,
  updateSchedule,
} from '../../../domain/crawlers/schedules/schedules.operations.ts';
import { scheduleId } from '../../../domain/crawlers/schedules/schedules.schema.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { connectionOfWhole, WholeListArgs } from '../../whole-list.ts';
import { Command } from '../command.ts';
import { type Placed, ProjectArgs } from '../places.ts';
import { Crawler, type CrawlerParent } from './crawlers.types.ts';

const CrawlerSchedule: ClassType = outputOf(getSchedule);
const CrawlerScheduleConnection = connectionOf(getSchedule);
const CrawlerSchedulePreview = outputOf(previewSchedule);
const CrawlerFireConnection = connectionOf(listFires);
const PreviewArgs = argsOf(previewSchedule, ['crawler']);
const FiresArgs = argsOf(listFires, ['crawler', 'crawler_schedule']);
const CreateScheduleInput = inputOf(createSchedule);
/** The number as records give it, which REST has as a part of the path. */
const byNumber = { choice: { crawler_schedule: scheduleId } };
const UpdateScheduleInput = inputOf(updateSchedule, byNumber);
const DeleteScheduleInput = inputOf(deleteSchedule, byNumber);

interface ScheduleInput {
  crawler_schedule: number;
}

type ScheduleParent = Placed<ProjectArgs & { crawler: string; crawler_schedule: string }>;

const placed = <Record extends { id: number; crawler_uuid: string }>(
  { organization, project }: ProjectArgs,
  record: Record,
) => ({
  ...record,
  at: { organization, project, crawler: record.crawler_uuid, crawler_schedule: String(record.id) },
});

const named = (at: ProjectArgs, { crawler_schedule, ...input }: ScheduleInput) => ({
  ...at,
  ...input,
  crawler_schedule: String(crawler_schedule),
});

/** When a crawler runs by itself. */
@Resolver(() => Crawler)
export class SchedulesResolver {
  @FieldResolver(() => CrawlerScheduleConnection, { nullable: true, description: listSchedules.summary })
  async schedules(
    @Root() { at, id }: CrawlerParent,
    @Args(() => WholeListArgs) args: WholeListArgs,
    @Ctx() context: GraphqlContext,
  ) {
    const { organization, project } = at;
    const lists = context.loader(`schedules ${organization}/${project}`, (ids) =>
      context.run(listSchedulesOf, { organization, project, crawlers: ids.map(Number) }),
    );
    return mapConnection(connectionOfWhole(await lists.load(String(id)), args), (record) => placed(at, record));
  }

  @FieldResolver(() => CrawlerSchedule, { nullable: true, description: getSchedule.summary })
  async schedule(@Root() { at }: CrawlerParent, @Arg('id', () => Int) id: number, @Ctx() context: GraphqlContext) {
    return placed(at, await context.run(getSchedule, { ...at, crawler_schedule: String(id) }));
  }

  @FieldResolver(() => CrawlerSchedulePreview, { nullable: true, description: previewSchedule.summary })
  schedule_preview(
    @Root() { at }: CrawlerParent,
    @Args(() => PreviewArgs) args: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(previewSchedule, { ...at, ...args });
  }

  @Command(() => CrawlerSchedule, createSchedule)
  async createSchedule(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => CreateScheduleInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placed(at, await context.run(createSchedule, { ...at, ...input }));
  }

  @Command(() => CrawlerSchedule, updateSchedule)
  async updateSchedule(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => UpdateScheduleInput) input: ScheduleInput,
    @Ctx() context: GraphqlContext,
  ) {
    return placed(at, await context.run(updateSchedule, named(at, input)));
  }

  @Command(() => Boolean, deleteSchedule)
  async deleteSchedule(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => DeleteScheduleInput) input: ScheduleInput,
    @Ctx() context: GraphqlContext,
  ) {
    await context.run(deleteSchedule, named(at, input));
    return true;
  }
}

/** What came of the times of a schedule. */
@Resolver(() => CrawlerSchedule)
export class ScheduleFiresResolver {
  @FieldResolver(() => CrawlerFireConnection, { nullable: true, description: listFires.summary })
  fires(@Root() { at }: ScheduleParent, @Args(() => FiresArgs) args: ListArguments, @Ctx() context: GraphqlContext) {
    return context.list(listFires, { ...at, ...args });
  }
}
