import type { Step } from '../../definition/step.schema.ts';
import type { Outcome } from './plan.ts';
import type { StepState } from './step-state.ts';

/** What a step run that has come to its end means for the list it stands in. */
export function outcomeOf(step: Step, { status, output, error, path }: StepState): Outcome {
  if (status === 'failed' && step.on_error !== 'continue')
    return { kind: 'failed', error: { path, ...(error ?? { code: 'failed', message: 'The step failed' }) } };
  if (status !== 'completed') return { kind: 'done', output: null };
  return step.type === 'output'
    ? { kind: 'ended', output: output ?? null, path }
    : { kind: 'done', output: output ?? null };
}
