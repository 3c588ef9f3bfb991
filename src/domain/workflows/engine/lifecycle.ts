import { DomainError } from '../../../kernel/errors.ts';
import type { Services, Settings } from '../../../kernel/services.ts';
import type { BlobStore } from '../../../ports/blobs.ts';
import { ExpressionError } from '../../../ports/expressions.ts';
import type { WorkflowDefinition } from '../definition/definition.schema.ts';
import type { ExecutionError, TerminalStatus } from '../executions/execution.entity.ts';
import { fillTemplates, holds } from '../expressions/evaluate.ts';
import { asText } from '../expressions/template.ts';
import { keptError, type Outcome } from '../steps/step-type.ts';
import type { WorkflowServices } from '../workflows.ts';
import {
  type Checkpoint,
  type CheckpointWriter,
  clearsSuspicion,
  type Lease,
  type StoredValue,
  storeValue,
} from './checkpoints.ts';
import type { DriverParts } from './driver.ts';
import type { Journal, RunState } from './journal.ts';
import { type Claimed, type ClaimedRow, Fenced } from './lease.ts';
import type { Plan } from './plan.ts';
import type { SlotRequest, SlotResult } from './slots.ts';

/** What the expressions of an execution see, with what is in sight at one place of it. `now` in milliseconds since 1970. */
export function expressionScope(
  { row, version, input }: Claimed,
  { started_at, state }: RunState,
  { public_url }: Pick<Settings, 'public_url'>,
  { at, now }: { at: object; now: number },
): Record<string, unknown> {
  const { organization, project, workflow, definition } = version;
  const path = `${organization.machine_name}/projects/${project.machine_name}/workflows/${workflow.id}/executions/${row.id}`;
  return {
    input,
    vars: definition.variables ?? {},
    execution: {
      id: row.id,
      started_at: new Date(started_at ?? now).toISOString(),
      url: `${public_url}/organizations/${path}`,
    },
    workflow,
    ...(state.failure && { error: state.failure }),
    ...at,
  };
}

/** How an execution ends. */
interface Ending {
  status: TerminalStatus;
  outcome?: string;
  output?: unknown;
  error?: ExecutionError;
  /** Why it is cancelled. */
  reason?: string;
}

export const failure = (
  code: string,
  message: string,
  path: string | null = null,
): Ending & { error: ExecutionError } => ({
  status: 'failed',
  error: keptError({ code, message, path }),
});

/** How an execution ends whose steps have come to their end; its result is what the definition says, or the last step's output. */
async function endingOf(
  { expressions }: Pick<Services, 'expressions'>,
  outcome: Exclude<Outcome, { kind: 'open' }>,
  definition: WorkflowDefinition,
  scope: Record<string, unknown>,
): Promise<Ending> {
  if (outcome.kind === 'failed') {
    const { code, message, path = null } = outcome.error;
    return failure(code, message, path);
  }
  if (outcome.kind === 'ended' || definition.output === undefined)
    return { status: 'completed', output: outcome.output };
  try {
    return { status: 'completed', output: (await fillTemplates(definition.output, { expressions, scope })) ?? null };
  } catch (error) {
    if (!(error instanceof ExpressionError) || error.fault === 'unavailable') throw error;
    return failure('bad_expression', `output: ${error.message}`);
  }
}

/** How an execution begins: its steps come now, it is over already, it waits for a slot, or somebody else advances it. */
type Begun = { kind: 'begun' } | { kind: 'ended'; ending: Ending } | { kind: 'queued' } | { kind: 'lost' };

interface Beginning {
  row: Pick<ClaimedRow, 'has_slot'>;
  lease: Lease;
  /** What expressions see. */
  scope: Record<string, unknown>;
  takeSlot(request: SlotRequest): Promise<SlotResult>;
}

/** Longest name of a slot, UTF-16 units. */
const longestKey = 500;

async function check(
  { expressions }: Pick<Services, 'expressions'>,
  { input_schema, when }: WorkflowDefinition,
  scope: Record<string, unknown>,
): Promise<Ending | null> {
  if (input_schema !== undefined) {
    const [fault] = await expressions.validate(input_schema, scope.input ?? null);
    if (fault) return failure('invalid_input', `input${fault.field}: ${fault.message}`);
  }
  if (when === undefined || (await holds(when, { expressions, scope }))) return null;
  return { status: 'completed', outcome: 'skipped', output: null };
}

async function slotKeyOf(
  { expressions }: Pick<Services, 'expressions'>,
  key: string | undefined,
  scope: Record<string, unknown>,
): Promise<string> {
  if (key === undefined) return '';
  return asText(await fillTemplates(key, { expressions, scope }))
    .replaceAll('\u0000', '')
    .toWellFormed()
    .slice(0, longestKey);
}

/**
 * Begins an execution that has done nothing yet: whether there is anything to do comes before its place in the queue, so that what is
 * skipped waits for no slot.
 */
export async function beginExecuting(
  services: Pick<Services, 'expressions'>,
  definition: WorkflowDefinition,
  { row, lease, scope, takeSlot }: Beginning,
): Promise<Begun> {
  const { concurrency } = definition;
  try {
    const ending = row.has_slot ? null : await check(services, definition, scope);
    if (ending) return { kind: 'ended', ending };
    if (concurrency === undefined || row.has_slot) return { kind: 'begun' };
    const key = await slotKeyOf(services, concurrency.key, scope);
    const slot = await takeSlot({ lease, key, most: concurrency.limit });
    return { kind: slot === 'taken' ? 'begun' : slot };
  } catch (error) {
    if (!(error instanceof ExpressionError) || error.fault === 'unavailable') throw error;
    return { kind: 'ended', ending: failure('bad_expression', error.message) };
  }
}

interface ConclusionOptions extends DriverParts {
  services: WorkflowServices;
  claimed: Claimed;
}

/** How the steps of an execution come to their end: what may run next until then, and what follows from how they ended. */
export class Conclusion {
  readonly #of: ConclusionOptions;

  constructor(options: ConclusionOptions) {
    this.#of = options;
  }

  /**
   * What may run next; past its own time or a limit, that the execution has failed.
   * @param deadline when it has taken too long, milliseconds since 1970
   */
  plan(deadline: number): Plan {
    const { now, excess } = this.#of.journal;
    const { isFailing } = this.#of.runState;
    const plan = this.#of.planner.plan(now, isFailing ? 'on_failure' : 'steps');
    if (excess !== null) plan.outcome = { kind: 'failed', error: excess };
    else if (!isFailing && plan.outcome.kind === 'open' && now >= deadline)
      plan.outcome = { kind: 'failed', error: { code: 'timeout', message: 'The execution took longer than it may' } };
    return plan;
  }

  /**
   * The steps have come to their end: the execution is over, or its steps for failures begin.
   * @returns whether it is over
   */
  async draw(outcome: Exclude<Plan['outcome'], { kind: 'open' }>, { scope }: Plan): Promise<boolean> {
    const { definition } = this.#of.claimed.version;
    const { state } = this.#of.runState;
    if (state.failure !== undefined) return this.end({ status: 'failed', error: state.failure });
    if (outcome.kind === 'ended') this.#of.journal.close(outcome.path);
    const ending = await endingOf(this.#of.services, outcome, definition, this.#of.scopeAt(scope.values()));
    const isLast = definition.on_failure === undefined || this.#of.journal.excess !== null;
    if (ending.error === undefined || isLast) return this.end(ending);
    this.#of.work.breakOff();
    state.failure = ending.error;
    this.#of.journal.log('execution.failing', { status: 'running', error: ending.error });
    return false;
  }

  /** Ends the execution, whatever is under way. */
  async end(ending: Ending): Promise<true> {
    this.#of.work.breakOff();
    await this.#of.records.end(ending);
    return true;
  }
}

interface RecordsOptions {
  lease: Lease;
  writer: CheckpointWriter;
  blobs: BlobStore;
  journal: Journal;
  runState: RunState;
  /** Called when a checkpoint finds that something has happened to the execution. */
  onWake(): void;
  onCancel(reason: string): void;
  /** Called when a checkpoint has cleared the execution of suspicion. */
  onCleared(): void;
}

/** Writes down how one execution goes on, rests and ends; a driver that has lost its lease gets `Fenced` from each of them. */
export class Records {
  readonly #of: RecordsOptions;

  constructor(options: RecordsOptions) {
    this.#of = options;
  }

  /** Keeps what has changed. @returns whether something has happened meanwhile */
  async write(more: Partial<Checkpoint> = {}): Promise<boolean> {
    const { writer, journal, lease, runState, onCancel, onCleared, onWake } = this.#of;
    const checkpoint = { ...journal.take(lease, runState), ...more };
    const kept = await writer.write(checkpoint);
    if (kept === null) throw new Fenced();
    if (clearsSuspicion(checkpoint)) onCleared();
    if (kept.cancel !== null) onCancel(kept.cancel);
    if (kept.wake) onWake();
    return kept.wake;
  }

  /**
   * Leaves the execution to itself until a time, milliseconds since 1970, or with `isHandedOn` to any free worker.
   * @returns false when something has happened meanwhile: it has not been left
   */
  async release({ waiting_until = null, isHandedOn = false }: Partial<Checkpoint>): Promise<boolean> {
    return !(await this.write({ waiting_until, isReleased: true, isHandedOn }));
  }

  /** Ends the execution; one whose output is too large to be kept has failed. */
  async end(ending: Ending): Promise<void> {
    const { journal, runState } = this.#of;
    const { stored, ended } = await this.#stored(ending);
    const { status, outcome, error, reason } = ended;
    journal.log(`execution.${status}`, {
      status,
      ...(runState.started_at !== null && { duration_ms: journal.now - runState.started_at }),
      ...(outcome !== undefined && { outcome }),
      ...(error !== undefined && { error }),
      ...(reason !== undefined && { reason }),
    });
    runState.status = status;
    await this.write({
      outcome: outcome ?? null,
      output: stored.text,
      output_sha256: stored.sha256,
      error: error ?? null,
      isReleased: true,
    });
  }

  async #stored(ended: Ending): Promise<{ stored: StoredValue; ended: Ending }> {
    const { blobs } = this.#of;
    try {
      return { stored: await storeValue(blobs, ended.output), ended };
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'too_large') throw error;
      const failed = failure('output_too_large', `output: ${error.message}`);
      return { stored: await storeValue(blobs, null), ended: failed };
    }
  }
}
