import { Arg, Args, Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import {
  cancelExecution,
  resumeExecution,
  retryExecution,
  runWorkflow,
} from '../../../domain/workflows/executions/change-executions.operations.ts';
import { listExecutionEvents } from '../../../domain/workflows/executions/execution-events.operations.ts';
import {
  getExecution,
  listExecutions,
  listStepRuns,
} from '../../../domain/workflows/executions/executions.operations.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { Project, type ProjectParent } from '../projects.resolver.ts';
import {
  Execution,
  ExecutionEvent,
  ExecutionEventsArgs,
  type ExecutionParent,
  ExecutionSummaryConnection,
  ExecutionsArgs,
  StepRunsArgs,
  WorkflowStepRunConnection,
} from './executions.types.ts';
import { Workflow, type WorkflowParent } from './workflows.types.ts';

const BegunExecution = outputOf(runWorkflow);
const RunWorkflowInput = inputOf(runWorkflow);
const CancelExecutionInput = inputOf(cancelExecution);
const RetryExecutionInput = inputOf(retryExecution);
const ResumeExecutionInput = inputOf(resumeExecution);

/** What has been executed of a workflow. */
@Resolver(() => Workflow)
export class WorkflowExecutionsResolver {
  @FieldResolver(() => ExecutionSummaryConnection, { nullable: true, description: listExecutions.summary })
  executions(
    @Root() { at, id }: WorkflowParent,
    @Args(() => ExecutionsArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listExecutions, { ...at, ...args, workflow: id });
  }
}

/** One execution of any workflow of a project, and what is done to it. */
@Resolver(() => Project)
export class ExecutionsResolver {
  @FieldResolver(() => Execution, { nullable: true, description: getExecution.summary })
  async execution(@Root() { at }: ProjectParent, @Arg('id', () => String) id: string, @Ctx() context: GraphqlContext) {
    return { ...(await context.run(getExecution, { ...at, execution: id })), at };
  }

  @Command(() => BegunExecution, runWorkflow)
  runWorkflow(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => RunWorkflowInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(runWorkflow, { ...at, ...input });
  }

  @Command(() => Execution, cancelExecution)
  async cancelExecution(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => CancelExecutionInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return { ...(await context.run(cancelExecution, { ...at, ...input })), at };
  }

  @Command(() => BegunExecution, retryExecution)
  retryExecution(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => RetryExecutionInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(retryExecution, { ...at, ...input });
  }

  @Command(() => Execution, resumeExecution)
  async resumeExecution(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => ResumeExecutionInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return { ...(await context.run(resumeExecution, { ...at, ...input })), at };
  }
}

/** What an execution has done, and what has happened to it. */
@Resolver(() => Execution)
export class ExecutionEdgesResolver {
  @FieldResolver(() => WorkflowStepRunConnection, {
    name: 'step_runs',
    nullable: true,
    description: listStepRuns.summary,
  })
  step_runs(
    @Root() { at, id }: ExecutionParent,
    @Args(() => StepRunsArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listStepRuns, { ...at, ...args, execution: id });
  }

  @FieldResolver(() => [ExecutionEvent], { nullable: true, description: listExecutionEvents.summary })
  events(
    @Root() { at, id }: ExecutionParent,
    @Args(() => ExecutionEventsArgs) args: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(listExecutionEvents, { ...at, ...args, execution: id });
  }
}
