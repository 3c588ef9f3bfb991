import type { Services } from '../../../services.ts';
import type { StepResult } from '../../steps/step-call.ts';
import type { Guide } from '../guides.ts';
import type { Journal } from '../journal/journal.ts';
import type { Site } from '../plan/plan.ts';
import type { PlanScope } from '../plan/scope.ts';
import { isWithin, type StepState } from '../plan/step-state.ts';
import type { CallSlots } from './call-slots.ts';
import { type ActingStep, callStep, idempotencyKey } from './calls.ts';

export interface ActingOptions {
  services: Services;
  execution_id: string;
  guide: Guide;
  journal: Journal;
  calls: CallSlots;
  /** Aborted when nothing more may be done for the execution. */
  signal: AbortSignal;
  /** What expressions see at a place. */
  rootsAt(scope: PlanScope): Record<string, unknown>;
  /** Told when a step has acted. */
  answered(): void;
}

/** How a step has ended that acted; `result` is null when it was broken off. */
interface Answer {
  site: Site;
  result: StepResult | null;
}

/** The steps of one execution that act on the outside or on the project: first noted, then let, then asked how they ended. */
export class ActingSteps {
  readonly #of: ActingOptions;
  /** Those that are noted, and wait for that to be durable. */
  #ready: { site: Site<ActingStep>; run: StepState }[] = [];
  readonly #calls = new Map<string, AbortController>();
  #answers: Answer[] = [];

  constructor(options: ActingOptions) {
    this.#of = options;
  }

  /** Steps that act, or are about to. */
  get underWay(): number {
    return this.#calls.size + this.#ready.length + this.#answers.length;
  }

  get isReady(): boolean {
    return this.#ready.length > 0;
  }

  /** Notes that a step is about to act. One that was broken off repeats its try. */
  note(site: Site<ActingStep>, run: StepState): void {
    const tries = run.status === 'pending' ? Math.max(run.tries, 1) : run.tries + 1;
    const tried_in = run.tried_in ?? this.#of.execution_id;
    this.#of.journal.move(run, { status: 'running', tries, tried_in });
    this.#ready.push({ site, run });
  }

  /** Breaks off those within a step, or all; the journal has been told. */
  breakOff(within?: string): void {
    for (const [path, call] of this.#calls) if (within === undefined || isWithin(path, within)) call.abort('cancelled');
    this.#ready = this.#ready.filter(({ run }) => run.status === 'running');
  }

  /** Lets the steps act that have been noted, now that this is durable. */
  launch(): void {
    for (const { site, run } of this.#ready.splice(0)) void this.#call(site, run);
  }

  /** Leaves the steps that have been noted to whoever comes next. */
  forgo(): void {
    for (const { run } of this.#ready.splice(0)) this.putBack(run);
  }

  putBack(run: StepState): void {
    run.status = 'pending';
    this.#of.journal.touch(run);
  }

  /** How steps have ended since the last time. */
  takeAnswers(): Answer[] {
    return this.#answers.splice(0);
  }

  async #call(site: Site<ActingStep>, run: StepState): Promise<void> {
    const { services, calls, guide, execution_id, rootsAt, signal } = this.#of;
    const { project, organization, permissions, workflow } = guide;
    const abort = new AbortController();
    const whole = AbortSignal.any([signal, abort.signal]);
    this.#calls.set(site.path, abort);
    const call = {
      step: site.step,
      path: site.path,
      execution_id,
      workflow_id: workflow.id,
      permissions,
      tries: run.tries,
      idempotency_key: idempotencyKey(run.tried_in ?? execution_id, site.path),
      roots: rootsAt(site.scope),
      services,
      organization,
      project,
    };
    const caller = { workflow_id: workflow.id, organization_id: organization.id };
    const result = await calls.run(caller, async () => (whole.aborted ? null : callStep(call, whole)));
    this.#calls.delete(site.path);
    this.#answers.push({ site, result });
    this.#of.answered();
  }
}
