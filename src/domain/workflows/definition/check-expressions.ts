import { parseExpression } from '../expressions/parse-expression.ts';
import { type Reference, referencesOf } from '../expressions/references.ts';
import { ExpressionSyntaxError } from '../expressions/syntax-error.ts';
import type { WorkflowDefinition } from './definition.schema.ts';
import { expressionsOf, type PlacedExpression, templatesIn } from './expressions-of.ts';
import type { Problem } from './problem.ts';
import { type Scope, walkScopes } from './visible-steps.ts';
import { allSteps } from './walk-steps.ts';

/** Most expressions of a definition: each one takes the parser some 50 µs, however short it is. */
const maxExpressions = 5_000;

const always = new Set(['input', 'steps', 'vars', 'execution', 'workflow']);

interface Findings {
  errors: Problem[];
  warnings: Problem[];
}

/** Faults of one name an expression asks for, seen from where it stands. */
function checkReference(
  { root, member, position }: Reference,
  { place, offset, maySecret }: PlacedExpression,
  scope: Scope,
  ids: ReadonlySet<string>,
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
  if (root !== 'steps' || member === null) return;
  const certainty = scope.steps.get(member);
  if (certainty === 'possible')
    warnings.push({ ...at, code: 'step_may_not_run', message: `step "${member}" has not run in every case` });
  if (certainty !== undefined) return;
  if (ids.has(member)) error('step_not_run', `step "${member}" has not run yet, or is inside a loop or another branch`);
  else error('unknown_step', `there is no step "${member}"`);
}

function checkExpression(
  expression: PlacedExpression,
  scope: Scope,
  ids: ReadonlySet<string>,
  findings: Findings,
): void {
  try {
    for (const reference of referencesOf(parseExpression(expression.text)))
      checkReference(reference, expression, scope, ids, findings);
  } catch (error) {
    if (!(error instanceof ExpressionSyntaxError)) throw error;
    const { place, offset } = expression;
    findings.errors.push({ place, code: 'bad_expression', message: error.message, offset: offset + error.position });
  }
}

/** Whether the expressions of a definition can be read and name only what is there by then; steps that can never run. */
export function checkExpressions(definition: WorkflowDefinition): Findings {
  const findings: Findings = { errors: [], warnings: [] };
  const ids = new Set([...allSteps(definition)].map(({ step }) => step.id));
  const nothing: Scope = { steps: new Map(), hasItem: false, hasError: false };
  const top = (text: string, name: string): PlacedExpression => ({ text, place: [name], offset: 0, maySecret: false });
  let count = 0;
  const check = (expressions: readonly PlacedExpression[], scope: Scope) => {
    for (const expression of expressions) {
      count += 1;
      if (count <= maxExpressions) checkExpression(expression, scope, ids, findings);
      if (count !== maxExpressions + 1) continue;
      const message = `holds expression ${count}; a workflow has at most ${maxExpressions}`;
      findings.errors.push({
        place: expression.place,
        offset: expression.offset,
        code: 'too_many_expressions',
        message,
      });
    }
  };
  if (definition.when !== undefined) check([top(definition.when, 'when')], nothing);
  check(templatesIn(definition.concurrency?.key, ['concurrency', 'key'], findings.errors), nothing);
  const after = walkScopes(definition, (step, place, scope, isReachable) => {
    if (!isReachable)
      findings.errors.push({
        place,
        code: 'unreachable',
        message: `step "${step.id}" can never run: the workflow has ended`,
      });
    check(expressionsOf(step, place, findings.errors), scope);
  });
  check(templatesIn(definition.output, ['output'], findings.errors), after);
  return findings;
}
