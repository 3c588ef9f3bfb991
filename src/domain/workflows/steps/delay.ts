import { z } from 'zod';
import { day, duration, durationFault, parseDuration } from '../definition/duration.ts';
import { fillTemplates } from '../expressions/evaluate.ts';
import { hasTemplate } from '../expressions/template.ts';
import { common, failed, stepType } from './step-type.ts';

const schema = z
  .strictObject({
    ...common,
    type: z.literal('delay'),
    for: z
      .union([duration(365 * day, 0), z.string().refine(hasTemplate)], `${durationFault(365 * day)}, or a template`)
      .optional(),
    until: z.string().min(1).optional(),
  })
  .refine((delay) => (delay.for === undefined) !== (delay.until === undefined), 'needs either "for" or "until"');

/** Of a time that a template gives. */
const furthest = 400 * day;

/** Waits for a time, or until one. */
export const delay = stepType<z.output<typeof schema>>({
  type: 'delay',
  schema: () => schema,
  templates: ['for', 'until'],
  async begin(step, evaluation, now) {
    if (step.for !== undefined) {
      const text = String(await fillTemplates(step.for, evaluation));
      const length = parseDuration(text);
      if (length === null || length > furthest)
        return failed('bad_delay', `for: "${text.slice(0, 100)}" is no duration of at most 400 days`);
      return { status: 'waiting', input: { for: text }, next_try_at: now + length };
    }
    const text = String((await fillTemplates(step.until, evaluation)) ?? '');
    const until = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(until) || until > now + furthest)
      return failed('bad_delay', `until: "${text.slice(0, 100)}" is no time within 400 days`);
    return { status: 'waiting', input: { until: new Date(until).toISOString() }, next_try_at: until };
  },
  expire: () => ({ status: 'completed', output: null }),
});
