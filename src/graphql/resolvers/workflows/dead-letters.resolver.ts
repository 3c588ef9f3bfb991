import { Arg, Args, Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import {
  acknowledgeDeadLetters,
  acknowledgeExecution,
  listDeadLetters,
  retryDeadLetters,
} from '../../../domain/workflows/executions/dead-letters.operations.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { Project, type ProjectParent } from '../projects.resolver.ts';
import { Execution } from './executions.types.ts';

const DeadLetterConnection = connectionOf(listDeadLetters);
const DeadLettersArgs = argsOf(listDeadLetters);
const AcknowledgedDeadLetters = outputOf(acknowledgeDeadLetters);
const RetriedDeadLetters = outputOf(retryDeadLetters);
const AcknowledgeExecutionInput = inputOf(acknowledgeExecution);
const AcknowledgeDeadLettersInput = inputOf(acknowledgeDeadLetters);
const RetryDeadLettersInput = inputOf(retryDeadLetters);

/** Executions that have failed, until they are acknowledged. */
@Resolver(() => Project)
export class DeadLettersResolver {
  @FieldResolver(() => DeadLetterConnection, { nullable: true, description: listDeadLetters.summary })
  dead_letters(
    @Root() { at }: ProjectParent,
    @Args(() => DeadLettersArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listDeadLetters, { ...at, ...args });
  }

  @Command(() => Execution, acknowledgeExecution)
  async acknowledgeExecution(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => AcknowledgeExecutionInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return { ...(await context.run(acknowledgeExecution, { ...at, ...input })), at };
  }

  @Command(() => AcknowledgedDeadLetters, acknowledgeDeadLetters)
  acknowledgeDeadLetters(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => AcknowledgeDeadLettersInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(acknowledgeDeadLetters, { ...at, ...input });
  }

  @Command(() => RetriedDeadLetters, retryDeadLetters)
  retryDeadLetters(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => RetryDeadLettersInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(retryDeadLetters, { ...at, ...input });
  }
}
