import type { StepType } from '../../definition/step.schema.ts';
import type { StepRunError, StepStatus, StepWait } from '../../executions/step-run.entity.ts';

/** A step run as the engine works with it; times are milliseconds since 1970. */
export interface StepState {
  path: string;
  /** In the order they began, from 1. */
  position: number;
  step_id: string;
  type: StepType;
  status: StepStatus;
  tries: number;
  input: unknown;
  output: unknown;
  output_sha256: string | null;
  error: StepRunError | null;
  waits_for: StepWait | null;
  /** The execution whose id makes its idempotency key, from its first try until its outcome is known. */
  tried_in: string | null;
  started_at: number;
  finished_at: number | null;
  next_try_at: number | null;
}

const settled: ReadonlySet<StepStatus> = new Set(['completed', 'failed', 'skipped', 'cancelled']);

/** Whether nothing more becomes of a step run. */
export const isSettled = ({ status }: Pick<StepState, 'status'>): boolean => settled.has(status);

/** Whether it is the run of a step that acts on the outside or on the project. */
export const isActingRun = ({ type }: Pick<StepState, 'type'>): boolean => type === 'http' || type === 'operation';

/** Whether a path lies within the step run at another one. */
export const isWithin = (path: string, outer: string): boolean =>
  path.length > outer.length && path.startsWith(outer) && (path[outer.length] === '.' || path[outer.length] === '[');
