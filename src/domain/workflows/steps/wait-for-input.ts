import { z } from 'zod';
import { jsonValue } from '../../../kernel/shapes.ts';
import { day, parseDuration } from '../definition/duration.ts';
import { fillTemplates } from '../expressions/evaluate.ts';
import { limited, message, messageOf, type StepList, stepType, timedOut } from './step-type.ts';

const schema = (list: StepList) =>
  z.strictObject({
    ...limited(365 * day),
    type: z.literal('wait_for_input'),
    message: message.optional(),
    schema: z.record(z.string(), jsonValue).optional(),
    on_timeout: z.union([z.literal('fail'), list.min(1)]).optional(),
  });

type WaitForInputStep = z.output<ReturnType<typeof schema>>;

const usualPatience = 7 * day;

const lateSteps = ({ on_timeout }: WaitForInputStep) => (Array.isArray(on_timeout) ? on_timeout : null);

/** Waits for an answer by a person (`workflows.resumeExecution`); steps of its own may follow when none comes. */
export const waitForInput = stepType<WaitForInputStep>({
  type: 'wait_for_input',
  schema,
  templates: ['message'],
  lists(step) {
    const steps = lateSteps(step);
    return steps ? [{ place: ['on_timeout'], path: '.on_timeout', steps, runs: 'perhaps' }] : [];
  },
  async begin(step, evaluation, now) {
    const filled = (await fillTemplates(step.message ?? null, evaluation)) ?? null;
    const limit = parseDuration(step.timeout) ?? usualPatience;
    return {
      status: 'waiting',
      input: { message: filled === null ? null : messageOf(filled), schema: step.schema ?? null },
      waits_for: { kind: 'input' },
      next_try_at: now + limit,
    };
  },
  expire: (step, input) =>
    lateSteps(step) ? { status: 'running', input: { ...(input as object), timed_out: true } } : timedOut,
  plan: (step, _input, walk) => walk.list('.on_timeout', lateSteps(step) ?? []),
});
