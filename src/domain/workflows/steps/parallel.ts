import { z } from 'zod';
import { day } from '../definition/duration.ts';
import { limited, type Outcome, type StepList, stepType, word } from './step-type.ts';

const schema = (list: StepList) =>
  z.strictObject({
    ...limited(31 * day),
    type: z.literal('parallel'),
    on_branch_error: z.enum(['cancel_others', 'wait']).optional(),
    branches: z
      .record(word, list.min(1, 'needs a step'))
      .refine((branches) => Object.keys(branches).length > 0, 'needs a branch')
      .refine((branches) => Object.keys(branches).length <= 20, 'may have at most 20 branches'),
  });

/** Runs branches side by side; its output has theirs by their names. */
export const parallel = stepType<z.output<ReturnType<typeof schema>>>({
  type: 'parallel',
  schema,
  lists: ({ branches }) =>
    Object.entries(branches).map(([name, steps]) => ({
      place: ['branches', name],
      path: `.${name}`,
      steps,
      runs: 'always',
    })),
  boundsInner: true,
  plan({ branches, on_branch_error }, _input, walk) {
    const outputs: Record<string, unknown> = {};
    let failure: Outcome | null = null;
    let isOpen = false;
    for (const [name, steps] of Object.entries(branches)) {
      const outcome = walk.list(`.${name}`, steps);
      if (outcome.kind === 'ended') return outcome;
      if (outcome.kind === 'done') outputs[name] = outcome.output;
      if (outcome.kind === 'open') isOpen = true;
      if (outcome.kind === 'failed') failure ??= outcome;
    }
    if (failure !== null && (!isOpen || on_branch_error !== 'wait')) return failure;
    return isOpen ? { kind: 'open' } : { kind: 'done', output: outputs };
  },
});
