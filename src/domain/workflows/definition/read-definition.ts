import type { z } from 'zod';
import type { Permission } from '../../../kernel/actor.ts';
import { faultOf } from '../../../kernel/parse.ts';
import { forEachYielding, yieldLoop } from '../../../lib/concurrency.ts';
import { pointer } from '../../../lib/json-pointer.ts';
import type { StepOperations } from '../step-operations.ts';
import { typeOf } from '../step-types.ts';
import { checkExpressions } from './check-expressions.ts';
import { type WorkflowDefinition, workflowDefinition } from './definition.schema.ts';
import { type DefinitionSource, type Place, type Problem, parseSource } from './parse-source.ts';
import { allSteps } from './walk-steps.ts';

const maxSteps = 500;
const maxNesting = 8;

/** Faults of the tree of steps that no single step shows: how many, how deep, and names given twice. */
function checkStructure(definition: WorkflowDefinition): Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  let count = 0;
  for (const { step, place, depth } of allSteps(definition)) {
    count += 1;
    if (count === maxSteps + 1)
      problems.push({ place, code: 'too_many_steps', message: `is step ${count}; a workflow has at most ${maxSteps}` });
    if (depth === maxNesting + 1)
      problems.push({ place, code: 'too_deep', message: `lies in more than ${maxNesting} lists of steps` });
    if (seen.has(step.id))
      problems.push({
        place: [...place, 'id'],
        code: 'duplicate_id',
        message: `"${step.id}" is the id of another step`,
      });
    seen.add(step.id);
  }
  return problems;
}

/** Faults of single steps that their schema cannot see, such as operations that do not exist. */
function checkSteps(definition: WorkflowDefinition, operations: StepOperations): Problem[] {
  const checked = { operations, permissions: new Set<Permission>(definition.permissions) };
  return [...allSteps(definition)].flatMap(({ step, place }) => typeOf(step).check?.(step, place, checked) ?? []);
}

/** A fault of a definition as callers see it; `field` is a JSON Pointer into the document, line and column count from 1. */
export interface DefinitionFault {
  field: string;
  code: string;
  message: string;
  line: number;
  column: number;
}

/** What a definition's text holds: a definition when there are no errors. */
export interface DefinitionReading {
  /** What it is kept as. */
  text: string;
  definition: WorkflowDefinition | null;
  errors: DefinitionFault[];
  warnings: DefinitionFault[];
}

/** Most faults reported at once. */
const mostFaults = 100;

/** Steps and fields that are planned: refused as not available yet, instead of as unknown. */
const laterTypes = new Set(['assistant', 'sub_workflow', 'switch']);
const laterFields = new Set(['on_limit', 'body_window_seconds', 'dedup_headers', 'dedup_window_seconds']);
const notYet = 'not available yet';

const placeOf = (path: readonly PropertyKey[]): Place =>
  path.map((key) => (typeof key === 'number' ? key : String(key)));

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );

/** The faults the schema finds, each at the very thing that is wrong. */
function problemsOf(issue: z.core.$ZodIssue, value: unknown): Problem[] {
  const place = placeOf(issue.path);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      place: [...place, key],
      code: laterFields.has(key) ? 'not_available' : 'unknown_key',
      message: laterFields.has(key) ? notYet : 'is not known here',
    }));
  const given = valueAt(value, issue.path);
  const last = place.at(-1);
  const isLaterStep = issue.code === 'invalid_union' && last === 'type' && laterTypes.has(String(given));
  if (isLaterStep || (last === 'on_error' && Array.isArray(given)))
    return [{ place, code: 'not_available', message: notYet }];
  return [{ place, code: 'invalid_value', message: faultOf(issue) }];
}

/**
 * Reads and checks a definition: YAML 1.2 or JSON, its shape, its tree of steps, its expressions, and its operations against the ones
 * that exist. Whether the caller holds the permissions it lists is checked elsewhere. Long work yields to the event loop.
 * @param secrets names of the workflow's secrets that are set; of a new workflow, none
 */
export async function readDefinition(
  source: DefinitionSource,
  operations: StepOperations,
  secrets: ReadonlySet<string> = new Set(),
): Promise<DefinitionReading> {
  const { text, value, problems, locate } = await parseSource(source);
  const tell = async (found: readonly Problem[]): Promise<DefinitionFault[]> => {
    const faults: DefinitionFault[] = [];
    await forEachYielding(found.slice(0, mostFaults), ({ place, code, message, offset }) =>
      faults.push({ field: pointer(place), code, message, ...locate(place, offset) }),
    );
    return faults;
  };
  const answer = async (definition: WorkflowDefinition | null, errors: Problem[], warnings: Problem[] = []) => ({
    text,
    definition: errors.length === 0 ? definition : null,
    errors: await tell(errors),
    warnings: await tell(warnings),
  });
  if (problems.length > 0) return answer(null, problems);
  await yieldLoop();
  const parsed = workflowDefinition.safeParse(value, { reportInput: true });
  if (!parsed.success)
    return answer(
      null,
      parsed.error.issues.slice(0, mostFaults).flatMap((issue) => problemsOf(issue, value)),
    );
  const structure = checkStructure(parsed.data);
  if (structure.length > 0) return answer(null, structure);
  const { errors, warnings } = await checkExpressions(parsed.data, secrets);
  return answer(parsed.data, [...errors, ...checkSteps(parsed.data, operations)], warnings);
}
