import type { z } from 'zod';
import { inTurns } from '../../in-turns.ts';
import { faultOf, pointer } from '../../parse.ts';
import type { StepOperations } from '../step-operations.ts';
import { checkExpressions } from './check-expressions.ts';
import { checkOperations } from './check-operations.ts';
import { checkStructure } from './check-structure.ts';
import { type WorkflowDefinition, workflowDefinition } from './definition.schema.ts';
import { parseSource } from './parse-source.ts';
import type { Place, Problem } from './problem.ts';

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
  definition: WorkflowDefinition | null;
  errors: DefinitionFault[];
  warnings: DefinitionFault[];
}

/** Most faults told at once. */
const mostFaults = 100;

/** Steps and fields that are planned, so that people who read about them are told so. */
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
 * Reads and checks a definition: YAML 1.2 or JSON, its shape, its tree of steps, its expressions, and its operations against those that
 * there are. Whether the caller holds the permissions it lists is another question. What is long is done in turns, so that all else goes on.
 * @param secrets names of those that are set of the workflow; of a new one, none
 */
export async function readDefinition(
  source: string,
  operations: StepOperations,
  secrets: ReadonlySet<string> = new Set(),
): Promise<DefinitionReading> {
  const { value, problems, locate } = await parseSource(source);
  const tell = async (found: readonly Problem[]): Promise<DefinitionFault[]> => {
    const told: DefinitionFault[] = [];
    await inTurns(found.slice(0, mostFaults), ({ place, code, message, offset }) =>
      told.push({ field: pointer(place), code, message, ...locate(place, offset) }),
    );
    return told;
  };
  const answer = async (definition: WorkflowDefinition | null, errors: Problem[], warnings: Problem[] = []) => ({
    definition: errors.length === 0 ? definition : null,
    errors: await tell(errors),
    warnings: await tell(warnings),
  });
  if (problems.length > 0) return answer(null, problems);
  const parsed = workflowDefinition.safeParse(value, { reportInput: true });
  if (!parsed.success)
    return answer(
      null,
      parsed.error.issues.slice(0, mostFaults).flatMap((issue) => problemsOf(issue, value)),
    );
  const structure = checkStructure(parsed.data);
  if (structure.length > 0) return answer(null, structure);
  const { errors, warnings } = await checkExpressions(parsed.data, secrets);
  return answer(parsed.data, [...errors, ...checkOperations(parsed.data, operations)], warnings);
}
