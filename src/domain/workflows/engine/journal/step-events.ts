import type { StepStatus } from '../../executions/step-run.entity.ts';
import type { StepState } from '../plan/step-state.ts';

/** Events that tell of a step run's new status; others have none. */
const eventOf: Partial<Record<StepStatus, string>> = {
  completed: 'step.completed',
  failed: 'step.failed',
  skipped: 'step.skipped',
  cancelled: 'step.cancelled',
  waiting: 'step.waiting',
  running: 'step.started',
};

/** What the log calls it that a step run has come to a status. */
export const eventTypeOf = (status: StepStatus): string | null => eventOf[status] ?? null;

/** What the log says of a step run beside that. */
export const detailOf = ({
  path,
  status,
  tries,
  error,
  next_try_at,
  waits_for,
  started_at,
  finished_at,
}: StepState): Record<string, unknown> => ({
  path,
  status,
  ...(finished_at !== null && { duration_ms: finished_at - started_at }),
  ...(tries > 0 && { tries }),
  ...(error !== null && { error: { code: error.code, message: error.message } }),
  ...(next_try_at !== null && { until: new Date(next_try_at).toISOString() }),
  ...(waits_for !== null && { waits_for }),
});
