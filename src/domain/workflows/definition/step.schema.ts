import { z } from 'zod';
import { jsonValue } from '../../../kernel/shapes.ts';
import { hasTemplate } from '../expressions/template.ts';

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const short = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/;
/** Weeks, days, hours, minutes and seconds (ISO 8601-1, 5.5.2.2); months and years have no fixed length. */
const iso =
  /^P(?!$)(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?=\d)(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6}(?:\.\d{1,3})?)S)?)?$/;

/** A duration as definitions write it (`250ms`, `30s`, `5m`, `2h`, `7d`, or ISO 8601 such as `PT1H30M`) in milliseconds; null: it is none. */
export function parseDuration(text: string): number | null {
  const [, amount, unit] = short.exec(text) ?? [];
  if (amount !== undefined) return Math.round(Number(amount) * units[unit as keyof typeof units]);
  const parts = iso.exec(text);
  if (parts === null) return null;
  const [weeks, days, hours, minutes, seconds] = parts.slice(1).map((part) => Number(part ?? 0));
  const whole = (weeks ?? 0) * 7 * units.d + (days ?? 0) * units.d + (hours ?? 0) * units.h + (minutes ?? 0) * units.m;
  return Math.round(whole + (seconds ?? 0) * units.s);
}

const hour = 3_600_000;
export const day = 24 * hour;

const durationFault = (most: number) => `must be a duration such as 30s, 5m or PT1H, at most ${most / 1000} seconds`;

/** A span of time within bounds (milliseconds), as definitions write it. */
export const duration = (most: number, least = 1) =>
  z.string().refine((text) => {
    const length = parseDuration(text);
    return length !== null && length >= least && length <= most;
  }, durationFault(most));

/** JSONata without braces; that it parses is checked with everything else about expressions. */
const expression = z.string().min(1, 'must not be empty');

/** Any value whose strings may hold `${{ … }}`. */
const template = jsonValue;

const stepId = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,39}$/, 'must begin with a letter and hold at most 40 of a–z, 0–9 and _');

const retry = z.strictObject({
  attempts: z.int().min(1).max(20),
  delay: duration(hour).optional(),
  factor: z.number().min(1).max(10).optional(),
  max_delay: duration(hour).optional(),
  on: z.array(z.string().min(1)).min(1).max(20).optional(),
});

/** The lists within steps; named, because a type cannot be inferred from itself. */
type StepList = z.ZodArray<typeof step>;

const common = {
  id: stepId,
  name: z.string().min(1).max(200).optional(),
  if: expression.optional(),
  retry: retry.optional(),
  on_error: z.enum(['fail', 'continue']).optional(),
};

const limited = (most: number) => ({ ...common, timeout: duration(most).optional() });

const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

const httpStep = z.strictObject({
  ...limited(hour / 4),
  type: z.literal('http'),
  method: z.enum(httpMethods).optional(),
  url: z.string().min(1),
  query: z.record(z.string(), template).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: template.optional(),
  body_type: z.enum(['json', 'form', 'text']).optional(),
  response: z.enum(['json', 'text', 'bytes', 'none']).optional(),
  ok: z.array(z.int().min(100).max(599)).min(1).max(50).optional(),
  follow_redirects: z.int().min(0).max(5).optional(),
});

const transformStep = z.strictObject({ ...limited(60_000), type: z.literal('transform'), expression });

const conditionStep = z.strictObject({
  ...common,
  type: z.literal('condition'),
  expression,
  get then(): z.ZodOptional<StepList> {
    return z.array(step).optional();
  },
  get else(): z.ZodOptional<StepList> {
    return z.array(step).optional();
  },
});

const forEachStep = z.strictObject({
  ...limited(31 * day),
  type: z.literal('for_each'),
  items: expression,
  concurrency: z.int().min(1).max(20).optional(),
  item_on_error: z.enum(['fail', 'continue']).optional(),
  get do(): StepList {
    return z.array(step).min(1, 'needs a step');
  },
});

const parallelStep = z.strictObject({
  ...limited(31 * day),
  type: z.literal('parallel'),
  on_branch_error: z.enum(['cancel_others', 'wait']).optional(),
  get branches(): z.ZodRecord<typeof stepId, StepList> {
    return z
      .record(stepId, z.array(step).min(1, 'needs a step'))
      .refine((branches) => Object.keys(branches).length > 0, 'needs a branch')
      .refine((branches) => Object.keys(branches).length <= 20, 'may have at most 20 branches');
  },
});

const delayStep = z
  .strictObject({
    ...common,
    type: z.literal('delay'),
    for: z
      .union([duration(365 * day, 0), z.string().refine(hasTemplate)], `${durationFault(365 * day)}, or a template`)
      .optional(),
    until: z.string().min(1).optional(),
  })
  .refine((delay) => (delay.for === undefined) !== (delay.until === undefined), 'needs either "for" or "until"');

const waitForInputStep = z.strictObject({
  ...limited(365 * day),
  type: z.literal('wait_for_input'),
  message: z.string().max(10_000).optional(),
  schema: z.record(z.string(), jsonValue).optional(),
  get on_timeout(): z.ZodOptional<z.ZodUnion<readonly [z.ZodLiteral<'fail'>, StepList]>> {
    return z.union([z.literal('fail'), z.array(step).min(1)]).optional();
  },
});

const operationStep = z.strictObject({
  ...limited(hour),
  type: z.literal('operation'),
  operation: z.string().min(1),
  with: z.record(z.string(), template).optional(),
  wait: z.boolean().optional(),
});

const failStep = z.strictObject({
  ...common,
  type: z.literal('fail'),
  message: z.string().max(10_000).optional(),
  code: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,39}$/, 'must begin with a letter and hold at most 40 of a–z, 0–9 and _')
    .optional(),
});

const outputStep = z.strictObject({ ...common, type: z.literal('output'), value: expression });

export const step = z.discriminatedUnion('type', [
  httpStep,
  transformStep,
  conditionStep,
  forEachStep,
  parallelStep,
  delayStep,
  waitForInputStep,
  operationStep,
  failStep,
  outputStep,
]);

export type Step = z.output<typeof step>;
export type StepType = Step['type'];
