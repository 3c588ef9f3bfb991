import type { ClaimedRow } from '../claim.ts';
import type { Guide } from '../guides.ts';
import type { StepState } from '../plan/step-state.ts';

/** An execution with what its driver needs to know. */
export interface Claimed {
  row: ClaimedRow;
  guide: Guide;
  runs: readonly StepState[];
  input: unknown;
}
