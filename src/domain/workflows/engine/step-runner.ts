import type { Services } from '../../../kernel/services.ts';
import { forEachConcurrently } from '../../../lib/concurrency.ts';
import { ExpressionError } from '../../../ports/expressions.ts';
import { day, parseDuration, type Step } from '../definition/step.schema.ts';
import type { StepRunError, StepWait } from '../executions/step-run.entity.ts';
import { type Evaluation, evaluateExpression, fillTemplates, holds } from '../expressions/evaluate.ts';
import type { StepResult } from '../steps/step-call.ts';
import type { WorkflowServices } from '../workflows.ts';
import { type ActingStep, type CallSlots, callStep, idempotencyKey, isActing, peerEnd, retryDelay } from './calls.ts';
import { storeOutput } from './checkpoints.ts';
import type { Journal } from './journal.ts';
import type { LoadedVersion } from './lease.ts';
import { type Action, isWithin, type PlanScope, type Site, type StepState } from './plan.ts';

interface ActingOptions {
  services: WorkflowServices;
  execution_id: string;
  version: LoadedVersion;
  journal: Journal;
  calls: CallSlots;
  /** Aborted when nothing more may be done for the execution. */
  signal: AbortSignal;
  /** What expressions see at a place. */
  scopeAt(scope: PlanScope): Record<string, unknown>;
  /** Called when a step has acted. */
  onResult(): void;
}

/** How a step has ended that acted; `result` is null when it was broken off. */
interface FinishedCall {
  site: Site;
  result: StepResult | null;
}

/** The steps of one execution that act on the outside or on the project: first noted, then launched, then collected. */
class ActingSteps {
  readonly #of: ActingOptions;
  /** Steps that are noted, and wait for that to be durable. */
  #ready: { site: Site<ActingStep>; run: StepState }[] = [];
  readonly #calls = new Map<string, AbortController>();
  #finished: FinishedCall[] = [];

  constructor(options: ActingOptions) {
    this.#of = options;
  }

  /** Steps that act, or are about to. */
  get underWay(): number {
    return this.#calls.size + this.#ready.length + this.#finished.length;
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

  /** Breaks off the calls within a step, or all; the journal already has it. */
  breakOff(within?: string): void {
    for (const [path, call] of this.#calls) if (within === undefined || isWithin(path, within)) call.abort('cancelled');
    this.#ready = this.#ready.filter(({ run }) => run.status === 'running');
  }

  /** Launches the noted steps, now that their notes are durable. */
  launch(): void {
    for (const { site, run } of this.#ready.splice(0)) void this.#call(site, run);
  }

  /** Leaves the noted steps to the next driver. */
  discard(): void {
    for (const { run } of this.#ready.splice(0)) this.putBack(run);
  }

  putBack(run: StepState): void {
    run.status = 'pending';
    this.#of.journal.touch(run);
  }

  /** How steps have ended since the last time. */
  takeResults(): FinishedCall[] {
    return this.#finished.splice(0);
  }

  async #call(site: Site<ActingStep>, run: StepState): Promise<void> {
    const { services, calls, version, execution_id, scopeAt, signal } = this.#of;
    const { project, organization, permissions, workflow } = version;
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
      scope: scopeAt(site.scope),
      services,
      organization,
      project,
    };
    const caller = { workflow_id: workflow.id, organization_id: organization.id };
    const result = await calls.run(caller, async () => (whole.aborted ? null : callStep(call, whole)));
    this.#calls.delete(site.path);
    this.#finished.push({ site, result });
    this.#of.onResult();
  }
}

/** How a step stands after the engine itself has done what it can of it. */
interface Begun {
  /** `running`: it holds steps that come now, or has to be executed. */
  status: 'completed' | 'failed' | 'skipped' | 'running' | 'waiting';
  input?: unknown;
  output?: unknown;
  error?: StepRunError;
  waits_for?: StepWait;
  /** Milliseconds since 1970. */
  next_try_at?: number;
}

const mostItems = 10_000;
const usualPatience = 7 * day;
const furthest = 400 * day;

const failed = (code: string, message: string): Begun => ({ status: 'failed', error: { code, message } });

/** JSONata makes a single value of a list of one, and nothing of an empty one. */
const listOf = (value: unknown): unknown[] =>
  Array.isArray(value) ? [...value] : value === undefined || value === null ? [] : [value];

async function beginLoop(step: Extract<Step, { type: 'for_each' }>, evaluation: Evaluation): Promise<Begun> {
  const items = listOf(await evaluateExpression(step.items, evaluation));
  if (items.length > mostItems)
    return failed('too_many_items', `items: there are ${items.length}; at most ${mostItems} are gone through`);
  return { status: 'running', input: { items } };
}

async function beginDelay(step: Extract<Step, { type: 'delay' }>, evaluation: Evaluation, now: number): Promise<Begun> {
  if (step.for !== undefined) {
    const text = String(await fillTemplates(step.for, evaluation));
    const length = parseDuration(text);
    if (length === null || length > furthest)
      return failed('bad_delay', `for: "${text.slice(0, 100)}" is no duration of at most 400 days`);
    return { status: 'waiting', input: { for: text }, next_try_at: now + length };
  }
  const text = String((await fillTemplates(step.until, evaluation)) ?? '');
  const until = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(until) || until > now + furthest)
    return failed('bad_delay', `until: "${text.slice(0, 100)}" is no time within 400 days`);
  return { status: 'waiting', input: { until: new Date(until).toISOString() }, next_try_at: until };
}

async function byType(step: Step, evaluation: Evaluation, now: number): Promise<Begun> {
  switch (step.type) {
    case 'transform':
      return { status: 'completed', output: (await evaluateExpression(step.expression, evaluation)) ?? null };
    case 'output':
      return { status: 'completed', output: (await evaluateExpression(step.value, evaluation)) ?? null };
    case 'fail': {
      const message = await fillTemplates(step.message ?? 'The workflow ends here', evaluation);
      return failed(step.code ?? 'failed', typeof message === 'string' ? message : JSON.stringify(message));
    }
    case 'condition':
      return { status: 'running', input: { result: await holds(step.expression, evaluation) } };
    case 'for_each':
      return beginLoop(step, evaluation);
    case 'delay':
      return beginDelay(step, evaluation, now);
    case 'wait_for_input': {
      const message = await fillTemplates(step.message ?? null, evaluation);
      const limit = (step.timeout === undefined ? null : parseDuration(step.timeout)) ?? usualPatience;
      return {
        status: 'waiting',
        input: { message, schema: step.schema ?? null },
        waits_for: { kind: 'input' },
        next_try_at: now + limit,
      };
    }
    case 'parallel':
    case 'http':
    case 'operation':
      return { status: 'running' };
  }
}

/** Milliseconds a transformation may take, when its definition says so. */
const limitOf = (step: Step): number | undefined =>
  step.type === 'transform' && step.timeout !== undefined ? (parseDuration(step.timeout) ?? undefined) : undefined;

/**
 * Begins a step: asks its condition, and does what needs nothing of the outside. Faults of expressions are the step's failure.
 * @param now milliseconds since 1970
 */
export async function beginStep(
  { expressions }: Pick<Services, 'expressions'>,
  step: Step,
  { scope, signal, now }: { scope: Record<string, unknown>; signal: AbortSignal; now: number },
): Promise<Begun> {
  const timeout = limitOf(step);
  const evaluation: Evaluation = { expressions, scope, signal, ...(timeout !== undefined && { timeout }) };
  try {
    if (step.if !== undefined && !(await holds(step.if, { expressions, scope, signal }))) return { status: 'skipped' };
    return await byType(step, evaluation, now);
  } catch (error) {
    if (!(error instanceof ExpressionError) || error.fault === 'unavailable') throw error;
    return failed(error.fault === 'timeout' ? 'timeout' : 'bad_expression', error.message);
  }
}

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
    await forEachConcurrently(actions, mostTogether, (action) => this.#do(action));
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
    const { services, journal, signal, scopeAt } = this.#of;
    const scope = scopeAt(site.scope);
    const { status, ...rest } = await beginStep(services, site.step, { scope, signal, now: journal.now });
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
  async takeResults(): Promise<void> {
    for (const { site, result } of this.acting.takeResults()) {
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
