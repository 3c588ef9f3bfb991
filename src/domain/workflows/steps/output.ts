import { z } from 'zod';
import { evaluateExpression } from '../expressions/evaluate.ts';
import { common, expression, stepType } from './step-type.ts';

const schema = z.strictObject({ ...common, type: z.literal('output'), value: expression });

/** Ends the execution as completed, with a value as its output. */
export const output = stepType<z.output<typeof schema>>({
  type: 'output',
  schema: () => schema,
  expressions: ['value'],
  ends: true,
  begin: async (step, evaluation) => ({
    status: 'completed',
    output: (await evaluateExpression(step.value, evaluation)) ?? null,
  }),
});
