import type { StepState } from './step-state.ts';

/** What expressions see of a step that has run. */
export interface StepView {
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
  roots(): { steps: Record<string, StepView>; item?: unknown; index?: number } {
    const outer: { steps: Record<string, StepView>; item?: unknown; index?: number } = this.#around?.roots() ?? {
      steps: {},
    };
    for (const [id, view] of this.#steps) outer.steps[id] = view;
    return this.#item === null ? outer : { ...outer, ...this.#item };
  }
}
