import type { Step } from '../../definition/step.schema.ts';
import { listsOf } from './lists-of.ts';
import { PlanScope } from './scope.ts';
import type { StepState } from './step-state.ts';

type Runs = ReadonlyMap<string, StepState>;

/** Lets the steps that come later see one that has run, and what ran within it; a loop holds its iterations' outputs itself. */
export function showRun(runs: Runs, step: Step, run: StepState, scope: PlanScope): void {
  for (const [prefix, steps] of listsOf(step, run.path)) {
    const inner = new PlanScope();
    showRuns(runs, steps, prefix, inner);
    scope.merge(inner);
  }
  scope.add(run);
}

/** The same for those of a list that have run. */
export function showRuns(runs: Runs, steps: readonly Step[], prefix: string, scope: PlanScope): void {
  for (const step of steps) {
    const run = runs.get(prefix + step.id);
    if (run !== undefined) showRun(runs, step, run, scope);
  }
}
