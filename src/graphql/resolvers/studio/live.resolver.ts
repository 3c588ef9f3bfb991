import { Arg, Args, Resolver, Root, Subscription } from 'type-graphql';
import { branchMove, readBranchMoves } from '../../../domain/studio/repository/branch-moves.operations.ts';
import { readImport } from '../../../domain/studio/repository/repository.operations.ts';
import { importState } from '../../../domain/studio/repository/repository.schema.ts';
import type { EventSubject } from '../../../ports/event-feed.ts';
import { stateNews } from '../../stream/follow.ts';
import { classOf } from '../../types/derive.ts';
import { ProjectArgs } from '../places.ts';
import { type Asked, afterDescription, begin } from './subscriptions.ts';

const BranchMove = classOf(branchMove, 'BranchMove', false);
const RepositoryImport = classOf(importState, 'RepositoryImport', false);

/** Where a branch moves. */
function branchMoves(asked: Asked<{ branch?: string | null }>) {
  const { context, args } = asked;
  const { organization, project, branch } = args;
  let subject: EventSubject;
  return begin(asked, {
    async read(after) {
      const wanted = { organization, project, branch, ...(after !== null && { after: Number(after) }) };
      const { moves, position, missed, ...told } = await context.run(readBranchMoves, wanted);
      subject = told.subject;
      const events = moves.map((event) => ({ position: String(event.position), data: event.move }));
      return { events, position: String(position), missed };
    },
    watch: (wake) => context.live.events.watch(subject, wake),
  });
}

/** How far an import is. */
function importProgress(asked: Asked<object>) {
  const { context, args } = asked;
  const { organization, project } = args;
  let subject: EventSubject;
  return begin(asked, {
    async read(after) {
      const told = await context.run(readImport, { organization, project });
      subject = told.subject;
      return stateNews(after, told.import, ['completed', 'failed'].includes(told.import.state));
    },
    watch: (wake) => context.live.events.watch(subject, wake),
  });
}

@Resolver()
export class LiveResolver {
  @Subscription(() => BranchMove, {
    nullable: true,
    description: `${readBranchMoves.summary}. Null with \`extensions.refetch\`: events are lost, ask anew for what is shown`,
    subscribe: branchMoves,
  })
  branchMoved(
    @Root() move: object,
    @Args(() => ProjectArgs) _at: ProjectArgs,
    @Arg('branch', () => String, { nullable: true, description: 'Default: the default branch' }) _branch: unknown,
    @Arg('after', () => String, { nullable: true, description: afterDescription }) _after: unknown,
  ) {
    return move;
  }

  @Subscription(() => RepositoryImport, {
    nullable: true,
    description: readImport.summary,
    subscribe: importProgress,
  })
  importProgress(
    @Root() progress: object,
    @Args(() => ProjectArgs) _at: ProjectArgs,
    @Arg('after', () => String, { nullable: true, description: afterDescription }) _after: unknown,
  ) {
    return progress;
  }
}
