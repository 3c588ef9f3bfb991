import type { Services } from '../../services.ts';
import type { ExecutionState, ExecutionStatus } from '../executions/execution.entity.ts';
import type { ExecutionEvent } from '../executions/execution-feed.ts';
import type { StepStatus } from '../executions/step-run.entity.ts';
import type { Checkpoint, Hold } from './checkpoint.ts';
import type { Site } from './plan/planner.ts';
import { isSettled, isWithin, type StepState } from './plan/step-state.ts';

/** Step runs of an execution at most. */
export const mostStepRuns = 50_000;
/** Events of an execution at most. */
export const mostEvents = 200_000;
/** Bytes of what an execution's expressions can see. */
export const mostContext = 64 * 1024 * 1024;

/** What an execution may become, as one who advances it sees it. */
export interface Standing {
  status: ExecutionStatus;
  state: ExecutionState;
  started_at: number | null;
}

/** Events that tell of a step run's new status; others have none. */
const eventOf: Partial<Record<StepStatus, string>> = {
  completed: 'step.completed',
  failed: 'step.failed',
  skipped: 'step.skipped',
  cancelled: 'step.cancelled',
  waiting: 'step.waiting',
  running: 'step.started',
};

/** The step runs of one execution in memory, and what of them and of its log has not been written yet. */
export class Journal {
  readonly runs = new Map<string, StepState>();
  readonly #clock: Services['clock'];
  #changed = new Set<StepState>();
  #events: ExecutionEvent[] = [];
  #eventCount: number;
  #hasProgressed = false;
  #position = 0;
  /** Bytes of outputs. */
  context = 0;

  constructor(clock: Services['clock'], eventCount: number) {
    this.#clock = clock;
    this.#eventCount = eventCount;
  }

  get now(): number {
    return this.#clock.now().getTime();
  }

  get isDirty(): boolean {
    return this.#changed.size > 0 || this.#events.length > 0;
  }

  get eventCount(): number {
    return this.#eventCount;
  }

  /** Which limit is passed; null: none is. */
  get excess(): { code: string; message: string } | null {
    if (this.runs.size > mostStepRuns)
      return { code: 'too_many_steps', message: `An execution may have at most ${mostStepRuns} step runs` };
    if (this.#eventCount > mostEvents)
      return { code: 'too_many_events', message: `An execution may have at most ${mostEvents} events` };
    if (this.context > mostContext)
      return { code: 'context_too_large', message: `Outputs may have at most ${mostContext} bytes together` };
    return null;
  }

  /** Takes in step runs as rows have them. */
  load(runs: readonly StepState[]): void {
    for (const run of runs) {
      this.runs.set(run.path, run);
      this.#position = Math.max(this.#position, run.position);
      this.context += run.output === null ? 0 : JSON.stringify(run.output).length;
    }
  }

  say(type: string, detail: Record<string, unknown> = {}): void {
    this.#eventCount += 1;
    this.#events.push({ type, at: new Date(this.now).toISOString(), ...detail });
  }

  /** A run of a step that is reached for the first time. */
  open({ step, path }: Site): StepState {
    this.#position += 1;
    const run: StepState = {
      path,
      position: this.#position,
      step_id: step.id,
      type: step.type,
      status: 'pending',
      tries: 0,
      input: null,
      output: null,
      output_sha256: null,
      error: null,
      waits_for: null,
      started_at: this.now,
      finished_at: null,
      next_try_at: null,
    };
    this.runs.set(path, run);
    this.#changed.add(run);
    return run;
  }

  /** Moves a step run on, and tells of it. `type` names another event than the status has; null: none. */
  move(
    run: StepState,
    change: Partial<StepState>,
    type: string | null = eventOf[change.status ?? run.status] ?? null,
  ): void {
    Object.assign(run, change);
    if (change.status !== undefined && change.status !== 'waiting') run.next_try_at = change.next_try_at ?? null;
    if (change.status !== undefined && change.status !== 'waiting') run.waits_for = null;
    if (isSettled(run)) {
      run.finished_at = this.now;
      this.#hasProgressed = true;
    }
    this.#changed.add(run);
    if (type === null) return;
    this.say(type, {
      path: run.path,
      ...(run.tries > 0 && { tries: run.tries }),
      ...(run.error !== null && { error: { code: run.error.code, message: run.error.message } }),
      ...(run.next_try_at !== null && { until: new Date(run.next_try_at).toISOString() }),
      ...(run.waits_for !== null && { waits_for: run.waits_for }),
    });
  }

  /** Notes what is not worth telling. */
  touch(run: StepState): void {
    this.#changed.add(run);
  }

  /** Breaks off what is not settled: all of it, or what lies within a step run. */
  breakOff(within?: string): string[] {
    const paths: string[] = [];
    for (const run of this.runs.values()) {
      if (isSettled(run) || (within !== undefined && !isWithin(run.path, within))) continue;
      this.move(run, { status: 'cancelled' });
      paths.push(run.path);
    }
    return paths;
  }

  /** Ends the steps around one that has ended the execution. */
  close(path: string): void {
    for (const run of this.runs.values())
      if (!isSettled(run) && isWithin(path, run.path)) this.move(run, { status: 'completed' });
  }

  /** What there is to write, which counts as written from here on. */
  take(hold: Hold, { status, state, started_at }: Standing): Checkpoint {
    const checkpoint: Checkpoint = {
      hold,
      status,
      state: { ...state, events: this.#eventCount },
      started_at,
      outcome: null,
      output: null,
      output_sha256: null,
      error: null,
      waiting_until: null,
      hasProgressed: this.#hasProgressed,
      isReleased: false,
      isHandedOn: false,
      // Copied: they may have gone further by the time they are written.
      runs: [...this.#changed].map((run) => ({ ...run })),
      events: this.#events,
    };
    this.#changed = new Set();
    this.#events = [];
    this.#hasProgressed = false;
    return checkpoint;
  }
}
