import type { Services } from '../../../kernel/services.ts';
import { isLonger } from '../../../lib/objects.ts';
import { millisecondsOf } from '../../../lib/timing.ts';
import { day, parseDuration } from '../definition/duration.ts';
import type { ExecutionState, ExecutionStatus } from '../executions/execution.entity.ts';
import type { ExecutionEvent } from '../executions/execution-feed.ts';
import type { StepStatus } from '../executions/step-run.entity.ts';
import { isActing } from '../step-types.ts';
import { InputTooLarge, keptError } from '../steps/step-type.ts';
import { type Checkpoint, type Lease, sizeAsJson } from './checkpoints.ts';
import type { ClaimedRow } from './lease.ts';
import { isSettled, isWithin, type Site, type StepState } from './plan.ts';

const usualTimeout = day;

/** How an execution stands as its driver sees it; times are milliseconds since 1970. */
export class RunState {
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

  /** A pause is over, as far as is known. */
  resume(now: number): void {
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
    const limit = parseDuration(timeout) ?? usualTimeout;
    return (this.started_at ?? now) + limit + (this.state.paused ?? 0);
  }
}

/** How much there may be of one execution. */
export const executionLimits = {
  stepRuns: 50_000,
  events: 200_000,
  /** Bytes of what its step runs keep: inputs, outputs and errors. */
  context: 64 * 1024 * 1024,
};

/** What there is of one. */
type ExecutionSize = typeof executionLimits;

/** Which limit an execution is beyond; null: none. */
function excessOf({ stepRuns, events, context }: ExecutionSize): { code: string; message: string } | null {
  const most = executionLimits;
  if (stepRuns > most.stepRuns)
    return { code: 'too_many_steps', message: `An execution may have at most ${most.stepRuns} step runs` };
  if (events > most.events)
    return { code: 'too_many_events', message: `An execution may have at most ${most.events} events` };
  if (context > most.context)
    return {
      code: 'context_too_large',
      message: `Inputs, outputs and errors of steps may have at most ${most.context} bytes together`,
    };
  return null;
}

/** Events of a step run's new status; others have none. */
const eventOf: Partial<Record<StepStatus, string>> = {
  completed: 'step.completed',
  failed: 'step.failed',
  skipped: 'step.skipped',
  cancelled: 'step.cancelled',
  waiting: 'step.waiting',
  running: 'step.started',
};

/** What the log calls it that a step run has come to a status. */
const eventTypeOf = (status: StepStatus): string | null => eventOf[status] ?? null;

/** What the log says of a step run beside that. */
const detailOf = ({
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

/** The run of a step that is reached for the first time, as the `position`th of its execution. `now` in milliseconds since 1970. */
const newRun = ({ step, path }: Site, position: number, now: number): StepState => ({
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

/** The step runs of one execution in memory, and what of them and of its log has not been written yet. */
export class Journal {
  readonly runs = new Map<string, StepState>();
  readonly #clock: Pick<Services['sharedClock'], 'recent'>;
  #changed = new Set<StepState>();
  #events: ExecutionEvent[] = [];
  #eventCount: number;
  #hasProgressed = false;
  #position = 0;
  /** Bytes of inputs, outputs and errors. */
  context = 0;
  /** Those of inputs, by step run. */
  readonly #inputs = new Map<StepState, number>();

  constructor(clock: Pick<Services['sharedClock'], 'recent'>, eventCount: number) {
    this.#clock = clock;
    this.#eventCount = eventCount;
  }

  get now(): number {
    return this.#clock.recent().getTime();
  }

  /** Whether a step has come to its end since the last checkpoint. */
  get hasProgressed(): boolean {
    return this.#hasProgressed;
  }

  get isDirty(): boolean {
    return this.#changed.size > 0 || this.#events.length > 0;
  }

  /** Which limit is passed; null: none is. */
  get excess(): { code: string; message: string } | null {
    return excessOf({ stepRuns: this.runs.size, events: this.#eventCount, context: this.context });
  }

  /** Takes in step runs as rows have them. */
  load(runs: readonly StepState[]): void {
    for (const run of runs) {
      // What a driver before was at is tried again.
      if (run.status === 'running' && isActing(run)) run.status = 'pending';
      this.runs.set(run.path, run);
      this.#position = Math.max(this.#position, run.position);
      this.context += sizeAsJson(run.output) + sizeAsJson(run.error);
      this.#weighInput(run, sizeAsJson(run.input));
    }
  }

  #weighInput(run: StepState, size: number): void {
    this.context += size - (this.#inputs.get(run) ?? 0);
    this.#inputs.set(run, size);
  }

  /** Takes room for what a step begins with or acts on, before it does. @throws InputTooLarge */
  admit(run: StepState, input: object): void {
    const left = executionLimits.context - this.context + (this.#inputs.get(run) ?? 0);
    // Many that do not fit may come together: their JSON is not made for that.
    const size = isLonger(input, left) ? Number.POSITIVE_INFINITY : sizeAsJson(input);
    if (size > left) throw new InputTooLarge(executionLimits.context);
    this.#weighInput(run, size);
  }

  /** Keeps what a step has acted on. */
  keepInput(run: StepState, input: unknown): void {
    run.input = input;
    this.#weighInput(run, sizeAsJson(input));
  }

  /** Checks again the steps that wait for a crawl run or a deployment. */
  recheckPeers(): void {
    for (const run of this.runs.values())
      if (run.status === 'waiting' && isActing(run) && run.waits_for !== null) run.status = 'pending';
  }

  log(type: string, detail: Record<string, unknown> = {}): void {
    this.#eventCount += 1;
    this.#events.push({ type, at: new Date(this.now).toISOString(), ...detail });
  }

  /** A run of a step that is reached for the first time. */
  open(site: Site): StepState {
    this.#position += 1;
    const run = newRun(site, this.#position, this.now);
    this.runs.set(run.path, run);
    this.#changed.add(run);
    return run;
  }

  /** Moves a step run on, and logs the event. `type` names another event than the status has; null: none. */
  move(run: StepState, change: Partial<StepState>, type = eventTypeOf(change.status ?? run.status)): void {
    const before = run.error;
    Object.assign(run, change, change.error && { error: keptError(change.error) });
    if (run.error !== before) this.context += sizeAsJson(run.error) - sizeAsJson(before);
    if (change.status !== undefined && change.status !== 'waiting') {
      run.next_try_at = change.next_try_at ?? null;
      run.waits_for = null;
    }
    if (isSettled(run)) {
      run.finished_at = this.now;
      this.#hasProgressed = true;
    }
    this.#changed.add(run);
    if (type !== null) this.log(type, detailOf(run));
  }

  /** Notes what is not worth telling. */
  touch(run: StepState): void {
    this.#changed.add(run);
  }

  /** Breaks off what is not settled: all of it, or what lies within a step run. */
  breakOff(within?: string): void {
    for (const run of this.runs.values())
      if (!isSettled(run) && (within === undefined || isWithin(run.path, within)))
        this.move(run, { status: 'cancelled' });
  }

  /** Ends the steps around one that has ended the execution. */
  close(path: string): void {
    for (const run of this.runs.values())
      if (!isSettled(run) && isWithin(path, run.path)) this.move(run, { status: 'completed' });
  }

  /** What there is to write, which counts as written from here on. */
  take(lease: Lease, { status, state, started_at }: RunState): Checkpoint {
    const checkpoint: Checkpoint = {
      lease,
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
