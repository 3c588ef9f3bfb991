import { DomainError } from '../../../errors.ts';
import { ExpressionError } from '../../../ports/expressions.ts';
import { run } from '../../../run.ts';
import { isAway } from '../../../unavailable.ts';
import type { Step } from '../../definition/step.schema.ts';
import { fillTemplates } from '../../expressions/evaluate.ts';
import type { StepOperation } from '../../step-operations.ts';
import { expressionFailed } from '../expression-failed.ts';
import type { StepCall, StepResult, WaitsFor } from '../step-call.ts';
import { workflowActor } from '../workflow-actor.ts';
import { earlierResult } from './earlier-result.ts';
import { beginEffect, dropEffect, keepEffect } from './effects.ts';

export type OperationStep = Extract<Step, { type: 'operation' }>;
type Input = Record<string, unknown>;

/** Refusals that may not recur at the next attempt: another writer was first, or a service is unavailable. */
const passing = new Set([
  'branch_moved',
  'busy',
  'sha_mismatch',
  'unavailable',
  'storage_full',
  'upstream_unavailable',
  'git_timeout',
  'rate_limited',
]);

/** Calls the operation in the workflow's name; what a command of the database answers is kept in its own transaction. */
async function act(call: StepCall<OperationStep>, { operation }: StepOperation, input: Input): Promise<unknown> {
  const { services, signal, organization, project, permissions, idempotency_key } = call;
  const em = services.orm.em.fork();
  let isKept = operation.kind === 'query';
  const output = await run(
    operation,
    {
      services,
      actor: workflowActor(call, permissions),
      conditions: {},
      signal,
      request_id: call.execution_id,
      address: null,
      facts: {},
      async inTransaction(within, result) {
        await keepEffect(within, idempotency_key, result);
        isKept = true;
      },
    },
    { ...input, organization: organization.machine_name, project: project.machine_name },
  );
  if (!isKept) await keepEffect(em, idempotency_key, output);
  return output;
}

/** Does the operation once for its key: what an earlier try has done is found again and not done twice. */
async function actOnce(call: StepCall<OperationStep>, known: StepOperation, input: Input): Promise<unknown> {
  const em = call.services.orm.em.fork();
  if (known.operation.kind === 'query') return act(call, known, input);
  const before = await beginEffect(em, call);
  if (before.state === 'done') return before.result;
  try {
    return await act(call, known, input);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const earlier = before.state === 'started' ? await earlierResult(call, known.operation, input, error.code) : null;
    if (earlier) {
      await keepEffect(em, call.idempotency_key, earlier.result);
      return earlier.result;
    }
    // A refused call has no effect; the effect of an interrupted one is unknown.
    if (!isAway(error) && before.state === 'none') await dropEffect(em, call.idempotency_key);
    throw error;
  }
}

/** What an operation has started, when its end is to be waited for. */
function startedBy({ operation }: StepOperation, output: unknown): WaitsFor | null {
  const { run_id, id } = (output ?? {}) as { run_id?: unknown; id?: unknown };
  if (run_id !== undefined) return { kind: 'run', id: Number(run_id) };
  return operation.name.startsWith('studio.') && typeof id === 'number' ? { kind: 'deployment', id } : null;
}

const failed = (code: string, message: string, details?: object): StepResult => ({
  kind: 'failed',
  error: { code, message, ...details },
  isRetryable: passing.has(code),
});

/** Does an `operation` step: any operation for workflows, under what the workflow's version may do. */
export async function runOperationStep(call: StepCall<OperationStep>): Promise<StepResult> {
  const { step, services, roots, signal } = call;
  const known = services.stepOperations.get(step.operation);
  if (known === undefined)
    return failed('unknown_operation', `operation "${step.operation}" does not exist or cannot be used in workflows`);
  let input: Input = {};
  try {
    input = (await fillTemplates(step.with ?? {}, { expressions: services.expressions, roots, signal })) as Input;
    const output = await actOnce(call, known, input);
    const waits_for = step.wait === true ? startedBy(known, output) : null;
    return waits_for ? { kind: 'waiting', waits_for, input } : { kind: 'completed', output, input };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ExpressionError) return { ...expressionFailed(error), input };
    if (!(error instanceof DomainError)) throw error;
    const { errors } = error.details ?? {};
    return { ...failed(error.code, error.message, errors && { errors }), input };
  }
}
