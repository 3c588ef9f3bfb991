import type { parse } from '@babel/parser';

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
 * @throws SyntaxError, or RangeError when the nesting exhausts the stack
 */
export async function parseModule(path: string, text: string): Promise<Program> {
  const { parse } = await import('@babel/parser');
  const jsx = /\.[jt]sx$/.test(path);
  return parse(text, {
    sourceType: 'module',
    errorRecovery: true,
    plugins: jsx ? ['typescript', 'jsx'] : ['typescript'],
  }).program;
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

function rootName(node: unknown): string | null {
  let current = node;
  while (isNode(current)) {
    if (current.type === 'Identifier') return String(current.name);
    if (!/MemberExpression$|^TS/.test(current.type)) return null;
    current = current.object ?? current.expression;
  }
  return null;
}

/** Names the module changes after their declaration (`x.a = 1`, `x.push(…)`): their initial value is not their value. */
export function changedNames(program: Program): Set<string> {
  const changed = new Set<string>();
  const note = (node: unknown) => {
    const name = rootName(node);
    if (name !== null) changed.add(name);
    else if (isNode(node) && /Pattern$/.test(node.type)) for (const inner of identifiersIn(node)) changed.add(inner);
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
