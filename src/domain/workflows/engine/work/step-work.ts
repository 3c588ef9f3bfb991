import { fewAtOnce } from '../../../few-at-once.ts';
import type { Step } from '../../definition/step.schema.ts';
import type { StepResult } from '../../steps/step-call.ts';
import type { Action, Site } from '../plan/plan.ts';
import type { StepState } from '../plan/step-state.ts';
import { storeOutput } from '../step-rows.ts';
import { type ActingOptions, ActingSteps } from './acting-steps.ts';
import { beginStep } from './begin-step.ts';
import { type ActingStep, isActing } from './calls.ts';
import { peerEnd } from './peers.ts';
import { retryDelay } from './retries.ts';

/** Steps begun side by side. */
const mostTogether = 20;

interface StepWorkOptions extends ActingOptions {
  /** From 0 to 1. */
  random(): number;
}

/** Ends of an operation that do not say whether it was done. */
const unknownEnds = new Set(['timeout', 'unavailable', 'storage_full', 'internal']);

const isUnknown = ({ type }: Step, code: string): boolean => type === 'operation' && unknownEnds.has(code);

/** Does what a plan says with the steps of one execution. */
export class StepWork {
  readonly acting: ActingSteps;
  readonly #of: StepWorkOptions;

  constructor(options: StepWorkOptions) {
    this.#of = options;
    this.acting = new ActingSteps(options);
  }

  async act(actions: readonly Action[]): Promise<void> {
    if (actions.length === 1 && actions[0]) return this.#do(actions[0]);
    // They begin in the order of the definition, whichever expression is evaluated first.
    for (const { kind, site } of actions) if (kind === 'begin') this.#of.journal.open(site);
    await fewAtOnce(actions, mostTogether, (action) => this.#do(action));
  }

  async #do(action: Action): Promise<void> {
    const { journal } = this.#of;
    const { site } = action;
    const run = journal.runs.get(site.path) ?? journal.open(site);
    if (action.kind === 'begin') return this.#begin(site, run);
    if (action.kind === 'try') return this.#try(site, run);
    if (action.kind === 'complete') return this.#complete(run, action.output);
    if (action.kind === 'fail') return this.#fail(run, action.error);
    return this.#expire(site, run);
  }

  async #begin(site: Site, run: StepState): Promise<void> {
    const { services, journal, signal, rootsAt } = this.#of;
    const roots = rootsAt(site.scope);
    const { status, ...rest } = await beginStep(services, site.step, { roots, signal, now: journal.now });
    if (status === 'running' && isActing(site.step)) return this.acting.note(site as Site<ActingStep>, run);
    if (status === 'completed') return this.#complete(run, rest.output);
    journal.move(run, { ...rest, status });
  }

  async #try(site: Site, run: StepState): Promise<void> {
    if (!isActing(site.step)) return this.#begin(site, run);
    if (run.waits_for === null) return this.acting.note(site as Site<ActingStep>, run);
    const end = await peerEnd(this.#of.services.orm.em.fork(), run.waits_for);
    if (end === null) run.status = 'waiting';
    else if ('error' in end) this.#fail(run, end.error);
    else await this.#complete(run, end.output);
  }

  async #expire({ step }: Site, run: StepState): Promise<void> {
    if (step.type === 'delay') return this.#complete(run, null);
    if (step.type === 'wait_for_input' && Array.isArray(step.on_timeout))
      return this.#of.journal.move(run, { status: 'running', input: { ...(run.input as object), timed_out: true } });
    this.#fail(run, { code: 'timeout', message: 'The step took longer than it may' });
  }

  #fail(run: StepState, error: NonNullable<StepState['error']>): void {
    this.breakOff(run.path);
    this.#of.journal.move(run, { status: 'failed', error });
  }

  /** Ends a step with an output, which may have to go to the blob store, or be too large for that. */
  async #complete(run: StepState, output: unknown): Promise<void> {
    const { journal, services } = this.#of;
    run.output = output ?? null;
    try {
      journal.context += await storeOutput(services, run);
      journal.move(run, { status: 'completed', error: null });
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'too_large') throw error;
      const { message } = error as Error;
      journal.move(run, { status: 'failed', output: null, error: { code: 'output_too_large', message } });
    }
  }

  /** Breaks off steps that are not over: those within a step, or all. */
  breakOff(within?: string): void {
    this.#of.journal.breakOff(within);
    this.acting.breakOff(within);
  }

  /** Takes in how steps have ended that acted. */
  async takeAnswers(): Promise<void> {
    for (const { site, result } of this.acting.takeAnswers()) {
      const run = this.#of.journal.runs.get(site.path);
      // One that was broken off meanwhile counts no more.
      if (run === undefined || run.status !== 'running') continue;
      if (result === null) this.acting.putBack(run);
      else await this.#take(site, run, result);
    }
  }

  async #take({ step }: Site, run: StepState, result: StepResult): Promise<void> {
    const { journal, random, execution_id } = this.#of;
    if (result.input !== undefined) run.input = result.input;
    const isOpen = result.kind === 'failed' && isUnknown(step, result.error.code);
    const { tried_in } = run;
    if (!isOpen) run.tried_in = null;
    if (result.kind === 'completed') return this.#complete(run, result.output);
    if (result.kind === 'waiting')
      return journal.move(run, { status: 'waiting', waits_for: result.waits_for, next_try_at: null });
    const delay = retryDelay(step, run.tries, result, random());
    if (delay === null) return journal.move(run, { status: 'failed', error: result.error });
    const next_try_at = journal.now + delay;
    // What a retry was begun to find out is not known by a try that was refused for now.
    if (tried_in !== execution_id) run.tried_in = tried_in;
    journal.move(run, { status: 'waiting', error: result.error, next_try_at }, 'step.retrying');
  }
}
