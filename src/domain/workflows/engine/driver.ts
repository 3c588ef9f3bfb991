import type { Services } from '../../services.ts';
import { parseDuration } from '../definition/duration.ts';
import { day } from '../definition/step.schema.ts';
import { beginExecuting } from './begin-executing.ts';
import type { CallSlots } from './calls.ts';
import type { Checkpoint, Hold } from './checkpoint.ts';
import type { CheckpointWriter } from './checkpoint-writer.ts';
import { type ClaimedRow, hearWord } from './claim.ts';
import { type Ending, endingOf } from './ending.ts';
import type { Guide } from './guides.ts';
import { Journal, type Standing } from './journal.ts';
import { type Plan, Planner } from './plan/planner.ts';
import type { StepState } from './plan/step-state.ts';
import { readStepRows } from './step-rows.ts';
import { StepWork } from './step-work.ts';
import { storeValue } from './stored-value.ts';

/** Why a driver ends before its execution rests: another has taken over, or the process stops. */
export type DriverStop = 'lost' | 'closing';

/** What a process gives to all its drivers. */
export interface DriverBench {
  services: Services;
  writer: CheckpointWriter;
  calls: CallSlots;
  /** From 0 to 1. */
  random(): number;
}

/** An execution with what its driver needs to know. */
export interface Claimed {
  row: ClaimedRow;
  guide: Guide;
  runs: readonly StepState[];
  input: unknown;
}

/** A driver makes way for others after so many milliseconds or steps. */
const sliceTime = 30_000;
const sliceSteps = 500;
/** Drivers of one execution that die one after another. */
export const mostCrashes = 5;

const usualTimeout = day;

/** Somebody else advances the execution: nothing more may be written. */
class Fenced extends Error {}

const isActing = ({ type }: Pick<StepState, 'type'>) => type === 'http' || type === 'operation';

const millisecondsOf = (at: Date | string | null) => (at === null ? null : new Date(at).getTime());

/** Advances one execution from checkpoint to checkpoint, until it ends, rests, or is somebody else's. */
export class Driver {
  readonly hold: Hold;
  readonly #bench: DriverBench;
  readonly #claimed: Claimed;
  readonly #standing: Standing;
  readonly #journal: Journal;
  readonly #planner: Planner;
  readonly #work: StepWork;
  readonly #began = performance.now();
  readonly #abort = new AbortController();
  #steps = 0;
  #stop: DriverStop | null = null;
  #cancel: string | null = null;
  #hasWord = false;
  #ring = () => {};
  #hasRung = false;

  constructor(bench: DriverBench, claimed: Claimed) {
    const { row, runs } = claimed;
    this.#bench = bench;
    this.#claimed = claimed;
    this.hold = { id: row.id, project_id: row.project_id, workflow_id: row.workflow_id, attempt: row.attempt };
    this.#standing = { status: row.status, state: { ...row.state }, started_at: millisecondsOf(row.started_at) };
    if (row.cancel_requested) this.#cancel = row.cancel_reason ?? 'cancelled';
    const { services, calls, random } = bench;
    this.#journal = new Journal(services.clock, row.state?.events ?? 1);
    this.#journal.load(runs);
    // What a driver before was at is tried again, and what a step waits for is asked after.
    for (const run of runs) if (run.status === 'running' && isActing(run)) run.status = 'pending';
    this.#askPeers();
    this.#goOn();
    this.#planner = new Planner(claimed.guide.definition, this.#journal.runs);
    this.#work = new StepWork({
      services,
      execution_id: row.id,
      guide: claimed.guide,
      journal: this.#journal,
      calls,
      signal: this.#abort.signal,
      random,
      rootsAt: (scope) => this.#roots(scope.roots()),
      answered: () => this.#wakeUp(),
    });
  }

  /** Has it end as soon as what is being written has been. */
  stop(reason: DriverStop): void {
    if (this.#stop !== 'lost') this.#stop = reason;
    if (reason === 'lost') this.#abort.abort(reason);
    this.#wakeUp();
  }

  /** Breaks off what is under way, when the process has waited for it long enough. */
  breakOff(): void {
    this.#abort.abort('closing');
  }

  cancel(reason: string): void {
    if (this.#cancel !== null) return;
    this.#cancel = reason;
    this.#work.breakOff();
    this.#wakeUp();
  }

  /** Something has happened to the execution: its rows say what. */
  word(): void {
    this.#hasWord = true;
    this.#wakeUp();
  }

  /** @throws what is a fault of ours; the execution is taken up again then */
  async run(): Promise<void> {
    try {
      await this.#advance();
    } catch (error) {
      if (!(error instanceof Fenced) && this.#stop !== 'lost') throw error;
    } finally {
      this.#abort.abort('over');
    }
  }

  /** Crawl runs and deployments that are waited for may have ended. */
  #askPeers(): void {
    for (const run of this.#journal.runs.values())
      if (run.status === 'waiting' && isActing(run) && run.waits_for !== null) run.status = 'pending';
  }

  /** A pause is over, as far as anybody knows. */
  #goOn(): void {
    const { state } = this.#standing;
    const { paused_at, ...rest } = state;
    if (paused_at === undefined) return;
    this.#standing.state = { ...rest, paused: (state.paused ?? 0) + this.#journal.now - paused_at };
    this.#standing.status = 'running';
  }

  /** What expressions see. */
  #roots(at: object): Record<string, unknown> {
    const { row, guide, input } = this.#claimed;
    const { started_at, state } = this.#standing;
    const { organization, project, workflow } = guide;
    const { public_url } = this.#bench.services.settings;
    const path = `${organization.machine_name}/projects/${project.machine_name}/workflows/${workflow.id}/executions/${row.id}`;
    return {
      input,
      vars: guide.definition.variables ?? {},
      execution: {
        id: row.id,
        started_at: new Date(started_at ?? this.#journal.now).toISOString(),
        url: `${public_url}/organizations/${path}`,
      },
      workflow,
      ...(state.failure && { error: state.failure }),
      ...at,
    };
  }

  async #advance(): Promise<void> {
    if (this.#claimed.row.crashes >= mostCrashes) {
      const message = `The server died ${mostCrashes} times while it executed this`;
      await this.#end({ status: 'failed', error: { code: 'crashed', message, path: null } });
      return;
    }
    if (this.#cancel === null && !this.#standing.state.begun && !(await this.#begin())) return;
    while (!(await this.#turn()));
  }

  /** @returns false: it is over, or waits for a slot */
  async #begin(): Promise<boolean> {
    const { row, guide } = this.#claimed;
    this.#standing.started_at ??= this.#journal.now;
    const roots = this.#roots({ steps: {} });
    const begun = await beginExecuting(this.#bench.services, guide.definition, { row, hold: this.hold, roots });
    if (begun.kind === 'lost') throw new Fenced();
    if (begun.kind === 'queued') return false;
    this.#standing.status = 'running';
    this.#standing.state.begun = true;
    this.#journal.say('execution.started');
    if (begun.kind === 'begun') return true;
    await this.#end(begun.ending);
    return false;
  }

  /** Looks once at what may run, and does it. @returns whether there is nothing more to do here */
  async #turn(): Promise<boolean> {
    if (this.#stop === 'lost') throw new Fenced();
    await this.#work.takeAnswers();
    if (this.#cancel !== null) return this.#end({ status: 'cancelled', reason: this.#cancel });
    if (this.#hasWord) await this.#hear();
    const plan = this.#plan();
    if (plan.outcome.kind !== 'open') return this.#conclude(plan.outcome, plan);
    if (plan.actions.length > 0 && this.#stop === null) {
      const isLong = this.#steps >= sliceSteps || performance.now() - this.#began > sliceTime;
      if (isLong && this.#work.underWay === 0) return this.#release({ isHandedOn: true });
      this.#steps += plan.actions.length;
      await this.#work.act(plan.actions);
      if (this.#work.isReady) await this.#launch();
      return false;
    }
    if (this.#work.underWay > 0) {
      if (this.#journal.isDirty) await this.#write(this.#take());
      else await this.#heard(plan.due);
      return false;
    }
    return this.#stop === 'closing' ? this.#release({ isHandedOn: true }) : this.#rest(plan);
  }

  /** What may run next; past its own time or a limit, that the execution has failed. */
  #plan(): Plan {
    const { now, excess } = this.#journal;
    const isFailing = this.#standing.state.failure !== undefined;
    const plan = this.#planner.plan(now, isFailing ? 'on_failure' : 'steps');
    if (excess !== null) plan.outcome = { kind: 'failed', error: excess };
    else if (!isFailing && plan.outcome.kind === 'open' && now >= this.#deadline)
      plan.outcome = { kind: 'failed', error: { code: 'timeout', message: 'The execution took longer than it may' } };
    return plan;
  }

  /** When the execution has taken too long, milliseconds since 1970; the time it was paused does not count. */
  get #deadline(): number {
    const { timeout } = this.#claimed.guide.definition;
    const limit = (timeout === undefined ? null : parseDuration(timeout)) ?? usualTimeout;
    const { state, started_at } = this.#standing;
    return (started_at ?? this.#journal.now) + limit + (state.paused ?? 0);
  }

  /** The steps have come to their end: the execution is over, or its steps for failures begin. */
  async #conclude(outcome: Exclude<Plan['outcome'], { kind: 'open' }>, { scope }: Plan): Promise<boolean> {
    const { services } = this.#bench;
    const { definition } = this.#claimed.guide;
    const { state } = this.#standing;
    if (state.failure !== undefined) return this.#end({ status: 'failed', error: state.failure });
    if (outcome.kind === 'ended') this.#journal.close(outcome.path);
    const ending = await endingOf(services, outcome, definition, this.#roots(scope.roots()));
    const isLast = definition.on_failure === undefined || this.#journal.excess !== null;
    if (ending.error === undefined || isLast) return this.#end(ending);
    this.#work.breakOff();
    state.failure = ending.error;
    this.#journal.say('execution.failing', { error: ending.error });
    return false;
  }

  /** Notes steps that are about to act, and lets them. */
  async #launch(): Promise<void> {
    await this.#write(this.#take());
    if (this.#stop === null && this.#cancel === null) this.#work.launch();
    else this.#work.forgo();
  }

  #take(): Checkpoint {
    return this.#journal.take(this.hold, this.#standing);
  }

  /** @throws Fenced */
  async #write(checkpoint: Checkpoint): Promise<{ wake: boolean }> {
    const kept = await this.#bench.writer.write(checkpoint);
    if (kept === null) throw new Fenced();
    if (kept.cancel !== null) this.cancel(kept.cancel);
    if (kept.wake) this.#hasWord = true;
    return kept;
  }

  /** Nothing can run for now: writes what it waits for. @returns false when something has happened meanwhile */
  async #rest({ due, waitsForInput, waitsOtherwise }: Plan): Promise<boolean> {
    const { state } = this.#standing;
    const { now } = this.#journal;
    if (!waitsForInput && !waitsOtherwise && due === null)
      throw new Error('nothing can run, and nothing is waited for');
    const isPaused = waitsForInput && !waitsOtherwise;
    const times = [
      ...(due === null ? [] : [due]),
      ...(isPaused || state.failure !== undefined ? [] : [this.#deadline]),
    ];
    const wasPaused = this.#standing.status === 'paused';
    this.#standing.status = isPaused ? 'paused' : 'running';
    if (isPaused && state.paused_at === undefined) state.paused_at = now;
    if (isPaused && !wasPaused) this.#journal.say('execution.paused');
    return this.#release({ waiting_until: times.length === 0 ? null : Math.min(...times) });
  }

  /** Leaves the execution to itself, or to whoever is free. @returns false when something has happened meanwhile */
  async #release({
    waiting_until = null,
    isHandedOn = false,
  }: {
    waiting_until?: number | null;
    isHandedOn?: boolean;
  }) {
    const kept = await this.#write({ ...this.#take(), waiting_until, isReleased: true, isHandedOn });
    return !kept.wake;
  }

  async #end({ status, outcome, output, error, reason }: Ending): Promise<true> {
    this.#work.breakOff();
    this.#journal.say(`execution.${status}`, {
      ...(outcome !== undefined && { outcome }),
      ...(error !== undefined && { error }),
      ...(reason !== undefined && { reason }),
    });
    this.#standing.status = status;
    const stored = await storeValue(this.#bench.services.blobs, output);
    await this.#write({
      ...this.#take(),
      outcome: outcome ?? null,
      output: stored.text,
      output_sha256: stored.sha256,
      error: error ?? null,
      isReleased: true,
    });
    return true;
  }

  /** Looks at what others have written: answers of people, and the end of what was waited for. */
  async #hear(): Promise<void> {
    const { orm, blobs } = this.#bench.services;
    this.#hasWord = false;
    const em = orm.em.fork();
    if (!(await hearWord(em, this.hold))) throw new Fenced();
    const written = await readStepRows(em, { blobs }, [this.hold.id]);
    for (const row of written.get(this.hold.id) ?? []) {
      const run = this.#journal.runs.get(row.path);
      if (run?.waits_for?.kind === 'input' && row.status === 'completed') Object.assign(run, row);
    }
    this.#askPeers();
    this.#goOn();
  }

  #wakeUp(): void {
    this.#hasRung = true;
    this.#ring();
  }

  /** Waits for an answer, a word, or a time. */
  async #heard(due: number | null): Promise<void> {
    const times = [...(due === null ? [] : [due]), this.#deadline];
    const wait = Math.min(Math.max(Math.min(...times) - this.#journal.now, 0), 1_000_000);
    if (!this.#hasRung)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, wait + 1);
        this.#ring = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    this.#hasRung = false;
    this.#ring = () => {};
  }
}
