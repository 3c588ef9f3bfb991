import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import type { Permission } from '../../../kernel/actor.ts';
import { type Actor, systemActor } from '../../../kernel/actor.ts';
import { DomainError } from '../../../kernel/errors.ts';
import { type AnyOperation, withoutSecrets } from '../../../kernel/operation.ts';
import { faultOf } from '../../../kernel/parse.ts';
import { run } from '../../../kernel/run.ts';
import { isAway } from '../../../kernel/unavailable.ts';
import { isRecord } from '../../../lib/objects.ts';
import { ExpressionError } from '../../../ports/expressions.ts';
import { getEntry } from '../../studio/entries/entries.operations.ts';
import { listPulls } from '../../studio/pulls/pulls.operations.ts';
import { getBranch } from '../../studio/repository/branches.operations.ts';
import { hour } from '../definition/duration.ts';
import type { Place, Problem } from '../definition/parse-source.ts';
import { fillTemplates } from '../expressions/evaluate.ts';
import { hasTemplate } from '../expressions/template.ts';
import type { StepOperation, StepOperations } from '../step-operations.ts';
import {
  expressionFailed,
  limited,
  type StepCall,
  type StepResult,
  stepType,
  template,
  type WaitsFor,
} from './step-type.ts';

const schema = z.strictObject({
  ...limited(hour),
  type: z.literal('operation'),
  operation: z.string().min(1),
  with: z.record(z.string(), template).optional(),
  wait: z.boolean().optional(),
});

export type OperationStep = z.output<typeof schema>;

type Input = Record<string, unknown>;
type Find = (call: StepCall, input: Input) => Promise<unknown>;

/** Reads the present state with a right of its own: only what the step itself was to create is handed on. */
function read(call: StepCall, operation: AnyOperation, input: Input): Promise<Input | null> {
  const { services, organization, project, signal } = call;
  const actor = systemActor('workflows', ['browse_studio'], services.settings.public_host);
  const place = { organization: organization.machine_name, project: project.machine_name };
  const found = run(
    operation,
    { services, actor, conditions: {}, signal, request_id: call.execution_id, address: null, facts: {} },
    { ...place, ...input },
  );
  return found.then((output) => output as Input).catch(() => null);
}

const isPart = (wanted: unknown, there: unknown): boolean =>
  isRecord(wanted) && typeof there === 'object' && there !== null
    ? Object.entries(wanted).every(([key, value]) => isPart(value, Reflect.get(there, key)))
    : isDeepStrictEqual(wanted, there);

/** How to find what an earlier call of an operation has made outside the database: by its name, and by what it was to hold. */
const finds: Record<string, Find> = {
  'studio.createBranch': (call, { name }) => read(call, getBranch, { name }),
  'studio.createEntry': async (call, { collection, slug, branch, frontmatter = {}, body = '' }) => {
    const found = await read(call, getEntry, { collection, entry: slug, ...(branch !== undefined && { branch }) });
    const isSame =
      found !== null && isPart(frontmatter, found.frontmatter) && String(found.body).trim() === String(body).trim();
    return isSame ? found : null;
  },
  'studio.createPull': async (call, { head, base }) => {
    const found = await read(call, listPulls, { head, base, state: 'open' });
    return (found?.items as unknown[] | undefined)?.[0] ?? null;
  },
};

/**
 * What an operation has made in an earlier try whose answer was lost, found when it is refused because it is there already. A deletion that
 * finds nothing any more has been done.
 * @returns null when another caller made it, or that is unknown
 */
async function earlierResult(
  call: StepCall,
  operation: AnyOperation,
  input: Input,
  refusal: string,
): Promise<{ result: unknown } | null> {
  const isDeletion = operation.name.includes('.delete');
  if (isDeletion) return refusal === 'not_found' ? { result: null } : null;
  const conflicts = ['already_exists', 'name_collision', 'nothing_to_merge'];
  const found = conflicts.includes(refusal) ? await finds[operation.name]?.(call, input) : null;
  return found ? { result: found } : null;
}

/** What is known of an operation a step has called under its key, from an earlier try or an earlier driver. */
type Effect = { state: 'none' } | { state: 'started' } | { state: 'done'; result: unknown };

/**
 * Notes that a step is about to act, unless one with its key has before.
 * @returns what was known before
 */
async function beginEffect(em: EntityManager, { idempotency_key, execution_id, services }: StepCall): Promise<Effect> {
  const inserted = await em.execute(
    `insert into effect (key, execution_id, state, created_at) values (?, ?, 'started', ?)
     on conflict (key) do nothing returning key`,
    [idempotency_key, execution_id, services.clock.now()],
  );
  if (inserted.length > 0) return { state: 'none' };
  const [known] = (await em.execute('select state, result from effect where key = ?', [idempotency_key])) as {
    state: 'started' | 'done';
    result: unknown;
  }[];
  return known?.state === 'done' ? { state: 'done', result: known.result } : { state: 'started' };
}

/** Keeps what an operation answered, in its own transaction when `em` is in one. */
async function keepEffect(em: EntityManager, key: string, result: unknown): Promise<void> {
  await em.execute(`update effect set state = 'done', result = ?::json where key = ?`, [
    JSON.stringify(result ?? null),
    key,
  ]);
}

/** Forgets a call that was refused: it has done nothing. */
async function dropEffect(em: EntityManager, key: string): Promise<void> {
  await em.execute(`delete from effect where key = ? and state = 'started'`, [key]);
}

/** A workflow as it acts: in its own name, in its own project, with what its version lists and not more. */
function workflowActor(
  {
    workflow_id,
    execution_id,
    organization,
    project,
    services,
  }: Pick<StepCall, 'workflow_id' | 'execution_id' | 'organization' | 'project' | 'services'>,
  permissions: readonly Permission[],
): Actor {
  const grant = {
    organization_id: organization.id,
    permissions: new Set(permissions),
    projects: new Set([project.id]),
    owner: false,
  };
  return {
    id: `workflow:${workflow_id}`,
    execution: execution_id,
    author: { name: 'Portico workflow', email: `workflow-${workflow_id}@${services.settings.public_host}` },
    instance_admin: false,
    organizations: [organization.id],
    grantFor: (organization_id) => (organization_id === organization.id ? grant : null),
  };
}

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
async function callOperation(
  call: StepCall<OperationStep>,
  { operation }: StepOperation,
  input: Input,
): Promise<unknown> {
  const { services, signal, organization, project, permissions, idempotency_key } = call;
  const em = services.orm.em.fork();
  let isKept = operation.kind === 'query';
  const answer = await run(
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
        await keepEffect(within, idempotency_key, withoutSecrets(operation, result));
        isKept = true;
      },
    },
    { ...input, organization: organization.machine_name, project: project.machine_name },
  );
  const output = withoutSecrets(operation, answer);
  if (!isKept) await keepEffect(em, idempotency_key, output);
  return output;
}

/** Does the operation once for its key: what an earlier try has done is found again and not done twice. */
async function actOnce(call: StepCall<OperationStep>, known: StepOperation, input: Input): Promise<unknown> {
  const em = call.services.orm.em.fork();
  if (known.operation.kind === 'query') return callOperation(call, known, input);
  const before = await beginEffect(em, call);
  if (before.state === 'done') return before.result;
  try {
    return await callOperation(call, known, input);
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

const unknownOperation = ({ operation }: OperationStep) =>
  `operation "${operation}" does not exist or cannot be used in workflows`;

/** Does an `operation` step: any operation for workflows, under what the workflow's version may do. */
export async function runOperationStep(call: StepCall<OperationStep>): Promise<StepResult> {
  const { step, services, scope, signal } = call;
  const known = services.workflows.stepOperations.get(step.operation);
  if (known === undefined) return failed('unknown_operation', unknownOperation(step));
  let input: Input = {};
  try {
    input = (await fillTemplates(step.with ?? {}, { expressions: services.expressions, scope, signal })) as Input;
    call.admit(input);
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

const holdsTemplate = (value: unknown): boolean =>
  typeof value === 'string'
    ? hasTemplate(value)
    : typeof value === 'object' && value !== null && Object.values(value).some(holdsTemplate);

/** Faults of what an operation is given: what it does not know, and literal values it refuses. What holds a template is known only when it runs. */
function checkInput(step: OperationStep, place: Place, { input }: StepOperation): Problem[] {
  const problems: Problem[] = [];
  const given = step.with ?? {};
  const { shape } = input as Partial<z.ZodObject>;
  for (const name of Object.keys(given))
    if (shape && !Object.hasOwn(shape, name))
      problems.push({
        place: [...place, 'with', name],
        code: 'unknown_key',
        message: `is no input of ${step.operation}`,
      });
  const parsed = input.safeParse(given, { reportInput: true });
  for (const issue of parsed.success ? [] : parsed.error.issues) {
    const at = issue.path.reduce<unknown>(
      (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
      given,
    );
    if (holdsTemplate(at)) continue;
    const path = issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
    problems.push({ place: [...place, 'with', ...path], code: 'invalid_input', message: faultOf(issue) });
  }
  return problems;
}

/** Faults of a step: an operation that does not exist or cannot be used in workflows, a permission the workflow does not list, and its input. */
function check(
  step: OperationStep,
  place: Place,
  { operations, permissions }: { operations: StepOperations; permissions: ReadonlySet<Permission> },
): Problem[] {
  const known = operations.get(step.operation);
  if (known === undefined)
    return [{ place: [...place, 'operation'], code: 'unknown_operation', message: unknownOperation(step) }];
  const problems: Problem[] = [];
  if (!permissions.has(known.permission)) {
    const message = `needs ${known.permission}, which is not among the workflow's permissions`;
    problems.push({ place: [...place, 'operation'], code: 'missing_permission', message });
  }
  if (step.wait === true && !known.canBeAwaited)
    problems.push({
      place: [...place, 'wait'],
      code: 'not_awaitable',
      message: 'starts nothing that could be waited for',
    });
  return [...problems, ...checkInput(step, place, known)];
}

/** Calls any operation of the project, and waits for what it has started if that is wanted. */
export const operation = stepType<OperationStep>({
  type: 'operation',
  schema: () => schema,
  templates: ['with'],
  check,
  acting: {
    act: runOperationStep,
    limit: 300_000,
    attempts: () => 3,
    unknownEnds: new Set(['timeout', 'unavailable', 'storage_full', 'internal']),
  },
});
