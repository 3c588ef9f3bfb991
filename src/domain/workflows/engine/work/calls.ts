import { createHash } from 'node:crypto';
import { parseDuration } from '../../definition/duration.ts';
import type { Step } from '../../definition/step.schema.ts';
import { runHttpStep } from '../../steps/http/http-step.ts';
import { runOperationStep } from '../../steps/operation/operation-step.ts';
import type { StepCall, StepResult } from '../../steps/step-call.ts';

const usualLimit = { http: 30_000, operation: 300_000 };

/** The steps that act on the outside or on the project. */
export type ActingStep = Extract<Step, { type: 'http' | 'operation' }>;

export const isActing = (step: Step): step is ActingStep => step.type === 'http' || step.type === 'operation';

/**
 * Equal over tries and drivers, and for no other step run.
 * @param tried_in the execution in which the step was first tried: of a step that a crash cut off, an earlier one than that which runs now
 */
export const idempotencyKey = (tried_in: string, path: string): string =>
  createHash('sha256').update(`${tried_in}|${path}|`).digest('hex');

const timedOut = (milliseconds: number): StepResult => ({
  kind: 'failed',
  error: { code: 'timeout', message: `The step took longer than ${milliseconds / 1000} s` },
  isRetryable: true,
});

/**
 * Has a step act, for as long as it may.
 * @returns how it ended; null when it was broken off from outside
 */
export async function callStep(
  call: Omit<StepCall, 'signal' | 'step'> & { step: ActingStep },
  signal: AbortSignal,
): Promise<StepResult | null> {
  const { step, services, execution_id, path } = call;
  const limit = (step.timeout === undefined ? null : parseDuration(step.timeout)) ?? usualLimit[step.type];
  const late = AbortSignal.timeout(limit);
  const whole = { ...call, signal: AbortSignal.any([signal, late]) };
  try {
    const result = await (step.type === 'http'
      ? runHttpStep({ ...whole, step })
      : runOperationStep({ ...whole, step }));
    return signal.aborted ? null : result;
  } catch (err) {
    if (signal.aborted) return null;
    if (late.aborted) return timedOut(limit);
    services.log.error({ err, execution: execution_id, path }, 'a step could not be executed');
    return {
      kind: 'failed',
      error: { code: 'internal', message: 'A fault of the server, see its log' },
      isRetryable: true,
    };
  }
}
