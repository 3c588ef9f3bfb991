import type { Site } from './plan.ts';
import type { StepState } from './step-state.ts';

/** The run of a step that is reached for the first time, as the `position`th of its execution. `now` in milliseconds since 1970. */
export const newRun = ({ step, path }: Site, position: number, now: number): StepState => ({
  path,
  position,
  step_id: step.id,
  type: step.type,
  status: 'pending',
  tries: 0,
  input: null,
  output: null,
  output_sha256: null,
  error: null,
  waits_for: null,
  tried_in: null,
  started_at: now,
  finished_at: null,
  next_try_at: null,
});
