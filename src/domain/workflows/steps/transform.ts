import { z } from 'zod';
import { parseDuration } from '../definition/duration.ts';
import { evaluateExpression } from '../expressions/evaluate.ts';
import { expression, limited, stepType } from './step-type.ts';

const schema = z.strictObject({ ...limited(60_000), type: z.literal('transform'), expression });

/** Computes a value; its `timeout` bounds the expression itself. */
export const transform = stepType<z.output<typeof schema>>({
  type: 'transform',
  schema: () => schema,
  expressions: ['expression'],
  async begin(step, evaluation) {
    const timeout = parseDuration(step.timeout);
    const within = timeout === null ? evaluation : { ...evaluation, timeout };
    return { status: 'completed', output: (await evaluateExpression(step.expression, within)) ?? null };
  },
});
