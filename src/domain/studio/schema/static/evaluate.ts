import { bindings, exportsOf, type ModuleGraph } from './module-scope.ts';
import { ReadingBudget } from './reading-budget.ts';
import { type CallNode, type Expression, type FunctionNode, type ObjectNode, parseModule } from './syntax.ts';
import { type Place, property, type Scalar, type Scope, scalar, unknown, type Value } from './values.ts';

/** `object.key`; symbolic for things of other modules, unknown for what a spread may hide. */
function access(object: Value, key: string, place: Place): Value {
  if (object.kind === 'unknown') return object;
  if (object.kind === 'record') return property(object, key) ?? scalar(undefined);
  if (object.kind === 'list' && /^\d+$/.test(key)) return object.items[Number(key)] ?? scalar(undefined);
  if (object.kind === 'list' && key === 'length') return scalar(object.items.length);
  if (object.kind === 'external' && object.name === '*') return { kind: 'external', module: object.module, name: key };
  if (object.kind === 'scalar' && typeof object.value !== 'string')
    return unknown(`"${key}" of ${String(object.value)}`, place);
  return { kind: 'member', object, property: key, place };
}

/** Operators on known scalars. */
function operate(operator: string, operands: readonly Value[], place: Place): Value {
  const [left, right] = operands;
  if (left?.kind !== 'scalar') {
    // `options ?? {}`: a known left side that is an object is itself.
    const present = left?.kind === 'record' || left?.kind === 'list';
    if (present && (operator === '??' || operator === '||')) return left;
    return left?.kind === 'unknown' ? left : unknown('an operand is not known', place);
  }
  if (operator === '??') return (left.value ?? undefined) === undefined ? (right ?? left) : left;
  if (operator === '||') return left.value ? left : (right ?? left);
  if (operator === '&&') return left.value ? (right ?? left) : left;
  if (right === undefined) return unary(operator, left.value, place);
  if (right.kind !== 'scalar') return right.kind === 'unknown' ? right : unknown('an operand is not known', place);
  return binary(operator, left.value, right.value, place);
}

function unary(operator: string, value: Scalar, place: Place): Value {
  if (operator === '!') return scalar(!value);
  if (operator === 'void') return scalar(undefined);
  if (typeof value === 'number' && (operator === '-' || operator === '+'))
    return scalar(operator === '-' ? -value : value);
  return unknown(`"${operator}" is not understood`, place);
}

function binary(operator: string, left: Scalar, right: Scalar, place: Place): Value {
  if (operator === '===' || operator === '!==') return scalar((left === right) === (operator === '==='));
  if (typeof left === 'number' && typeof right === 'number') {
    if (operator === '+') return scalar(left + right);
    if (operator === '-') return scalar(left - right);
    if (operator === '*') return scalar(left * right);
    if (operator === '/') return scalar(left / right);
    if (operator === '**') return scalar(left ** right);
  }
  const joins = operator === '+' && (typeof left === 'string' || typeof right === 'string');
  return joins ? scalar(String(left) + String(right)) : unknown(`"${operator}" is not understood`, place);
}

/** The few functions of the language that configurations use on constants; null for any other call. */
function callKnown(callee: Value, args: readonly Value[], place: Place, evaluator: Evaluator): Value | null {
  if (callee.kind !== 'member') return null;
  const { object, property: name } = callee;
  const [first] = args;
  if (object.kind === 'external' && object.module === '' && object.name === 'Object') {
    return objectFunction(name, first, place);
  }
  if (object.kind !== 'list') return null;
  if (!evaluator.spend(object.items.length)) return unknown('the list is too long', place);
  if (name === 'map' && first) {
    const items = object.items.map((item, at) => evaluator.apply(first, [item, scalar(at)], place));
    return { kind: 'list', items, place };
  }
  if (name === 'concat' && args.every((arg) => arg.kind === 'list')) {
    const items = [...object.items, ...args.flatMap((arg) => (arg.kind === 'list' ? arg.items : []))];
    return evaluator.spend(items.length) ? { kind: 'list', items, place } : unknown('the list is too long', place);
  }
  return unknown(`"${name}" of a list is not understood`, place);
}

function objectFunction(name: string, value: Value | undefined, place: Place): Value {
  if (name === 'freeze' && value) return value;
  if (value?.kind !== 'record' || value.parts.some(([key]) => key === null))
    return unknown(`Object.${name} is not understood`, place);
  const entries = [...new Map(value.parts)];
  if (name === 'keys') return { kind: 'list', items: entries.map(([key]) => scalar(key)), place };
  if (name === 'values') return { kind: 'list', items: entries.map(([, item]) => item), place };
  return unknown(`Object.${name} is not understood`, place);
}

/** Gives a function's result when its body is one returned expression, with constants before it at most. */
function applyFunction(
  evaluator: Evaluator,
  callee: Value,
  args: readonly Value[],
  { place, isAwaited }: { place: Place; isAwaited: boolean },
): Value {
  if (callee.kind !== 'closure') return unknown('this is not a function that can be followed', place);
  const { node, place: home } = callee;
  if ((node.async && !isAwaited) || node.generator) return unknown('an asynchronous function is not run', home);
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

const MAX_DEPTH = 300;
const MAX_TEXT = 64 * 1024;

/**
 * Folds the code of a module graph to values without running it: no statement is executed, no property of a real object is
 * touched. Work, depth and sizes are bounded; whatever exceeds them, or is not understood, becomes `unknown`.
 */
export class Evaluator {
  private depth = 0;
  private readonly scopes = new Map<string, Scope>();
  private readonly exported = new Map<string, (name: string) => Value | null>();
  private readonly graph: ModuleGraph;
  private readonly budget: ReadingBudget;

  constructor(graph: ModuleGraph, budget = new ReadingBudget()) {
    this.graph = graph;
    this.budget = budget;
  }

  /** An export of a module (`default` included); null when the module has none of that name. */
  export(path: string, name: string): Value | null {
    const module = this.graph.get(path);
    if (!module) return unknown('the imported file was not read', { path, line: 1 });
    if (module.data) return name === 'default' ? module.data : access(module.data, name, { path, line: 1 });
    let lookup = this.exported.get(path);
    if (!lookup) {
      lookup = exportsOf(module, this);
      this.exported.set(path, lookup);
    }
    return lookup(name);
  }

  scope(path: string): Scope {
    let scope = this.scopes.get(path);
    if (!scope) {
      const module = this.graph.get(path);
      scope = module ? bindings(module, this) : () => null;
      this.scopes.set(path, scope);
    }
    return scope;
  }

  /** What an expression comes to in a scope. */
  evaluate(node: Expression, scope: Scope, path: string): Value {
    const place = { path, line: node.loc?.start.line ?? 1 };
    if (!this.spend(1)) return unknown('the code is too large to follow', place);
    if (this.depth >= MAX_DEPTH) return unknown('the code is nested too deeply', place);
    this.depth++;
    try {
      return this.expression(node, scope, place);
    } finally {
      this.depth--;
    }
  }

  private expression(node: Expression, scope: Scope, place: Place): Value {
    const evaluate = (inner: Expression) => this.evaluate(inner, scope, place.path);
    switch (node.type) {
      case 'StringLiteral':
      case 'NumericLiteral':
      case 'BooleanLiteral':
        return scalar(node.value);
      case 'NullLiteral':
        return scalar(null);
      case 'RegExpLiteral':
        return { kind: 'pattern', source: node.pattern, flags: node.flags };
      case 'TemplateLiteral':
        return this.template(
          node.quasis.map((quasi) => quasi.value.cooked ?? ''),
          node.expressions.map((part) => evaluate(part as Expression)),
          place,
        );
      case 'Identifier':
        return scope(node.name) ?? unknown(`"${node.name}" is not known`, place);
      case 'ParenthesizedExpression':
      case 'TSAsExpression':
      case 'TSSatisfiesExpression':
      case 'TSNonNullExpression':
      case 'TSTypeAssertion':
      case 'TSInstantiationExpression':
        return evaluate(node.expression);
      case 'ArrayExpression':
        return this.list(node.elements, scope, place);
      case 'ObjectExpression':
        return this.record(node, scope, place);
      case 'ArrowFunctionExpression':
      case 'FunctionExpression':
        return { kind: 'closure', node, scope, place };
      case 'MemberExpression':
      case 'OptionalMemberExpression': {
        if (node.object.type === 'Super' || node.property.type === 'PrivateName')
          return unknown('not understood', place);
        const key = node.computed
          ? evaluate(node.property)
          : scalar('name' in node.property ? String(node.property.name) : undefined);
        const object = evaluate(node.object);
        if (key.kind !== 'scalar' || key.value === undefined) return unknown('a computed key is not known', place);
        return access(object, String(key.value), place);
      }
      case 'CallExpression':
      case 'OptionalCallExpression':
        return this.call(node, scope, place);
      case 'ConditionalExpression': {
        const test = evaluate(node.test);
        if (test.kind !== 'scalar') return unknown('a condition is not known', place);
        return evaluate(test.value ? node.consequent : node.alternate);
      }
      case 'UnaryExpression':
        return operate(node.operator, [evaluate(node.argument)], place);
      case 'BinaryExpression':
        if (node.left.type === 'PrivateName') return unknown('not understood', place);
        return this.bounded(operate(node.operator, [evaluate(node.left), evaluate(node.right)], place), place);
      case 'LogicalExpression':
        return operate(node.operator, [evaluate(node.left), evaluate(node.right)], place);
      default:
        return unknown(`${node.type} is not understood`, place);
    }
  }

  private template(texts: readonly string[], values: readonly Value[], place: Place): Value {
    let text = texts[0] ?? '';
    for (const [at, value] of values.entries()) {
      if (value.kind !== 'scalar')
        return value.kind === 'unknown' ? value : unknown('a part of the text is not known', place);
      text += String(value.value) + (texts[at + 1] ?? '');
      if (text.length > MAX_TEXT) return unknown('the text is too long', place);
    }
    return scalar(text);
  }

  private bounded(value: Value, place: Place): Value {
    const long = value.kind === 'scalar' && typeof value.value === 'string' && value.value.length > MAX_TEXT;
    return long ? unknown('the text is too long', place) : value;
  }

  private list(
    elements: Extract<Expression, { type: 'ArrayExpression' }>['elements'],
    scope: Scope,
    place: Place,
  ): Value {
    const items: Value[] = [];
    for (const element of elements) {
      if (element === null) items.push(scalar(undefined));
      else if (element.type !== 'SpreadElement') items.push(this.evaluate(element, scope, place.path));
      else {
        const spread = this.evaluate(element.argument, scope, place.path);
        if (spread.kind !== 'list') return unknown('a spread is not known', place);
        if (!this.spend(spread.items.length)) return unknown('the list is too long', place);
        for (const item of spread.items) items.push(item);
      }
    }
    return { kind: 'list', items, place };
  }

  private record(node: ObjectNode, scope: Scope, place: Place): Value {
    const parts: [string | null, Value][] = [];
    for (const member of node.properties) {
      const here = { path: place.path, line: member.loc?.start.line ?? place.line };
      if (member.type === 'SpreadElement') {
        const spread = this.evaluate(member.argument, scope, place.path);
        if (spread.kind !== 'record') parts.push([null, spread]);
        else if (this.spend(spread.parts.length)) for (const [key, value] of spread.parts) parts.push([key, value]);
        else return unknown('the object is too large', here);
        continue;
      }
      const key = member.computed
        ? this.evaluate(member.key as Expression, scope, place.path)
        : scalar(
            'name' in member.key
              ? String(member.key.name)
              : 'value' in member.key
                ? String(member.key.value)
                : undefined,
          );
      // A getter or method is code: what it would give is not known.
      const value =
        member.type === 'ObjectProperty'
          ? this.evaluate(member.value as Expression, scope, place.path)
          : unknown('a method is not run', here);
      const known = key.kind === 'scalar' && key.value !== undefined;
      parts.push(known ? [String(key.value), value] : [null, unknown('a computed key is not known', here)]);
    }
    return { kind: 'record', parts, place };
  }

  private call(node: CallNode, scope: Scope, place: Place): Value {
    if (node.callee.type === 'Super' || node.callee.type === 'Import' || node.callee.type === 'V8IntrinsicIdentifier')
      return unknown('a dynamic import is not followed', place);
    const callee = this.evaluate(node.callee, scope, place.path);
    if (callee.kind === 'unknown') return callee;
    const args: Value[] = [];
    for (const argument of node.arguments) {
      if (argument.type !== 'SpreadElement') args.push(this.evaluate(argument as Expression, scope, place.path));
      else {
        const spread = this.evaluate(argument.argument, scope, place.path);
        if (spread.kind !== 'list' || !this.spend(spread.items.length)) return unknown('a spread is not known', place);
        for (const item of spread.items) args.push(item);
      }
    }
    if (callee.kind === 'closure') return this.apply(callee, args, place);
    return callKnown(callee, args, place, this) ?? { kind: 'call', callee, args, place };
  }

  /** What a function gives for these arguments. */
  apply(callee: Value, args: readonly Value[], place: Place): Value {
    return applyFunction(this, callee, args, { place, isAwaited: false });
  }

  /** What a function that a framework calls and awaits gives, whatever it is called with. */
  resultOf(callee: Extract<Value, { kind: 'closure' }>): Value {
    const { node, place } = callee;
    const args = node.params.map(() => unknown('it is what the framework calls the function with', place));
    return applyFunction(this, callee, args, { place, isAwaited: true });
  }

  /** Takes `count` steps from the budget; false when it is used up. */
  spend(count: number): boolean {
    return this.budget.fold(count);
  }
}

/**
 * A JSON text as a value with lines. Comments and trailing commas are allowed, as editors' own files have them; anything but data is
 * unknown, as in code.
 * @throws SyntaxError, RangeError when the nesting exhausts the stack, or BudgetSpent
 */
export async function jsonValue(path: string, text: string, budget?: ReadingBudget): Promise<Value | null> {
  const program = await parseModule(path, `export default (${text.replace(/^\ufeff/, '')}\n)`, budget);
  const module = {
    path,
    program,
    data: null,
    changed: new Map<string, (string | null)[]>(),
    imports: new Map<string, string>(),
  };
  return new Evaluator(new Map([[path, module]]), budget).export(path, 'default');
}
