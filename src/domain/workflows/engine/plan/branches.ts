import type { Step } from '../../definition/step.schema.ts';
import type { Outcome } from './plan.ts';

/** How branches stand that run side by side; `walk` says how the steps of one do. */
export function planBranches(
  { branches, on_branch_error }: Extract<Step, { type: 'parallel' }>,
  walk: (name: string, steps: readonly Step[]) => Outcome,
): Outcome {
  const outputs: Record<string, unknown> = {};
  let failure: Outcome | null = null;
  let isOpen = false;
  for (const [name, steps] of Object.entries(branches)) {
    const outcome = walk(name, steps);
    if (outcome.kind === 'ended') return outcome;
    if (outcome.kind === 'done') outputs[name] = outcome.output;
    if (outcome.kind === 'open') isOpen = true;
    if (outcome.kind === 'failed') failure ??= outcome;
  }
  if (failure !== null && (!isOpen || on_branch_error !== 'wait')) return failure;
  return isOpen ? { kind: 'open' } : { kind: 'done', output: outputs };
}
