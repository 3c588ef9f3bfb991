import { Arg, Args, Resolver, Root, Subscription } from 'type-graphql';
import { readExecutionEvents } from '../../../domain/workflows/executions/execution-events.operations.ts';
import type { EventSubject } from '../../../ports/event-feed.ts';
import { ProjectArgs } from '../places.ts';
import { type Asked, afterDescription, begin } from '../studio/subscriptions.ts';
import { ExecutionEvent } from './executions.types.ts';

/** The events of an execution, until it has ended. A position is the `seq` of an event. */
function executionEvents(asked: Asked<{ execution: string }>) {
  const { context, args } = asked;
  const { organization, project, execution } = args;
  let subject: EventSubject;
  return begin(asked, {
    async read(after) {
      const known = /^\d{1,15}$/.test(after ?? '') ? Number(after) : 0;
      const told = await context.run(readExecutionEvents, { organization, project, execution, after: known });
      subject = told.subject;
      return { events: told.events.map((data) => ({ position: String(data.seq), data })), ended: told.ended };
    },
    watch: (wake) => context.live.events.watch(subject, wake),
  });
}

@Resolver()
export class ExecutionEventsResolver {
  @Subscription(() => ExecutionEvent, {
    nullable: true,
    description: readExecutionEvents.summary,
    subscribe: executionEvents,
  })
  executionEvents(
    @Root() event: object,
    @Args(() => ProjectArgs) _at: ProjectArgs,
    @Arg('execution', () => String) _execution: unknown,
    @Arg('after', () => String, { nullable: true, description: afterDescription }) _after: unknown,
  ) {
    return event;
  }
}
