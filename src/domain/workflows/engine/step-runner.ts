import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../kernel/services.ts';
import { forEachConcurrently } from '../../../lib/concurrency.ts';
import { ExpressionError } from '../../../ports/expressions.ts';
import { parseDuration } from '../definition/duration.ts';
import type { StepWait } from '../executions/step-run.entity.ts';
import { type Evaluation, holds } from '../expressions/evaluate.ts';
import { secretsOf } from '../secrets.operations.ts';
import { isActing, typeOf } from '../step-types.ts';
import {
  type Acting,
  type Begun,
  failed,
  InputTooLarge,
  type Step,
  type StepCall,
  type StepError,
  type StepResult,
  timedOut,
} from '../steps/step-type.ts';
import type { WorkflowServices } from '../workflows.ts';
import type { CallSlots } from './admission.ts';
import { storeOutput } from './checkpoints.ts';
import type { Journal } from './journal.ts';
import type { LoadedVersion } from './lease.ts';
import { type Action, isWithin, type PlanScope, type Site, type StepState } from './plan.ts';

/** What became of a crawl run or a deployment a step waits for; null: it goes on. */
type PeerEnd = { output: object } | { error: StepError } | null;

const runSql = `
  select id, status, finish_reason, finish_message, snapshot_id, completed_at from crawler_run where id = ?`;
const deploymentSql = 'select id, coalesce(conclusion, status) as status, completed_at from deployment where id = ?';

interface PeerRow {
  id: number;
  status: string;
  finish_message?: string | null;
  completed_at: string | Date | null;
}

const good = new Set(['completed', 'stopped', 'success']);
const bad = new Set(['failed', 'canceled', 'failure', 'cancelled', 'skipped']);

/** Asks what became of what a step waits for. */
async function peerEnd(em: EntityManager, { kind, id }: StepWait): Promise<PeerEnd> {
  if (kind === 'input' || id === undefined) return null;
  const [row] = await em.execute<PeerRow[]>(kind === 'run' ? runSql : deploymentSql, [id]);
  const what = kind === 'run' ? 'crawl run' : 'deployment';
  if (!row) return { error: { code: 'not_found', message: `The ${what} ${id} is not there any more` } };
  const completed_at = row.completed_at && new Date(row.completed_at).toISOString();
  if (good.has(row.status)) return { output: { ...row, completed_at } };
  if (!bad.has(row.status)) return null;
  const message = `The ${what} ${id} ended as ${row.status}${row.finish_message ? `: ${row.finish_message}` : ''}`;
  return { error: { code: `${kind}_${row.status}`, message, [kind]: id } };
}

const usualDelay = 1_000;
const usualFactor = 2;
const mostDelay = 300_000;
/** A peer may require more time than steps give themselves. */
const longestRetryAfter = 3_600_000;

interface Failure {
  error: StepError;
  isRetryable: boolean;
  /** Milliseconds the peer asks to wait. */
  retryAfter?: number;
}

/**
 * How long a failed step waits before its next try: a random share of a delay that grows with each try, and at least what the peer requires.
 * @param tries made so far
 * @param random from 0 to 1
 * @returns milliseconds; null: there is no further try
 */
export function retryDelay(step: Step, tries: number, failure: Failure, random: number): number | null {
  const {
    attempts = typeOf(step).acting?.attempts(step) ?? 1,
    delay,
    factor = usualFactor,
    max_delay,
    on,
  } = step.retry ?? {};
  const counts = failure.isRetryable && (on === undefined || on.includes(failure.error.code));
  if (!counts || tries >= attempts) return null;
  const first = parseDuration(delay) ?? usualDelay;
  const most = parseDuration(max_delay) ?? mostDelay;
  const wait = Math.min(first * factor ** (tries - 1), most) * random;
  return Math.round(Math.max(wait, Math.min(failure.retryAfter ?? 0, longestRetryAfter)));
}

/**
 * Equal over tries and drivers, and for no other step run.
 * @param tried_in the execution in which the step was first tried: of a step that a crash cut off, an earlier one than that which runs now
 */
const idempotencyKey = (tried_in: string, path: string): string =>
  createHash('sha256').update(`${tried_in}|${path}|`).digest('hex');

const tookLongerThan = (milliseconds: number): StepResult => ({
  kind: 'failed',
  error: { code: 'timeout', message: `The step took longer than ${milliseconds / 1000} s` },
  isRetryable: true,
});

/**
 * Has a step act, for as long as it may.
 * @returns how it ended; null when it was broken off from outside
 */
async function callStep(call: Omit<StepCall, 'signal'>, signal: AbortSignal): Promise<StepResult | null> {
  const { step, services, execution_id, path } = call;
  const { act, limit: usual } = typeOf(step).acting as Acting<Step>;
  const limit = parseDuration(step.timeout) ?? usual;
  const late = AbortSignal.timeout(limit);
  try {
    const result = await act({ ...call, signal: AbortSignal.any([signal, late]) });
    return signal.aborted ? null : result;
  } catch (err) {
    if (signal.aborted) return null;
    if (late.aborted) return tookLongerThan(limit);
    if (err instanceof InputTooLarge) return { kind: 'failed', error: err.fault, isRetryable: false };
    services.log.error({ err, execution: execution_id, path }, 'a step could not be executed');
    return {
      kind: 'failed',
      error: { code: 'internal', message: 'A fault of the server, see its log' },
      isRetryable: true,
    };
  }
}

interface ActingOptions {
  services: WorkflowServices;
  execution_id: string;
  generation: number;
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
  #ready: { site: Site; run: StepState }[] = [];
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
  note(site: Site, run: StepState): void {
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

  async #call(site: Site, run: StepState): Promise<void> {
    const { services, calls, version, journal, execution_id, generation, scopeAt, signal } = this.#of;
    const { project, organization, permissions, workflow } = version;
    const abort = new AbortController();
    const whole = AbortSignal.any([signal, abort.signal]);
    this.#calls.set(site.path, abort);
    const call = {
      step: site.step,
      path: site.path,
      execution_id,
      generation,
      workflow_id: workflow.id,
      permissions,
      tries: run.tries,
      idempotency_key: idempotencyKey(run.tried_in ?? execution_id, site.path),
      scope: scopeAt(site.scope),
      admit: (input: object) => journal.admit(run, input),
      secrets: secretsOf(services, organization, workflow.id),
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

/**
 * Begins a step: asks its condition, and does what needs nothing of the outside. Faults of expressions are the step's failure.
 * @param now milliseconds since 1970
 */
export async function beginStep(
  { expressions }: Pick<Services, 'expressions'>,
  step: Step,
  { scope, signal, now }: { scope: Record<string, unknown>; signal: AbortSignal; now: number },
): Promise<Begun> {
  const evaluation: Evaluation = { expressions, scope, signal };
  try {
    if (step.if !== undefined && !(await holds(step.if, evaluation))) return { status: 'skipped' };
    return (await typeOf(step).begin?.(step, evaluation, now)) ?? { status: 'running' };
  } catch (error) {
    if (!(error instanceof ExpressionError) || error.fault === 'unavailable') throw error;
    return failed(error.fault === 'timeout' ? 'timeout' : 'bad_expression', error.message);
  }
}

/** Why an expression has no value any more. */
const cancelled = new Error('the execution is cancelled');

/** Steps begun side by side. */
const mostTogether = 20;

interface StepWorkOptions extends ActingOptions {
  /** From 0 to 1. */
  random(): number;
}

/** Does what a plan says with the steps of one execution. */
export class StepWork {
  readonly acting: ActingSteps;
  readonly #of: StepWorkOptions;
  readonly #cancelled = new AbortController();
  /** Aborted when no more expressions may be evaluated for the execution. */
  readonly #signal: AbortSignal;

  constructor(options: StepWorkOptions) {
    this.#of = options;
    this.#signal = AbortSignal.any([options.signal, this.#cancelled.signal]);
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
    const { services, journal, scopeAt } = this.#of;
    const scope = scopeAt(site.scope);
    const evaluating = { scope, signal: this.#signal, now: journal.now };
    const begun = await beginStep(services, site.step, evaluating).catch((error: unknown) => {
      if (error !== cancelled) throw error;
      return null;
    });
    // The journal has broken it off already.
    if (begun === null) return;
    const { status, ...rest } = begun;
    if (status === 'running' && isActing(site.step)) return this.acting.note(site, run);
    if (status === 'completed') return this.#complete(run, rest.output);
    try {
      if (rest.input !== undefined) journal.admit(run, rest.input);
    } catch (error) {
      if (!(error instanceof InputTooLarge)) throw error;
      return this.#fail(run, error.fault);
    }
    journal.move(run, { ...rest, status });
  }

  async #try(site: Site, run: StepState): Promise<void> {
    if (!isActing(site.step)) return this.#begin(site, run);
    if (run.waits_for === null) return this.acting.note(site, run);
    const end = await peerEnd(this.#of.services.orm.em.fork(), run.waits_for);
    if (end === null) run.status = 'waiting';
    else if ('error' in end) this.#fail(run, end.error);
    else await this.#complete(run, end.output);
  }

  async #expire({ step }: Site, run: StepState): Promise<void> {
    const { status, ...rest } = typeOf(step).expire?.(step, run.input) ?? timedOut;
    if (status === 'completed') return this.#complete(run, rest.output);
    if (status === 'failed' && rest.error) return this.#fail(run, rest.error);
    this.#of.journal.move(run, { ...rest, status });
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

  /** Breaks off all that is under way, expressions included: the execution is cancelled. */
  cancel(): void {
    this.breakOff();
    this.#cancelled.abort(cancelled);
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
    if (result.input !== undefined) journal.keepInput(run, result.input);
    const isOpen = result.kind === 'failed' && typeOf(step).acting?.unknownEnds?.has(result.error.code) === true;
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
