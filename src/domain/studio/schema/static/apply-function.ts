import type { Evaluator } from './evaluate.ts';
import { access } from './known.ts';
import type { FunctionNode } from './syntax.ts';
import { type Place, type Scope, scalar, unknown, type Value } from './values.ts';

/** Gives a function's result when its body is one returned expression, with constants before it at most. */
export function applyFunction(evaluator: Evaluator, callee: Value, args: readonly Value[], place: Place): Value {
  if (callee.kind !== 'closure') return unknown('this is not a function that can be followed', place);
  const { node, place: home } = callee;
  if (node.async || node.generator) return unknown('an asynchronous function is not run', home);
  const local = new Map<string, Value>();
  const scope: Scope = (name) => local.get(name) ?? callee.scope(name);
  for (const [at, parameter] of node.params.entries()) {
    if (!bindParameter(parameter, args[at] ?? scalar(undefined), local))
      return unknown('the parameters are not understood', home);
  }
  if (node.body.type !== 'BlockStatement') return evaluator.evaluate(node.body, scope, home.path);
  return returned(evaluator, node.body.body, local, scope, home);
}

function returned(
  evaluator: Evaluator,
  statements: Extract<FunctionNode['body'], { type: 'BlockStatement' }>['body'],
  local: Map<string, Value>,
  scope: Scope,
  home: Place,
): Value {
  for (const statement of statements) {
    if (statement.type === 'ReturnStatement') {
      return statement.argument ? evaluator.evaluate(statement.argument, scope, home.path) : scalar(undefined);
    }
    if (statement.type !== 'VariableDeclaration' || statement.kind !== 'const') break;
    for (const { id, init } of statement.declarations) {
      if (id.type !== 'Identifier' || !init) return unknown('a declaration is not understood', home);
      local.set(id.name, evaluator.evaluate(init, scope, home.path));
    }
  }
  return unknown('a function with statements is not run', home);
}

function bindParameter(parameter: FunctionNode['params'][number], value: Value, local: Map<string, Value>): boolean {
  if (parameter.type === 'Identifier') {
    local.set(parameter.name, value);
    return true;
  }
  if (parameter.type !== 'ObjectPattern') return false;
  return parameter.properties.every((member) => {
    if (member.type !== 'ObjectProperty' || member.computed || member.value.type !== 'Identifier') return false;
    if (member.key.type !== 'Identifier') return false;
    const place = { path: '', line: member.loc?.start.line ?? 1 };
    local.set(member.value.name, access(value, member.key.name, place));
    return true;
  });
}
