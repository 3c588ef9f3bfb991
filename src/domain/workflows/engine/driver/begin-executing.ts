import { ExpressionError } from '../../../ports/expressions.ts';
import type { Services } from '../../../services.ts';
import type { WorkflowDefinition } from '../../definition/definition.schema.ts';
import { fillTemplates, holds } from '../../expressions/evaluate.ts';
import { asText } from '../../expressions/template.ts';
import type { Hold } from '../checkpoints/checkpoint.ts';
import type { ClaimedRow } from '../claim.ts';
import type { SlotAnswer, SlotRequest } from '../take-slots.ts';
import { type Ending, failure } from './ending.ts';

/** How an execution begins: its steps come now, it is over already, it waits for a slot, or somebody else advances it. */
export type Begun = { kind: 'begun' } | { kind: 'ended'; ending: Ending } | { kind: 'queued' } | { kind: 'lost' };

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
