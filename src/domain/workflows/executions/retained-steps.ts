import type { WorkflowDefinition } from '../definition/definition.schema.ts';
import type { Step } from '../definition/step.schema.ts';
import { stepsWithin } from '../definition/walk-steps.ts';
import type { StepRun } from './step-run.entity.ts';

/** A step run of an execution that is tried again, in the order they began. */
type Run = Pick<StepRun, 'path' | 'step_id' | 'status'> & Partial<Pick<StepRun, 'tried_in'>>;

/**
 * A step run the new execution begins with: as it was (`kept`), or open: what it holds goes on, or its try is repeated under the key of the
 * execution it was first tried in.
 */
export interface RetainedStep {
  path: string;
  kept: boolean;
  tried_in?: string;
}

/** The step run around another one: of `each[3].save` and `each.then.save` it is `each`; null at the top. */
const around = (path: string): string | null => /^(.+)(?:\[\d+\]|\.[a-z0-9_]+)\.[a-z0-9_]+$/.exec(path)?.[1] ?? null;

const isOver = ({ status }: Run) => status === 'completed' || status === 'skipped';

/** Whether an execution goes on after a step's failure: then it counts for what comes later as a result does. */
const isTolerated = (step: Step, outer: Step | null): boolean =>
  step.on_error === 'continue' || (outer?.type === 'for_each' && outer.item_on_error === 'continue');

/**
 * What does not run again when an execution is tried again from where it failed: steps that were completed or skipped, failures it went on
 * after, and all that these hold. Steps that hold others and were broken off are left open, and so are those that were cut off while they
 * acted: whether they have is found by their key. Everything else begins anew.
 */
export function retainedSteps({ steps }: Pick<WorkflowDefinition, 'steps'>, runs: readonly Run[]): RetainedStep[] {
  const known = new Map([...stepsWithin(steps, [])].map(({ step }) => [step.id, step]));
  const stepOf = new Map(runs.map(({ path, step_id }) => [path, known.get(step_id) ?? null]));
  const holders = new Set(runs.map(({ path }) => around(path)));
  const retained = new Map<string, RetainedStep>();
  // A step that holds others comes before them.
  for (const run of runs) {
    const { path } = run;
    const step = stepOf.get(path) ?? null;
    const outer = around(path);
    const holder = outer === null ? null : (retained.get(outer) ?? null);
    if (step === null || (outer !== null && holder === null)) continue;
    const isKept =
      holder?.kept === true ||
      isOver(run) ||
      (run.status === 'failed' && isTolerated(step, outer === null ? null : (stepOf.get(outer) ?? null)));
    if (isKept || holders.has(path)) retained.set(path, { path, kept: isKept });
    else if (run.tried_in) retained.set(path, { path, kept: false, tried_in: run.tried_in });
  }
  return [...retained.values()];
}
