import type { Step } from '../../definition/step.schema.ts';
import type { StepRunError } from '../../executions/step-run.entity.ts';
import type { PlanScope } from './scope.ts';

/** A step at one place of an execution, with what its expressions see. */
export interface Site<S extends Step = Step> {
  step: S;
  path: string;
  scope: PlanScope;
}

/** What is to be done next. */
export type Action =
  /** Reached for the first time. */
  | { kind: 'begin'; site: Site }
  /** A try that was broken off, or whose time has come. */
  | { kind: 'try'; site: Site }
  /** The time a step waits, or may take, is over. */
  | { kind: 'expire'; site: Site }
  /** What a step holds has come to its end. */
  | { kind: 'complete'; site: Site; output: unknown }
  | { kind: 'fail'; site: Site; error: StepRunError };

/** Whether a person's time to answer is over. */
export const isLateInput = ({ kind, site }: Action): boolean =>
  kind === 'expire' && site.step.type === 'wait_for_input';

/** How a list of steps stands. */
export type Outcome =
  | { kind: 'open' }
  | { kind: 'done'; output: unknown }
  | { kind: 'failed'; error: StepRunError }
  /** A step has ended the whole execution. */
  | { kind: 'ended'; output: unknown; path: string };

export interface Plan {
  actions: Action[];
  outcome: Outcome;
  /** When the first of the waiting steps goes on, milliseconds since 1970; null: none does by itself. */
  due: number | null;
  /** A step waits for a person. */
  waitsForInput: boolean;
  /** A step waits for time, for a crawl run or a deployment, or is under way. */
  waitsOtherwise: boolean;
  /** What has run, for what comes after the steps. */
  scope: PlanScope;
}
