import type { Services } from '../../../kernel/services.ts';
import { SharedCommits } from '../../../kernel/shared-commits.ts';
import { leastJson } from '../../../lib/objects.ts';
import type { WorkflowServices } from '../workflows.ts';
import { type CallSlots, callSlots } from './admission.ts';
import { CheckpointWriter, type Lease, readStepRows, sizeAsJson } from './checkpoints.ts';
import { Journal, RunState } from './journal.ts';
import { type Claimed, clearWake, Fenced } from './lease.ts';
import { beginExecuting, Conclusion, expressionScope, failure, Records } from './lifecycle.ts';
import { isLateInput, type Plan } from './plan.ts';
import { Planner } from './planner.ts';
import { type DriverStop, Signals } from './signals.ts';
import { type SlotRequest, type SlotResult, takeSlots } from './slots.ts';
import { StepWork } from './step-runner.ts';
import { mostCrashes } from './workers.ts';

/** A driver makes way for others after so many milliseconds or steps. */
const longest = 30_000;
const fewest = 500;

/** What a driver does of an execution before it makes way. */
class Budget {
  readonly #most: number;
  readonly #began = performance.now();
  #steps = 0;

  /** @param known steps it begins with: it does as many again, since the next driver has to read them all */
  constructor(known: number) {
    this.#most = Math.max(fewest, known);
  }

  add(steps: number): void {
    this.#steps += steps;
  }

  get isOver(): boolean {
    return this.#steps >= this.#most || performance.now() - this.#began > longest;
  }
}

/** What a process gives to all its drivers. */
export interface DriverResources {
  services: WorkflowServices;
  writer: CheckpointWriter;
  calls: CallSlots;
  /** Takes a slot; concurrent requests share one transaction. */
  takeSlot(request: SlotRequest): Promise<SlotResult>;
  /** From 0 to 1. */
  random(): number;
}

/** @param calls steps that act at the same time */
export function makeResources(services: WorkflowServices, calls: number): DriverResources {
  // A transaction that takes a slot blocks others of its key until it is on disk: concurrent requests share one.
  const slots = new SharedCommits<SlotRequest, SlotResult>(
    (requests) => services.orm.em.fork().transactional((em) => takeSlots(em, services, requests)),
    { limit: Number.POSITIVE_INFINITY },
  );
  return {
    services,
    writer: new CheckpointWriter(services),
    calls: callSlots(calls),
    takeSlot: (request) => slots.add(request),
    random: Math.random,
  };
}

/** Takes in what others have written to an execution while it is advanced: the answers of people. @throws Fenced */
async function readAnswers(
  { orm, blobs }: Pick<Services, 'orm' | 'blobs'>,
  lease: Lease,
  journal: Journal,
): Promise<void> {
  const em = orm.em.fork();
  if (!(await clearWake(em, lease))) throw new Fenced();
  const written = await readStepRows(em, { blobs }, [lease.id]);
  for (const row of written.get(lease.id) ?? []) {
    const run = journal.runs.get(row.path);
    if (run?.waits_for?.kind !== 'input' || row.status !== 'completed') continue;
    Object.assign(run, row);
    journal.context += sizeAsJson(row.output);
  }
}

/** Longest a driver waits without looking again, milliseconds. */
const longestWait = 1_000_000;

interface RestingOptions extends Pick<DriverParts, 'journal' | 'runState' | 'records'> {
  claimed: Claimed;
  signals: Signals;
}

/** How an execution waits: with its driver for what is under way, or by itself. */
class Resting {
  readonly #of: RestingOptions;

  constructor(options: RestingOptions) {
    this.#of = options;
  }

  /** When the execution has taken too long, milliseconds since 1970. */
  get deadline(): number {
    const { runState, claimed, journal } = this.#of;
    return runState.deadline(claimed.version.definition.timeout, journal.now);
  }

  /** Waits for an answer, a signal, or a time, milliseconds since 1970. */
  wait(due: number | null): Promise<void> {
    const until = Math.min(due ?? Number.POSITIVE_INFINITY, this.deadline);
    return this.#of.signals.wait(Math.min(Math.max(until - this.#of.journal.now, 0), longestWait) + 1);
  }

  /** Nothing can run for now: writes what it waits for. @returns false when something has happened meanwhile */
  rest({ due, waitsForInput, waitsOtherwise }: Plan): Promise<boolean> {
    const { journal, runState, records } = this.#of;
    if (!waitsForInput && !waitsOtherwise && due === null)
      throw new Error('nothing can run, and nothing is waited for');
    const isPaused = waitsForInput && !waitsOtherwise;
    const times = due === null ? [] : [due];
    if (!isPaused && !runState.isFailing) times.push(this.deadline);
    if (!isPaused) runState.status = 'running';
    else if (runState.pause(journal.now)) journal.log('execution.paused', { status: 'paused' });
    return records.release({ waiting_until: times.length === 0 ? null : Math.min(...times) });
  }
}

/** Milliseconds between log entries of a loop's progress, at least. */
const pause = 1_000;

/** The entries of an execution's log beside the transitions of its steps. */
export class ProgressLog {
  readonly #of: Pick<DriverParts, 'journal' | 'planner'>;
  /** The last entry of each loop, by path. */
  readonly #logged = new Map<string, { at: number; done: number }>();

  constructor(parts: Pick<DriverParts, 'journal' | 'planner'>) {
    this.#of = parts;
  }

  /** Logs the progress of loops when it has changed. */
  logProgress(): void {
    const { journal, planner } = this.#of;
    for (const { path, done, total } of planner.progress())
      if (this.#isNews(path, done, journal.now)) journal.log('step.progress', { path, done, total });
  }

  #isNews(path: string, done: number, now: number): boolean {
    const last = this.#logged.get(path);
    if (last !== undefined && (done === last.done || now - last.at < pause)) return false;
    this.#logged.set(path, { at: now, done });
    return last !== undefined;
  }
}

/** What a driver works with. */
export interface DriverParts {
  runState: RunState;
  journal: Journal;
  planner: Planner;
  work: StepWork;
  records: Records;
  /** What expressions see, with what is in sight at one place. */
  scopeAt(at: object): Record<string, unknown>;
}

/** Puts together what it takes to advance an execution from where its rows say it stands. */
function makeParts(
  { calls, random, writer }: DriverResources,
  claimed: Claimed,
  {
    services,
    lease,
    signals,
    onCancel,
    onCleared,
  }: {
    services: WorkflowServices;
    lease: Lease;
    signals: Signals;
    onCancel(reason: string): void;
    onCleared(): void;
  },
): DriverParts {
  const { row, runs, version } = claimed;
  const runState = new RunState(row);
  const journal = new Journal(services.sharedClock, row.state?.events ?? 1);
  journal.load(runs);
  const scopeAt = (at: object) => expressionScope(claimed, runState, services.settings, { at, now: journal.now });
  return {
    runState,
    journal,
    planner: new Planner(version.definition, journal.runs),
    scopeAt,
    work: new StepWork({
      services,
      execution_id: row.id,
      generation: row.generation,
      version,
      journal,
      calls,
      signal: signals.ended,
      random,
      scopeAt: (planScope) => scopeAt(planScope.values()),
      onResult: () => signals.notifier.notify(),
    }),
    records: new Records({
      lease,
      writer,
      blobs: services.blobs,
      journal,
      runState,
      onWake: () => signals.wake(),
      onCancel,
      onCleared,
    }),
  };
}

interface AdvanceOptions extends DriverParts {
  services: WorkflowServices;
  claimed: Claimed;
  lease: Lease;
  signals: Signals;
  takeSlot: DriverResources['takeSlot'];
}

/** One execution from checkpoint to checkpoint, until it ends, rests, or is somebody else's. */
class Advance {
  readonly #of: AdvanceOptions;
  readonly #log: ProgressLog;
  readonly #resting: Resting;
  readonly #conclusion: Conclusion;
  readonly #budget: Budget;

  constructor(options: AdvanceOptions) {
    this.#of = options;
    this.#log = new ProgressLog(options);
    this.#resting = new Resting(options);
    this.#conclusion = new Conclusion(options);
    this.#budget = new Budget(options.journal.runs.size);
    this.#resume();
  }

  /** Takes the execution for one that runs; what it waits for may have ended. */
  #resume(): void {
    const { journal, runState } = this.#of;
    journal.recheckPeers();
    runState.resume(journal.now);
  }

  async run(): Promise<void> {
    if (this.#of.claimed.row.crashes >= mostCrashes) {
      await this.#conclusion.end(
        failure('crashed', `The server died or failed ${mostCrashes} times while it executed this`),
      );
      return;
    }
    if (this.#of.signals.cancelled === null && !this.#of.runState.state.begun && !(await this.#begin())) return;
    while (!(await this.#advanceOnce()));
  }

  /** @returns false: it is over, or waits for a slot */
  async #begin(): Promise<boolean> {
    const { row, version } = this.#of.claimed;
    this.#of.runState.started_at ??= this.#of.journal.now;
    const scope = this.#of.scopeAt({ steps: {} });
    const { services, lease, takeSlot } = this.#of;
    const begun = await this.#of.signals.begin(() =>
      beginExecuting(services, version.definition, { row, lease, scope, takeSlot }),
    );
    if (begun.kind === 'lost') throw new Fenced();
    if (begun.kind === 'queued') return false;
    this.#of.runState.status = 'running';
    this.#of.runState.state.begun = true;
    this.#of.journal.log('execution.started', { status: 'running' });
    if (begun.kind === 'begun') return true;
    await this.#of.records.end(begun.ending);
    return false;
  }

  /** Looks once at what may run, and does it. @returns whether there is nothing more to do here */
  async #advanceOnce(): Promise<boolean> {
    if (this.#of.signals.stopped === 'lost') throw new Fenced();
    await this.#of.work.takeResults();
    const { cancelled } = this.#of.signals;
    if (cancelled !== null) return this.#conclusion.end({ status: 'cancelled', reason: cancelled });
    if (this.#of.signals.takeWake()) await this.#refresh();
    let plan = this.#conclusion.plan(this.#resting.deadline);
    // An answer that came in time counts, even before its notification.
    if (plan.actions.some(isLateInput)) {
      await this.#refresh();
      plan = this.#conclusion.plan(this.#resting.deadline);
    }
    if (plan.outcome.kind !== 'open') return this.#conclusion.draw(plan.outcome, plan);
    this.#log.logProgress();
    const { acting } = this.#of.work;
    if (plan.actions.length > 0 && this.#of.signals.stopped === null) {
      if (this.#budget.isOver && acting.underWay === 0) return this.#of.records.release({ isHandedOn: true });
      this.#budget.add(plan.actions.length);
      await this.#of.signals.begin(() => this.#of.work.act(plan.actions));
      if (acting.isReady) await this.#launch();
      return false;
    }
    if (acting.underWay > 0) {
      if (this.#of.journal.isDirty) await this.#of.records.write();
      else await this.#resting.wait(plan.due);
      return false;
    }
    return this.#of.signals.stopped === 'closing'
      ? this.#of.records.release({ isHandedOn: true })
      : this.#resting.rest(plan);
  }

  /** Notes steps that are about to act, and lets them. */
  async #launch(): Promise<void> {
    await this.#of.records.write();
    if (this.#of.signals.stopped === null && this.#of.signals.cancelled === null) this.#of.work.acting.launch();
    else this.#of.work.acting.discard();
  }

  /** Looks at what others have written: answers of people, and the end of what was waited for. */
  async #refresh(): Promise<void> {
    await readAnswers(this.#of.services, this.#of.lease, this.#of.journal);
    this.#resume();
  }
}

/** Callbacks of a driver to its process. */
interface DriverListener {
  /** The execution has come past a checkpoint that clears it of suspicion. */
  onCleared(): void;
  /** It does nothing but wait for what is under way outside. */
  onWaiting(): void;
}

/** Advances one execution as long as it is this process's to advance, and receives signals from outside. */
export class Driver {
  readonly lease: Lease;
  readonly #input: number;
  readonly #signals: Signals;
  readonly #parts: DriverParts;
  readonly #advance: Advance;

  constructor(resources: DriverResources, claimed: Claimed, { onCleared, onWaiting }: DriverListener) {
    const { id, project_id, workflow_id, attempt, cancel_requested, cancel_reason } = claimed.row;
    this.lease = { id, project_id, workflow_id, attempt };
    const { input } = claimed;
    this.#input = leastJson([input], Number.POSITIVE_INFINITY);
    this.#signals = new Signals(cancel_requested ? (cancel_reason ?? 'cancelled') : null, onWaiting);
    const caller = { workflow_id, organization_id: claimed.version.organization.id };
    const services = { ...resources.services, expressions: resources.services.expressions.of(caller) };
    this.#parts = makeParts(resources, claimed, {
      services,
      lease: this.lease,
      signals: this.#signals,
      onCancel: (reason) => this.cancel(reason),
      onCleared,
    });
    this.#advance = new Advance({
      services,
      takeSlot: resources.takeSlot,
      claimed,
      lease: this.lease,
      signals: this.#signals,
      ...this.#parts,
    });
  }

  /** Has it end as soon as what is being written has been. */
  stop(reason: DriverStop): void {
    this.#signals.stop(reason);
  }

  /** Breaks off what is under way, when the process has waited for it long enough. */
  breakOff(): void {
    this.#signals.end('closing');
  }

  /** Whether it does nothing but wait for what is under way outside. */
  get isWaiting(): boolean {
    return this.#signals.isWaiting;
  }

  /** Bytes that the execution takes in memory: its input, and what its step runs keep. */
  get bytes(): number {
    return this.#input + this.#parts.journal.context;
  }

  cancel(reason: string): void {
    if (this.#signals.cancel(reason)) this.#parts.work.cancel();
  }

  /** Something has happened to the execution: its rows say what. */
  wake(): void {
    this.#signals.wake();
  }

  /** @throws what is a fault of ours; the execution is taken up again then */
  async run(): Promise<void> {
    try {
      await this.#advance.run();
    } catch (error) {
      if (!(error instanceof Fenced) && this.#signals.stopped !== 'lost') throw error;
    } finally {
      this.#signals.end('over');
    }
  }
}
