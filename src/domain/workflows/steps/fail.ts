import { z } from 'zod';
import { fillTemplates } from '../expressions/evaluate.ts';
import { common, failed, message, messageOf, stepType, word } from './step-type.ts';

const schema = z.strictObject({
  ...common,
  type: z.literal('fail'),
  message: message.optional(),
  code: word.optional(),
});

/** Ends the execution as failed. */
export const fail = stepType<z.output<typeof schema>>({
  type: 'fail',
  schema: () => schema,
  templates: ['message'],
  ends: true,
  async begin(step, evaluation) {
    const filled = await fillTemplates(step.message ?? 'The workflow ends here', evaluation);
    return failed(step.code ?? 'failed', messageOf(filled));
  },
});
