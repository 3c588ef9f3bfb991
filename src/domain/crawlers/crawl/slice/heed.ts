import type { TurnResult } from '../../frontier/turn/turn-input.ts';
import type { Ending } from './ending.ts';
import type { SliceOptions } from './slice-options.ts';

/** What the counters and the wishes of others mean for the run. */
export function heed(
  ending: Ending,
  { open, timing }: Pick<SliceOptions, 'open' | 'timing'>,
  { stop, counts }: TurnResult,
): void {
  if (stop === 'cancel') ending.stop('cancel');
  else if (stop === 'stop') ending.endWith({ status: 'stopped', reason: 'user', message: null }, timing.stop);
  const { max_errors } = open.limits.budget;
  if (counts.errors <= max_errors) return;
  const message = `${counts.errors} errors, more than the ${max_errors} of max_errors`;
  ending.endWith({ status: 'failed', reason: 'max_errors', message }, 0);
}
