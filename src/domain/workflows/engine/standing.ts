import { parseDuration } from '../definition/duration.ts';
import { day } from '../definition/step.schema.ts';
import type { ExecutionState, ExecutionStatus } from '../executions/execution.entity.ts';
import type { ClaimedRow } from './claim.ts';

const usualTimeout = day;

const millisecondsOf = (at: Date | string | null) => (at === null ? null : new Date(at).getTime());

/** How an execution stands as its driver sees it; times are milliseconds since 1970. */
export class Standing {
  status: ExecutionStatus;
  state: ExecutionState;
  started_at: number | null;

  constructor({ status, state, started_at }: Pick<ClaimedRow, 'status' | 'state' | 'started_at'>) {
    this.status = status;
    this.state = { ...state };
    this.started_at = millisecondsOf(started_at);
  }

  get isFailing(): boolean {
    return this.state.failure !== undefined;
  }

  /** A pause is over, as far as anybody knows. */
  goOn(now: number): void {
    const { paused_at, ...rest } = this.state;
    if (paused_at === undefined) return;
    this.state = { ...rest, paused: (rest.paused ?? 0) + now - paused_at };
    this.status = 'running';
  }

  /** @returns whether it was not paused before */
  pause(now: number): boolean {
    const isNew = this.status !== 'paused';
    this.status = 'paused';
    this.state.paused_at ??= now;
    return isNew;
  }

  /** When the execution has taken too long; the time it was paused does not count. */
  deadline(timeout: string | undefined, now: number): number {
    const limit = (timeout === undefined ? null : parseDuration(timeout)) ?? usualTimeout;
    return (this.started_at ?? now) + limit + (this.state.paused ?? 0);
  }
}
