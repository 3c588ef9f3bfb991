import type { Services } from '../../../services.ts';
import type { ExecutionEvent } from '../../executions/execution-feed.ts';
import type { Checkpoint, Hold } from '../checkpoints/checkpoint.ts';
import { newRun } from '../plan/new-run.ts';
import type { Site } from '../plan/plan.ts';
import { isActingRun, isSettled, isWithin, type StepState } from '../plan/step-state.ts';
import type { Standing } from '../standing.ts';
import { excessOf } from './limits.ts';
import { detailOf, eventTypeOf } from './step-events.ts';

/** The step runs of one execution in memory, and what of them and of its log has not been written yet. */
export class Journal {
  readonly runs = new Map<string, StepState>();
  readonly #clock: Pick<Services['sharedClock'], 'recent'>;
  #changed = new Set<StepState>();
  #events: ExecutionEvent[] = [];
  #eventCount: number;
  #hasProgressed = false;
  #position = 0;
  /** Bytes of outputs. */
  context = 0;

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
      if (run.status === 'running' && isActingRun(run)) run.status = 'pending';
      this.runs.set(run.path, run);
      this.#position = Math.max(this.#position, run.position);
      this.context += run.output === null ? 0 : JSON.stringify(run.output).length;
    }
  }

  /** Has the steps asked after that wait for a crawl run or a deployment. */
  askPeers(): void {
    for (const run of this.runs.values())
      if (run.status === 'waiting' && isActingRun(run) && run.waits_for !== null) run.status = 'pending';
  }

  say(type: string, detail: Record<string, unknown> = {}): void {
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

  /** Moves a step run on, and tells of it. `type` names another event than the status has; null: none. */
  move(run: StepState, change: Partial<StepState>, type = eventTypeOf(change.status ?? run.status)): void {
    Object.assign(run, change);
    if (change.status !== undefined && change.status !== 'waiting') {
      run.next_try_at = change.next_try_at ?? null;
      run.waits_for = null;
    }
    if (isSettled(run)) {
      run.finished_at = this.now;
      this.#hasProgressed = true;
    }
    this.#changed.add(run);
    if (type !== null) this.say(type, detailOf(run));
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
