import type { EventSubject } from '../../../ports/event-feed.ts';

/** What is watched of an execution: every transition, in the order they were committed. */
export const executionSubject = ({ id, project_id }: { id: string; project_id: number }): EventSubject => ({
  project_id,
  topic: `execution:${id}`,
});

/** One entry of an execution's log. */
export interface ExecutionEvent {
  /** `execution.started`, `step.completed`, `log`… */
  type: string;
  /** When it happened, ISO 8601. */
  at: string;
  /** Path of the step run the event is about. */
  path?: string;
  /** Who did it; left out: the workflow itself. */
  actor?: string;
  /** What the execution, or the step run of the event, came to. */
  status?: string;
  /** How long that had taken, of what has ended. */
  duration_ms?: number;
  [detail: string]: unknown;
}
