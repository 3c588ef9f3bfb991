import type { ExecutionError, ExecutionState, ExecutionStatus } from '../../executions/execution.entity.ts';
import type { ExecutionEvent } from '../../executions/execution-feed.ts';
import type { StepState } from '../plan/step-state.ts';

/** Who advances an execution: what one writes counts only as long as nobody has taken over. */
export interface Hold {
  id: string;
  project_id: number;
  workflow_id: string;
  attempt: number;
}

/** What one transaction keeps of an execution: where it stands, the step runs that have changed, and the events that tell of it. */
export interface Checkpoint {
  hold: Hold;
  status: ExecutionStatus;
  outcome: string | null;
  /** JSON text; null: none, or in a blob. */
  output: string | null;
  output_sha256: string | null;
  error: ExecutionError | null;
  state: ExecutionState;
  started_at: number | null;
  waiting_until: number | null;
  /** A step has come to its end since the last checkpoint. */
  hasProgressed: boolean;
  /** Nobody advances it any more, until something happens. */
  isReleased: boolean;
  /** It goes on at once, with whoever is free. */
  isHandedOn: boolean;
  runs: readonly StepState[];
  events: readonly ExecutionEvent[];
}

/** Whether it ends the execution. */
export const isOver = ({ status }: Pick<Checkpoint, 'status'>): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

/** Whether the execution has come so far that it cannot be what its process dies of: a step has ended, or it has come to rest by itself. */
export const clearsSuspicion = ({
  hasProgressed,
  isReleased,
  isHandedOn,
}: Pick<Checkpoint, 'hasProgressed' | 'isReleased' | 'isHandedOn'>): boolean =>
  hasProgressed || (isReleased && !isHandedOn);

/** What became of a checkpoint; null: somebody else advances the execution, and nothing was kept. */
export type Kept = {
  /** Something has happened meanwhile: it has not been released. */
  wake: boolean;
  cancel: string | null;
} | null;
