import type { z } from 'zod';
import type { Permission } from '../../../kernel/actor.ts';
import { faultOf } from '../../../kernel/parse.ts';
import { forEachYielding, yieldLoop } from '../../../lib/concurrency.ts';
import { pointer } from '../../../lib/json-pointer.ts';
import { ExpressionSyntaxError, parseExpression } from '../expressions/parse-expression.ts';
import { type Reference, referencesOf, type UsedVariable, unknownVariablesOf } from '../expressions/references.ts';
import { type PlacedExpression, templatesIn } from '../expressions/template.ts';
import type { StepOperations } from '../step-operations.ts';
import { typeOf } from '../step-types.ts';
import type { InnerList, Step } from '../steps/step-type.ts';
import { type WorkflowDefinition, workflowDefinition } from './definition.schema.ts';
import { type DefinitionSource, type Place, type Problem, parseSource } from './parse-source.ts';
import { allSteps } from './walk-steps.ts';

/** The expressions a step itself evaluates before or while it runs; not those of the steps within it. */
function expressionsOf(step: Step, place: Place, problems: Problem[]): PlacedExpression[] {
  const { expressions = [], templates = [], maySecret = false } = typeOf(step);
  const bare = ['if', ...expressions].flatMap((name): PlacedExpression[] => {
    const text: unknown = Reflect.get(step, name);
    return typeof text === 'string' ? [{ text, place: [...place, name], offset: 0, maySecret: false }] : [];
  });
  return [
    ...bare,
    ...templates.flatMap((name) => templatesIn(Reflect.get(step, name), [...place, name], problems, maySecret)),
  ];
}

/** Whether a step has run by the time another place is reached: surely, or only if the run went that way. */
type Certainty = 'certain' | 'possible';

/** What an expression at a place can name. */
interface Scope {
  steps: ReadonlyMap<string, Certainty>;
  /** Inside a `for_each`: `item` and `index`. */
  hasItem: boolean;
  /** Inside `on_failure`: `error`. */
  hasError: boolean;
}

/** A step as the walk comes by it: what is in scope for its own expressions, and whether it can run at all. */
interface VisitedStep {
  step: Step;
  place: Place;
  scope: Scope;
  isReachable: boolean;
}

/** The steps that have run after a list, and whether the run always ends within it. */
interface AfterList {
  ran: Map<string, Certainty>;
  ends: boolean;
}

/** Walks lists of steps in the order they run. */
function* walkList(steps: readonly Step[], place: Place, scope: Scope): Generator<VisitedStep, AfterList> {
  const ran = new Map<string, Certainty>();
  let ends = false;
  for (const [index, step] of steps.entries()) {
    const here = [...place, index];
    const known = new Map([...scope.steps, ...ran]);
    yield { step, place: here, scope: { ...scope, steps: known }, isReachable: !ends };
    const { lists: listsOf, takesOne = false, ends: isEnd = false } = typeOf(step);
    const lists: (AfterList & Pick<InnerList, 'runs'>)[] = [];
    for (const { runs, place: within, steps: inner } of listsOf?.(step) ?? []) {
      const innerScope = { ...scope, steps: known, hasItem: scope.hasItem || runs === 'per_item' };
      lists.push({ runs, ...(yield* walkList(inner, [...here, ...within], innerScope)) });
    }
    for (const { runs, ran: within } of lists) {
      // The iterations of a loop have many outputs; the loop itself holds them all.
      if (runs === 'per_item') continue;
      const isSure = runs === 'always' && step.if === undefined && step.on_error !== 'continue';
      for (const [id, certainty] of within) ran.set(id, isSure ? certainty : 'possible');
    }
    ran.set(step.id, step.if === undefined ? 'certain' : 'possible');
    ends ||= step.if === undefined && (isEnd || (takesOne && lists.every((list) => list.ends)));
  }
  return { ran, ends };
}

/** Walks a whole definition, in the order of the text. Returns what is in scope for its `output`. */
function* walkScopes({ steps, on_failure }: WorkflowDefinition): Generator<VisitedStep, Scope> {
  const nothing: Scope = { steps: new Map(), hasItem: false, hasError: false };
  const { ran } = yield* walkList(steps, ['steps'], nothing);
  const after: Scope = { ...nothing, steps: ran };
  if (on_failure) {
    const possible = new Map([...ran.keys()].map((id) => [id, 'possible' as const]));
    yield* walkList(on_failure, ['on_failure'], { ...nothing, steps: possible, hasError: true });
  }
  return after;
}

/** Most expressions of a definition: each one takes the parser some 50 µs, however short it is. */
const maxExpressions = 5_000;

const always = new Set(['input', 'steps', 'vars', 'execution', 'workflow']);

/** What expressions can name beside what is in scope for them. */
interface Known {
  /** Of all steps of the definition. */
  ids: ReadonlySet<string>;
  /** Names of secrets that are set. */
  secrets: ReadonlySet<string>;
}

interface Findings {
  errors: Problem[];
  warnings: Problem[];
}

/** Faults of one name that an expression refers to, in the scope of its step. */
function checkReference(
  { root, member, position }: Reference,
  { place, offset, maySecret }: PlacedExpression,
  scope: Scope,
  { ids, secrets }: Known,
  { errors, warnings }: Findings,
): void {
  const at = { place, offset: offset + position };
  const error = (code: string, message: string) => errors.push({ ...at, code, message });
  if (root === 'secrets' && !maySecret)
    return void error(
      'secret_not_allowed',
      'secrets can be used in the url, query, headers and body of http steps only',
    );
  const isKnown =
    always.has(root) ||
    root === 'secrets' ||
    (scope.hasItem && (root === 'item' || root === 'index')) ||
    (scope.hasError && root === 'error');
  if (!isKnown) return void error('unknown_name', `"${root}" is nothing that expressions know here`);
  if (root === 'secrets' && member === null)
    return void error(
      'secret_not_named',
      'name the secret, as secrets.NAME: one whose name is computed would be empty where it is not set',
    );
  if (root === 'secrets' && member !== null && !secrets.has(member))
    warnings.push({ ...at, code: 'secret_not_set', message: `the secret "${member}" is not set` });
  if (root !== 'steps' || member === null) return;
  const certainty = scope.steps.get(member);
  if (certainty === 'possible')
    warnings.push({ ...at, code: 'step_may_not_run', message: `step "${member}" has not run in every case` });
  if (certainty !== undefined) return;
  if (ids.has(member)) error('step_not_run', `step "${member}" has not run yet, or is inside a loop or another branch`);
  else error('unknown_step', `step "${member}" does not exist`);
}

const unknownText = ({ name, isCalled }: UsedVariable): string => {
  if (name === 'eval') return '"$eval" is not available in workflows';
  return isCalled ? `function "$${name}" does not exist` : `variable "$${name}" does not exist`;
};

function checkExpression(expression: PlacedExpression, scope: Scope, known: Known, findings: Findings): void {
  const { place, offset } = expression;
  try {
    const tree = parseExpression(expression.text);
    for (const unknown of unknownVariablesOf(tree))
      findings.errors.push({
        place,
        offset: offset + unknown.position,
        code: unknown.isCalled || unknown.name === 'eval' ? 'unknown_function' : 'unknown_variable',
        message: unknownText(unknown),
      });
    for (const reference of referencesOf(tree)) checkReference(reference, expression, scope, known, findings);
  } catch (error) {
    if (!(error instanceof ExpressionSyntaxError)) throw error;
    findings.errors.push({ place, code: 'bad_expression', message: error.message, offset: offset + error.position });
  }
}

/** The expressions of a definition, in the order of the text, each with what is in scope for it. Other faults on the way are added. */
function* scopedExpressions(
  definition: WorkflowDefinition,
  errors: Problem[],
): Generator<{ expression: PlacedExpression; scope: Scope }, void> {
  const within = (scope: Scope, expressions: readonly PlacedExpression[]) =>
    expressions.map((expression) => ({ expression, scope }));
  const nothing: Scope = { steps: new Map(), hasItem: false, hasError: false };
  const { when, concurrency, output } = definition;
  if (when !== undefined) yield* within(nothing, [{ text: when, place: ['when'], offset: 0, maySecret: false }]);
  yield* within(nothing, templatesIn(concurrency?.key, ['concurrency', 'key'], errors));
  const walk = walkScopes(definition);
  let next = walk.next();
  for (; !next.done; next = walk.next()) {
    const { step, place, scope, isReachable } = next.value;
    const message = `step "${step.id}" can never run: the workflow has ended`;
    if (!isReachable) errors.push({ place, code: 'unreachable', message });
    yield* within(scope, expressionsOf(step, place, errors));
  }
  yield* within(next.value, templatesIn(output, ['output'], errors));
}

/**
 * Whether the expressions of a definition can be read and name only what is there by then; steps that can never run. Yields to the event loop: a whole definition
 * may take a quarter of a second. A secret that is not set is a warning: a workflow has to exist before its secrets can be set.
 * @param secrets names of the secrets that are set
 */
async function checkExpressions(definition: WorkflowDefinition, secrets: ReadonlySet<string>): Promise<Findings> {
  const findings: Findings = { errors: [], warnings: [] };
  const known = { ids: new Set([...allSteps(definition)].map(({ step }) => step.id)), secrets };
  let count = 0;
  await forEachYielding(scopedExpressions(definition, findings.errors), ({ expression, scope }) => {
    count += 1;
    if (count <= maxExpressions) checkExpression(expression, scope, known, findings);
    if (count !== maxExpressions + 1) return;
    const { place, offset } = expression;
    const message = `holds expression ${count}; a workflow has at most ${maxExpressions}`;
    findings.errors.push({ place, offset, code: 'too_many_expressions', message });
  });
  return findings;
}

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
