import type { EventSubject } from '../../ports/event-feed.ts';

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
  /** Of the step run it tells of. */
  path?: string;
  [detail: string]: unknown;
}
