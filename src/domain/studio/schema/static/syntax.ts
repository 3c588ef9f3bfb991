import type { parse } from '@babel/parser';
import { CountedText, ReadingBudget } from './reading-budget.ts';

/** Node types of the parser, taken from its own result so that no further package is named. */
export type Program = ReturnType<typeof parse>['program'];
export type Statement = Program['body'][number];
export type Expression = Extract<Statement, { type: 'ExpressionStatement' }>['expression'];
export type ObjectNode = Extract<Expression, { type: 'ObjectExpression' }>;
export type CallNode = Extract<Expression, { type: 'CallExpression' | 'OptionalCallExpression' }>;
export type FunctionNode =
  | Extract<Expression, { type: 'ArrowFunctionExpression' | 'FunctionExpression' }>
  | Extract<Statement, { type: 'FunctionDeclaration' }>;

/** Any node, for walks that only look at a few kinds. */
export interface AnyNode {
  type: string;
  [key: string]: unknown;
}

export const isNode = (value: unknown): value is AnyNode =>
  typeof value === 'object' && value !== null && typeof (value as AnyNode).type === 'string';

/** Larger configurations are not read: parsing takes about a second per megabyte. */
export const MAX_SOURCE = 256 * 1024;

/**
 * Parses a module. The parser is loaded on first use, so that a server that reads no code starts without it.
 * @throws SyntaxError, RangeError when the nesting exhausts the stack, or BudgetSpent
 */
export async function parseModule(path: string, text: string, budget = new ReadingBudget()): Promise<Program> {
  const { parse } = await import('@babel/parser');
  const jsx = /\.[jt]sx$/.test(path);
  const { stackTraceLimit } = Error;
  // What is read in several ways fails in most of them, and nothing reads the traces.
  Error.stackTraceLimit = 0;
  try {
    return parse(new CountedText(text, budget) as unknown as string, {
      sourceType: 'module',
      errorRecovery: true,
      plugins: jsx ? ['typescript', 'jsx'] : ['typescript'],
    }).program;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const mutators = new Set([
  'push',
  'pop',
  'shift',
  'unshift',
  'splice',
  'sort',
  'reverse',
  'fill',
  'copyWithin',
  'set',
  'delete',
]);
const objectMutators = new Set(['assign', 'defineProperty', 'defineProperties', 'setPrototypeOf']);

/** The name a chain of members begins with, and the key it goes on with; null for a key that is computed, and for the name alone. */
function rootOf(node: unknown): { name: string; key: string | null } | null {
  let current = node;
  let key: string | null = null;
  while (isNode(current)) {
    if (current.type === 'Identifier') return { name: String(current.name), key };
    if (!/MemberExpression$|^TS/.test(current.type)) return null;
    if (isNode(current.property)) key = keyOf(current);
    current = current.object ?? current.expression;
  }
  return null;
}

/** The key of a member as it is written; null when it is computed. */
function keyOf({ property, computed }: AnyNode): string | null {
  if (!isNode(property)) return null;
  if (property.type === 'Identifier' && !computed) return String(property.name);
  return property.type === 'StringLiteral' ? String(property.value) : null;
}

/**
 * Names the module changes after their declaration (`x.a = 1`, `x.push(…)`): their initial value is not their value. To each the keys that are
 * changed, once for every change; null: all of it.
 */
export function changedNames(program: Program): Map<string, (string | null)[]> {
  const changed = new Map<string, (string | null)[]>();
  const add = (name: string, key: string | null) => {
    const keys = changed.get(name);
    if (keys === undefined) changed.set(name, [key]);
    else keys.push(key);
  };
  const note = (node: unknown) => {
    const root = rootOf(node);
    if (root !== null) add(root.name, root.key);
    else if (isNode(node) && /Pattern$/.test(node.type)) for (const inner of identifiersIn(node)) add(inner, null);
  };
  for (const node of nodesOf(program)) {
    if (node.type === 'AssignmentExpression' || node.type === 'ForOfStatement' || node.type === 'ForInStatement')
      note(node.left);
    else if (node.type === 'UpdateExpression') note(node.argument);
    else if (node.type === 'UnaryExpression' && node.operator === 'delete') note(node.argument);
    else if (/CallExpression$/.test(node.type) && isNode(node.callee) && isNode(node.callee.property)) {
      const method = String(node.callee.property.name);
      if (mutators.has(method)) note(node.callee.object);
      if (objectMutators.has(method) && Array.isArray(node.arguments)) note(node.arguments[0]);
    }
  }
  return changed;
}

/** The statements of a module that give an object a key of its own (`x.a = …`): each with the name, the key and the value. */
export function* keysGiven({ body }: Program): Generator<{ name: string; key: string; value: Expression }> {
  for (const node of body) {
    const expression = node.type === 'ExpressionStatement' ? node.expression : null;
    if (expression?.type !== 'AssignmentExpression' || expression.operator !== '=') continue;
    const { left, right } = expression;
    if (left.type !== 'MemberExpression' || left.object.type !== 'Identifier') continue;
    const key = keyOf(left as unknown as AnyNode);
    if (key !== null) yield { name: left.object.name, key, value: right };
  }
}

function* identifiersIn(root: AnyNode): Generator<string> {
  for (const node of nodesOf(root)) if (node.type === 'Identifier') yield String(node.name);
}

/** All nodes below `root`; without recursion, since the nesting is the repository's. */
export function* nodesOf(root: unknown): Generator<AnyNode> {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (Array.isArray(value)) for (const item of value) open.push(item);
    else if (isNode(value)) {
      yield value;
      for (const key in value) if (key !== 'loc' && typeof value[key] === 'object') open.push(value[key]);
    }
  }
}
