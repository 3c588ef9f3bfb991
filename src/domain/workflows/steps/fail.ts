import { z } from 'zod';
import { fillTemplates } from '../expressions/evaluate.ts';
import { common, failed, stepType, word } from './step-type.ts';

const schema = z.strictObject({
  ...common,
  type: z.literal('fail'),
  message: z.string().max(10_000).optional(),
  code: word.optional(),
});

/** Ends the execution as failed. */
export const fail = stepType<z.output<typeof schema>>({
  type: 'fail',
  schema: () => schema,
  templates: ['message'],
  ends: true,
  async begin(step, evaluation) {
    const message = await fillTemplates(step.message ?? 'The workflow ends here', evaluation);
    return failed(step.code ?? 'failed', typeof message === 'string' ? message : JSON.stringify(message));
  },
});
