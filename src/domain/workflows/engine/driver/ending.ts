import { ExpressionError } from '../../../ports/expressions.ts';
import type { Services } from '../../../services.ts';
import type { WorkflowDefinition } from '../../definition/definition.schema.ts';
import type { ExecutionError, TerminalStatus } from '../../executions/execution.entity.ts';
import { fillTemplates } from '../../expressions/evaluate.ts';
import type { Outcome } from '../plan/plan.ts';

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
export async function endingOf(
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
