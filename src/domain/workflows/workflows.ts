import type { Permission } from '../../kernel/actor.ts';
import type { Extension } from '../../kernel/operation.ts';
import type { Services } from '../../kernel/services.ts';
import { type ProjectContext, projectOperation } from '../projects/operation.ts';
import type { Backlog } from './executions/backlog.ts';
import type { StepOperations } from './step-operations.ts';

/** What the operator has set for webhooks. */
export interface WebhookLimits {
  /** Largest body, before and after it is inflated. */
  body_bytes: number;
  /** Bodies a process holds at the same time. */
  memory_bytes: number;
  /** Pending executions of an organisation that has no limit of its own. */
  backlog: number;
  /** Further headers whose values are never kept; lower case. */
  redact_headers: readonly string[];
}

/** What the workflows of a process keep for operations and jobs. */
export interface WorkflowsRuntime {
  /** What steps may call. */
  stepOperations: StepOperations;
  limits: WebhookLimits;
  /** Executions of organisations that wait to begin. */
  backlog: Backlog;
}

/** The services of a process with its workflows. */
export interface WorkflowServices extends Services {
  workflows: WorkflowsRuntime;
}

/** What an operation of workflows knows. */
export interface WorkflowContext<Also extends Permission = never> extends ProjectContext<Also> {
  workflows: WorkflowsRuntime;
}

const workflows: Extension<'project', { workflows: WorkflowsRuntime }, { workflows: WorkflowsRuntime }> = {
  provide: ({ workflows }) => ({ workflows }),
};

/** An operation of the workflows of one project. */
export const workflowOperation = projectOperation.with(workflows);
