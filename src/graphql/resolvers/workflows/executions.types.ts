import type { ClassType } from 'type-graphql';
import { listExecutionEvents } from '../../../domain/workflows/executions/execution-events.operations.ts';
import {
  getExecution,
  listExecutions,
  listStepRuns,
} from '../../../domain/workflows/executions/executions.operations.ts';
import { executionEvent } from '../../../domain/workflows/executions/executions.schema.ts';
import { classOf } from '../../types/derive.ts';
import { argsOf, connectionOf, outputOf } from '../../types/operations.ts';
import type { Placed, ProjectArgs } from '../places.ts';

export const Execution: ClassType = outputOf(getExecution);
export const ExecutionSummaryConnection: ClassType = connectionOf(listExecutions);
export const WorkflowStepRunConnection: ClassType = connectionOf(listStepRuns);
export const StepRunsArgs = argsOf(listStepRuns, ['workflow', 'execution']);
export const ExecutionEvent: ClassType = classOf(executionEvent, 'ExecutionEvent', false);
export const ExecutionsArgs = argsOf(listExecutions, ['workflow']);
export const ExecutionEventsArgs = argsOf(listExecutionEvents, ['workflow', 'execution']);

/** What an execution's edges find in their parent. */
export type ExecutionParent = Placed<ProjectArgs> & { id: string };
