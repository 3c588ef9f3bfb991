import { inTurns } from '../../in-turns.ts';
import { parseExpression } from '../expressions/parse-expression.ts';
import { type Reference, referencesOf, type UsedVariable, unknownVariablesOf } from '../expressions/references.ts';
import { ExpressionSyntaxError } from '../expressions/syntax-error.ts';
import type { WorkflowDefinition } from './definition.schema.ts';
import { expressionsOf, type PlacedExpression, templatesIn } from './expressions-of.ts';
import type { Problem } from './problem.ts';
import { type Scope, walkScopes } from './visible-steps.ts';
import { allSteps } from './walk-steps.ts';

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
 * Whether the expressions of a definition can be read and name only what is there by then; steps that can never run. In turns: all of them
 * may take a quarter of a second. A secret that is not set is a warning: a workflow has to exist before its secrets can be set.
 * @param secrets names of those that are
 */
export async function checkExpressions(
  definition: WorkflowDefinition,
  secrets: ReadonlySet<string>,
): Promise<Findings> {
  const findings: Findings = { errors: [], warnings: [] };
  const known = { ids: new Set([...allSteps(definition)].map(({ step }) => step.id)), secrets };
  let count = 0;
  await inTurns(scopedExpressions(definition, findings.errors), ({ expression, scope }) => {
    count += 1;
    if (count <= maxExpressions) checkExpression(expression, scope, known, findings);
    if (count !== maxExpressions + 1) return;
    const { place, offset } = expression;
    const message = `holds expression ${count}; a workflow has at most ${maxExpressions}`;
    findings.errors.push({ place, offset, code: 'too_many_expressions', message });
  });
  return findings;
}
