import { z } from 'zod';
import { holds } from '../expressions/evaluate.ts';
import { common, expression, type StepList, stepType } from './step-type.ts';

const schema = (list: StepList) =>
  z.strictObject({
    ...common,
    type: z.literal('condition'),
    expression,
    then: list.optional(),
    else: list.optional(),
  });

/** Goes one of two ways. */
export const condition = stepType<z.output<ReturnType<typeof schema>>>({
  type: 'condition',
  schema,
  expressions: ['expression'],
  lists: (step) =>
    (['then', 'else'] as const).map((name) => ({
      place: [name],
      path: `.${name}`,
      steps: step[name] ?? [],
      runs: 'perhaps',
    })),
  takesOne: true,
  begin: async (step, evaluation) => ({
    status: 'running',
    input: { result: await holds(step.expression, evaluation) },
  }),
  plan(step, input, walk) {
    const name = (input as { result?: boolean } | null)?.result === true ? 'then' : 'else';
    return walk.list(`.${name}`, step[name] ?? []);
  },
});
