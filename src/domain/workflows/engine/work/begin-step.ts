import { ExpressionError } from '../../../ports/expressions.ts';
import type { Services } from '../../../services.ts';
import { parseDuration } from '../../definition/duration.ts';
import { day, type Step } from '../../definition/step.schema.ts';
import type { StepRunError, StepWait } from '../../executions/step-run.entity.ts';
import { type Evaluation, evaluateExpression, fillTemplates, holds } from '../../expressions/evaluate.ts';

/** How a step stands after the engine itself has done what it can of it. */
export interface Begun {
  /** `running`: it holds steps that come now, or has to be executed. */
  status: 'completed' | 'failed' | 'skipped' | 'running' | 'waiting';
  input?: unknown;
  output?: unknown;
  error?: StepRunError;
  waits_for?: StepWait;
  /** Milliseconds since 1970. */
  next_try_at?: number;
}

const mostItems = 10_000;
const usualPatience = 7 * day;
const furthest = 400 * day;

const failed = (code: string, message: string): Begun => ({ status: 'failed', error: { code, message } });

/** JSONata makes a single value of a list of one, and nothing of an empty one. */
const listOf = (value: unknown): unknown[] =>
  Array.isArray(value) ? [...value] : value === undefined || value === null ? [] : [value];

async function beginLoop(step: Extract<Step, { type: 'for_each' }>, evaluation: Evaluation): Promise<Begun> {
  const items = listOf(await evaluateExpression(step.items, evaluation));
  if (items.length > mostItems)
    return failed('too_many_items', `items: there are ${items.length}; at most ${mostItems} are gone through`);
  return { status: 'running', input: { items } };
}

async function beginDelay(step: Extract<Step, { type: 'delay' }>, evaluation: Evaluation, now: number): Promise<Begun> {
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
}

async function byType(step: Step, evaluation: Evaluation, now: number): Promise<Begun> {
  switch (step.type) {
    case 'transform':
      return { status: 'completed', output: (await evaluateExpression(step.expression, evaluation)) ?? null };
    case 'output':
      return { status: 'completed', output: (await evaluateExpression(step.value, evaluation)) ?? null };
    case 'fail': {
      const message = await fillTemplates(step.message ?? 'The workflow ends here', evaluation);
      return failed(step.code ?? 'failed', typeof message === 'string' ? message : JSON.stringify(message));
    }
    case 'condition':
      return { status: 'running', input: { result: await holds(step.expression, evaluation) } };
    case 'for_each':
      return beginLoop(step, evaluation);
    case 'delay':
      return beginDelay(step, evaluation, now);
    case 'wait_for_input': {
      const message = await fillTemplates(step.message ?? null, evaluation);
      const limit = (step.timeout === undefined ? null : parseDuration(step.timeout)) ?? usualPatience;
      return {
        status: 'waiting',
        input: { message, schema: step.schema ?? null },
        waits_for: { kind: 'input' },
        next_try_at: now + limit,
      };
    }
    case 'parallel':
    case 'http':
    case 'operation':
      return { status: 'running' };
  }
}

/** Milliseconds a transformation may take, when its definition says so. */
const limitOf = (step: Step): number | undefined =>
  step.type === 'transform' && step.timeout !== undefined ? (parseDuration(step.timeout) ?? undefined) : undefined;

/**
 * Begins a step: asks its condition, and does what needs nothing of the outside. Faults of expressions are the step's failure.
 * @param now milliseconds since 1970
 */
export async function beginStep(
  { expressions }: Pick<Services, 'expressions'>,
  step: Step,
  { roots, signal, now }: { roots: Record<string, unknown>; signal: AbortSignal; now: number },
): Promise<Begun> {
  const timeout = limitOf(step);
  const evaluation: Evaluation = { expressions, roots, signal, ...(timeout !== undefined && { timeout }) };
  try {
    if (step.if !== undefined && !(await holds(step.if, { expressions, roots, signal }))) return { status: 'skipped' };
    return await byType(step, evaluation, now);
  } catch (error) {
    if (!(error instanceof ExpressionError) || error.fault === 'unavailable') throw error;
    return failed(error.fault === 'timeout' ? 'timeout' : 'bad_expression', error.message);
  }
}
