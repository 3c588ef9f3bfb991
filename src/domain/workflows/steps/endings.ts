import { z } from 'zod';
import { evaluateExpression, fillTemplates } from '../expressions/evaluate.ts';
import { common, expression, failed, message, messageOf, stepType, word } from './step-type.ts';

const failSchema = z.strictObject({
  ...common,
  type: z.literal('fail'),
  message: message.optional(),
  code: word.optional(),
});

/** Ends the execution as failed. */
export const fail = stepType<z.output<typeof failSchema>>({
  type: 'fail',
  schema: () => failSchema,
  templates: ['message'],
  ends: true,
  async begin(step, evaluation) {
    const filled = await fillTemplates(step.message ?? 'The workflow ends here', evaluation);
    return failed(step.code ?? 'failed', messageOf(filled));
  },
});

const outputSchema = z.strictObject({ ...common, type: z.literal('output'), value: expression });

/** Ends the execution as completed, with a value as its output. */
export const output = stepType<z.output<typeof outputSchema>>({
  type: 'output',
  schema: () => outputSchema,
  expressions: ['value'],
  ends: true,
  begin: async (step, evaluation) => ({
    status: 'completed',
    output: (await evaluateExpression(step.value, evaluation)) ?? null,
  }),
});
