import { ExpressionError } from '../../../ports/expressions.ts';
import type { Services } from '../../services.ts';
import type { WorkflowDefinition } from '../definition/definition.schema.ts';
import type { ExecutionError, TerminalStatus } from '../executions/execution.entity.ts';
import { fillTemplates, holds } from '../expressions/evaluate.ts';
import { asText } from '../expressions/template.ts';
import type { Hold } from './checkpoints.ts';
import type { DriverParts } from './driver.ts';
import type { Claimed, ClaimedRow } from './lease.ts';
import type { Outcome, Plan } from './plan.ts';
import type { SlotAnswer, SlotRequest } from './slots.ts';

/** How an execution ends. */
export interface Ending {
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
  error: { code, message, path },
});

/** How an execution ends whose steps have come to their end; its result is what the definition says, or the last step's output. */
async function endingOf(
  { expressions }: Pick<Services, 'expressions'>,
  outcome: Exclude<Outcome, { kind: 'open' }>,
  definition: WorkflowDefinition,
  roots: Record<string, unknown>,
): Promise<Ending> {
  if (outcome.kind === 'failed') {
    const { code, message, path = null } = outcome.error;
    return failure(code, message, path);
  }
  if (outcome.kind === 'ended' || definition.output === undefined)
    return { status: 'completed', output: outcome.output };
  try {
    return { status: 'completed', output: (await fillTemplates(definition.output, { expressions, roots })) ?? null };
  } catch (error) {
    if (!(error instanceof ExpressionError) || error.fault === 'unavailable') throw error;
    return failure('bad_expression', `output: ${error.message}`);
  }
}

/** How an execution begins: its steps come now, it is over already, it waits for a slot, or somebody else advances it. */
type Begun = { kind: 'begun' } | { kind: 'ended'; ending: Ending } | { kind: 'queued' } | { kind: 'lost' };

interface Beginning {
  row: Pick<ClaimedRow, 'has_slot'>;
  hold: Hold;
  /** What expressions see. */
  roots: Record<string, unknown>;
  takeSlot(request: SlotRequest): Promise<SlotAnswer>;
}

/** Longest name of a slot, UTF-16 units. */
const longestKey = 500;

async function check(
  { expressions }: Pick<Services, 'expressions'>,
  { input_schema, when }: WorkflowDefinition,
  roots: Record<string, unknown>,
): Promise<Ending | null> {
  if (input_schema !== undefined) {
    const [fault] = await expressions.validate(input_schema, roots.input ?? null);
    if (fault) return failure('invalid_input', `input${fault.field}: ${fault.message}`);
  }
  if (when === undefined || (await holds(when, { expressions, roots }))) return null;
  return { status: 'completed', outcome: 'skipped', output: null };
}

async function slotKeyOf(
  { expressions }: Pick<Services, 'expressions'>,
  key: string | undefined,
  roots: Record<string, unknown>,
): Promise<string> {
  if (key === undefined) return '';
  return asText(await fillTemplates(key, { expressions, roots }))
    .replaceAll('\u0000', '')
    .toWellFormed()
    .slice(0, longestKey);
}

/**
 * Begins an execution that has done nothing yet: whether there is anything to do comes before its place in the queue, so that what is
 * skipped waits for nobody.
 */
export async function beginExecuting(
  services: Pick<Services, 'expressions'>,
  definition: WorkflowDefinition,
  { row, hold, roots, takeSlot }: Beginning,
): Promise<Begun> {
  const { concurrency } = definition;
  try {
    const ending = row.has_slot ? null : await check(services, definition, roots);
    if (ending) return { kind: 'ended', ending };
    if (concurrency === undefined || row.has_slot) return { kind: 'begun' };
    const key = await slotKeyOf(services, concurrency.key, roots);
    const slot = await takeSlot({ hold, key, most: concurrency.limit });
    return { kind: slot === 'taken' ? 'begun' : slot };
  } catch (error) {
    if (!(error instanceof ExpressionError) || error.fault === 'unavailable') throw error;
    return { kind: 'ended', ending: failure('bad_expression', error.message) };
  }
}

interface ConclusionOptions extends DriverParts {
  services: Services;
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
    const { isFailing } = this.#of.standing;
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
    const { definition } = this.#of.claimed.guide;
    const { state } = this.#of.standing;
    if (state.failure !== undefined) return this.end({ status: 'failed', error: state.failure });
    if (outcome.kind === 'ended') this.#of.journal.close(outcome.path);
    const ending = await endingOf(this.#of.services, outcome, definition, this.#of.rootsAt(scope.roots()));
    const isLast = definition.on_failure === undefined || this.#of.journal.excess !== null;
    if (ending.error === undefined || isLast) return this.end(ending);
    this.#of.work.breakOff();
    state.failure = ending.error;
    this.#of.journal.say('execution.failing', { status: 'running', error: ending.error });
    return false;
  }

  /** Ends the execution, whatever is under way. */
  async end(ending: Ending): Promise<true> {
    this.#of.work.breakOff();
    await this.#of.records.end(ending);
    return true;
  }
}
