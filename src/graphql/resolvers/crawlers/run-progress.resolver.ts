import { Arg, Args, Int, Resolver, Root, Subscription } from 'type-graphql';
import { terminalStatuses } from '../../../domain/crawlers/runs/crawler-run.entity.ts';
import { runSubject } from '../../../domain/crawlers/runs/run-feed.ts';
import { getRunProgress, mostLines } from '../../../domain/crawlers/runs/runs.operations.ts';
import type { EventSubject } from '../../../ports/event-feed.ts';
import { outputOf } from '../../types/operations.ts';
import { ProjectArgs } from '../places.ts';
import { type Asked, begin } from '../studio/subscriptions.ts';
import { placedRun } from './runs.types.ts';

const CrawlerRunProgress = outputOf(getRunProgress);

const isOver = (status: string) => (terminalStatuses as readonly string[]).includes(status);

/** Progress of a run until it has ended. A position is the last line of the log the client has, and the time of the run's last change. */
function runProgress(asked: Asked<{ run_id: number }>) {
  const { context, args } = asked;
  const { organization, project, run_id } = args;
  let subject: EventSubject;
  return begin(asked, {
    async read(after) {
      const [seq = '', changed = ''] = (after ?? '').split(' ');
      const known = /^\d{1,15}$/.test(seq) ? Number(seq) : 0;
      const progress = await context.run(getRunProgress, { organization, project, run_id, after: known });
      const { run } = progress;
      subject = runSubject(run);
      const position = `${progress.seq} ${run.updated_at}`;
      const isNew = changed !== run.updated_at || progress.seq !== known;
      // Lines behind a full page of the log are sent before the end.
      const hasMore = progress.log.length >= mostLines;
      const data = { ...progress, run: placedRun({ organization, project }, run) };
      return { events: isNew ? [{ position, data }] : [], ended: isOver(run.last_status) && !hasMore };
    },
    watch: (wake) => context.live.events.watch(subject, wake),
  });
}

@Resolver()
export class RunProgressResolver {
  @Subscription(() => CrawlerRunProgress, {
    nullable: true,
    description: `${getRunProgress.summary}: at once, as it goes on, and at its end`,
    subscribe: runProgress,
  })
  crawlerRunProgress(
    @Root() progress: object,
    @Args(() => ProjectArgs) _at: ProjectArgs,
    @Arg('run_id', () => Int) _run: unknown,
    @Arg('after', () => String, {
      nullable: true,
      description: '`seq` of the last line of the log that is known; the header Last-Event-ID counts more',
    })
    _after: unknown,
  ) {
    return progress;
  }
}
