import { parseDuration } from '../../definition/duration.ts';
import type { Step } from '../../definition/step.schema.ts';
import { defaultAttempts } from '../../steps/default-attempts.ts';
import type { StepError } from '../../steps/step-call.ts';

const usualDelay = 1_000;
const usualFactor = 2;
const mostDelay = 300_000;
/** A peer may ask for more time than steps give themselves. */
const mostAsked = 3_600_000;

export interface Failure {
  error: StepError;
  isRetryable: boolean;
  /** Milliseconds the peer asks to wait. */
  retryAfter?: number;
}

/**
 * How long a failed step waits before its next try: a random share of a delay that grows with each try, and what the peer asks for at least.
 * @param tries made so far
 * @param random from 0 to 1
 * @returns milliseconds; null: there is no further try
 */
export function retryDelay(step: Step, tries: number, failure: Failure, random: number): number | null {
  const { attempts = defaultAttempts(step), delay, factor = usualFactor, max_delay, on } = step.retry ?? {};
  const counts = failure.isRetryable && (on === undefined || on.includes(failure.error.code));
  if (!counts || tries >= attempts) return null;
  const first = (delay === undefined ? null : parseDuration(delay)) ?? usualDelay;
  const most = (max_delay === undefined ? null : parseDuration(max_delay)) ?? mostDelay;
  const wait = Math.min(first * factor ** (tries - 1), most) * random;
  return Math.round(Math.max(wait, Math.min(failure.retryAfter ?? 0, mostAsked)));
}
