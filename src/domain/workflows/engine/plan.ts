import type { StepRunError, StepStatus, StepWait } from '../executions/step-run.entity.ts';
import type { Outcome, Step } from '../steps/step-type.ts';

/** A step run as the engine works with it; times are milliseconds since 1970. */
export interface StepState {
  path: string;
  /** In the order they began, from 1. */
  position: number;
  step_id: string;
  type: string;
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

/** Whether a path lies within the step run at another one. */
export const isWithin = (path: string, outer: string): boolean =>
  path.length > outer.length && path.startsWith(outer) && (path[outer.length] === '.' || path[outer.length] === '[');

/** What expressions see of a step that has run. */
interface StepView {
  output: unknown;
  status: string;
  error: unknown;
}

/** What is in scope for the expressions of a step: the steps before it, in its own list and in those around it. */
export class PlanScope {
  readonly #around: PlanScope | null;
  readonly #steps = new Map<string, StepView>();
  readonly #item: { item: unknown; index: number } | null;

  constructor(around: PlanScope | null = null, item: { item: unknown; index: number } | null = null) {
    this.#around = around;
    this.#item = item;
  }

  add({ step_id, output, status, error }: StepState): void {
    this.#steps.set(step_id, { output: output ?? null, status, error: error ?? null });
  }

  /** Takes in what ran in a list within. */
  merge(inner: PlanScope): void {
    for (const [id, view] of inner.#steps) this.#steps.set(id, view);
  }

  /** `steps`, and within an iteration `item` and `index`. */
  values(): { steps: Record<string, StepView>; item?: unknown; index?: number } {
    const outer: { steps: Record<string, StepView>; item?: unknown; index?: number } = this.#around?.values() ?? {
      steps: {},
    };
    for (const [id, view] of this.#steps) outer.steps[id] = view;
    return this.#item === null ? outer : { ...outer, ...this.#item };
  }
}

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
