import type { Services } from '../../../services.ts';
import type { Hold } from '../checkpoints/checkpoint.ts';
import { isLateInput } from '../plan/plan.ts';
import { mostCrashes } from '../workers.ts';
import { beginExecuting } from './begin-executing.ts';
import type { Claimed } from './claimed.ts';
import { Conclusion } from './conclusion.ts';
import type { DriverBench } from './driver-bench.ts';
import { failure } from './ending.ts';
import { Fenced } from './fenced.ts';
import { hearAnswers } from './hear.ts';
import type { DriverParts } from './parts.ts';
import { Resting } from './resting.ts';
import { RunningLog } from './running-log.ts';
import type { Signals } from './signals.ts';
import { Slice } from './slice.ts';

interface AdvanceOptions extends DriverParts {
  services: Services;
  claimed: Claimed;
  hold: Hold;
  signals: Signals;
  takeSlot: DriverBench['takeSlot'];
}

/** One execution from checkpoint to checkpoint, until it ends, rests, or is somebody else's. */
export class Advance {
  readonly #of: AdvanceOptions;
  readonly #log: RunningLog;
  readonly #resting: Resting;
  readonly #conclusion: Conclusion;
  readonly #slice: Slice;

  constructor(options: AdvanceOptions) {
    this.#of = options;
    this.#log = new RunningLog(options);
    this.#resting = new Resting(options);
    this.#conclusion = new Conclusion(options);
    this.#slice = new Slice(options.journal.runs.size);
    this.#goOn();
  }

  /** Takes the execution for one that runs; what it waits for may have ended. */
  #goOn(): void {
    const { journal, standing } = this.#of;
    journal.askPeers();
    standing.goOn(journal.now);
  }

  async run(): Promise<void> {
    if (this.#of.claimed.row.crashes >= mostCrashes) {
      await this.#conclusion.end(
        failure('crashed', `The server died or failed ${mostCrashes} times while it executed this`),
      );
      return;
    }
    if (this.#of.signals.cancelled === null && !this.#of.standing.state.begun && !(await this.#begin())) return;
    while (!(await this.#turn()));
  }

  /** @returns false: it is over, or waits for a slot */
  async #begin(): Promise<boolean> {
    const { row, guide } = this.#of.claimed;
    this.#of.standing.started_at ??= this.#of.journal.now;
    const roots = this.#of.rootsAt({ steps: {} });
    const { services, hold, takeSlot } = this.#of;
    const begun = await beginExecuting(services, guide.definition, { row, hold, roots, takeSlot });
    if (begun.kind === 'lost') throw new Fenced();
    if (begun.kind === 'queued') return false;
    this.#of.standing.status = 'running';
    this.#of.standing.state.begun = true;
    this.#of.journal.say('execution.started', { status: 'running' });
    if (begun.kind === 'begun') return true;
    await this.#of.records.end(begun.ending);
    return false;
  }

  /** Looks once at what may run, and does it. @returns whether there is nothing more to do here */
  async #turn(): Promise<boolean> {
    if (this.#of.signals.stopped === 'lost') throw new Fenced();
    await this.#of.work.takeAnswers();
    const { cancelled } = this.#of.signals;
    if (cancelled !== null) return this.#conclusion.end({ status: 'cancelled', reason: cancelled });
    if (this.#of.signals.takeWord()) await this.#hear();
    let plan = this.#conclusion.plan(this.#resting.deadline);
    // An answer that came in time counts, though nobody has told of it yet.
    if (plan.actions.some(isLateInput)) {
      await this.#hear();
      plan = this.#conclusion.plan(this.#resting.deadline);
    }
    if (plan.outcome.kind !== 'open') return this.#conclusion.draw(plan.outcome, plan);
    this.#log.tellProgress();
    const { acting } = this.#of.work;
    if (plan.actions.length > 0 && this.#of.signals.stopped === null) {
      if (this.#slice.isOver && acting.underWay === 0) return this.#of.records.release({ isHandedOn: true });
      this.#slice.add(plan.actions.length);
      await this.#of.work.act(plan.actions);
      if (acting.isReady) await this.#launch();
      return false;
    }
    if (acting.underWay > 0) {
      if (this.#of.journal.isDirty) await this.#of.records.write();
      else await this.#resting.heard(plan.due);
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
    else this.#of.work.acting.forgo();
  }

  /** Looks at what others have written: answers of people, and the end of what was waited for. */
  async #hear(): Promise<void> {
    await hearAnswers(this.#of.services, this.#of.hold, this.#of.journal);
    this.#goOn();
  }
}
