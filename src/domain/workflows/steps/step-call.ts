import type { Permission } from '../../../kernel/permissions.ts';
import type { ExpressionError } from '../../../ports/expressions.ts';
import type { OrganizationRef } from '../../organizations/organization.entity.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import type { Step } from '../definition/step.schema.ts';
import type { Scope } from '../expressions/evaluate.ts';
import type { WorkflowServices } from '../workflows.ts';

/** What an expression without a value means for a step that acts: it cannot help to try again, unless the server could evaluate nothing. */
export const expressionFailed = ({ fault, message }: ExpressionError): StepResult =>
  fault === 'unavailable'
    ? { kind: 'failed', error: { code: 'unavailable', message }, isRetryable: true }
    : { kind: 'failed', error: { code: 'bad_expression', message }, isRetryable: false };

/** Methods that can be repeated without doing twice what they do (RFC 9110 9.2.2). */
const repeatable = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']);

/** How often a step is tried when its definition does not say; only failures that another try can help count. */
export function defaultAttempts(step: Step): number {
  if (step.type === 'operation') return 3;
  return step.type === 'http' && repeatable.has(step.method ?? 'GET') ? 3 : 1;
}

/** One try at a step that acts on the outside or on the project. */
export interface StepCall<S extends Step = Step> {
  step: S;
  /** Of the step run: `fetch`, `each[3].save`. */
  path: string;
  execution_id: string;
  workflow_id: string;
  /** Of the workflow's version, or empty. */
  permissions: readonly Permission[];
  /** From 1. */
  tries: number;
  /** Hex SHA-256, equal over tries and drivers of one execution, and over the retries that look for what a crash cut off. */
  idempotency_key: string;
  /** What expressions see, without `secrets`. */
  scope: Scope;
  services: WorkflowServices;
  organization: OrganizationRef;
  project: ProjectRef;
  /** Aborted when the step's time is over or the execution is cancelled or taken over. */
  signal: AbortSignal;
}

/** Why a step failed. */
export interface StepError {
  code: string;
  message: string;
  [detail: string]: unknown;
}

/** What a parked step waits for, beside time. */
export interface WaitsFor {
  kind: 'run' | 'deployment';
  id: number;
}

/** How a try ended; `input` is what the step acted on, with secrets taken out, for people who look at it later. */
export type StepResult =
  | { kind: 'completed'; output: unknown; input?: unknown }
  | { kind: 'waiting'; waits_for: WaitsFor; input?: unknown }
  | {
      kind: 'failed';
      error: StepError;
      input?: unknown;
      /** Whether another try can help at all. */
      isRetryable: boolean;
      /** Milliseconds the peer asks to wait before the next try. */
      retryAfter?: number;
    };
