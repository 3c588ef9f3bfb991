import type { ExpressionNode } from './parse-expression.ts';

/** What an expression asks of its context: a name at the root, and for `steps.x` and `secrets.x` which. */
export interface Reference {
  root: string;
  member: string | null;
  /** UTF-16 units from the start of the expression. */
  position: number;
}

const isNode = (value: unknown): value is ExpressionNode =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

/** Parts of a node whose context is the node's input value, not the root. */
const relative = new Set(['stages', 'predicate', 'group', 'update', 'delete', 'pattern', 'terms']);

const nameOf = (node: ExpressionNode | undefined): string | null =>
  node?.type === 'name' || node?.type === 'string' ? String(node.value) : null;

/** What `$lookup(secrets, "A")` reads: the same as `secrets.A`. */
function literalLookup(node: ExpressionNode): Reference | null {
  const { procedure, arguments: given } = node as { procedure?: unknown; arguments?: unknown };
  if (node.type !== 'function' || !isNode(procedure) || procedure.value !== 'lookup' || !Array.isArray(given))
    return null;
  const [from, key, ...more] = given as ExpressionNode[];
  const [name, ...below] = from?.type === 'path' ? (from.steps as ExpressionNode[]) : [];
  if (name?.type !== 'name' || below.length > 0 || key?.type !== 'string' || more.length > 0) return null;
  const isPlain = Object.keys(name).every((part) => part === 'type' || part === 'value' || part === 'position');
  return isPlain ? { root: String(name.value), member: String(key.value), position: name.position ?? 0 } : null;
}

/**
 * The names an expression reads from the root of its context: `input.body.title` reads `input`, `steps.fetch.output` reads `steps.fetch`. A name
 * within a step of a path or a filter is read from what was found so far, so only `$$.name` is one of these there.
 */
export function referencesOf(root: ExpressionNode): Reference[] {
  const found: Reference[] = [];

  const visitChildren = (node: ExpressionNode, isRoot: boolean) => {
    for (const [part, value] of Object.entries(node)) {
      const below = isRoot && !relative.has(part);
      for (const child of Array.isArray(value) ? value.flat(Number.POSITIVE_INFINITY) : [value]) {
        if (isNode(child)) visit(child, below);
        // Stages and groups are plain objects that hold nodes.
        else if (typeof child === 'object' && child !== null) visitChildren(child as ExpressionNode, below);
      }
    }
  };

  const visitPath = (steps: readonly ExpressionNode[], isRoot: boolean) => {
    const [first, ...rest] = steps;
    if (first === undefined) return;
    const isAbsolute = first.type === 'variable' && first.value === '$';
    // `$` is the context, which is the root at the start of a path.
    const named =
      isAbsolute || (isRoot && first.type === 'variable' && first.value === '') ? rest : isRoot ? steps : [];
    const name = nameOf(named[0]);
    if (name !== null) found.push({ root: name, member: nameOf(named[1]), position: named[0]?.position ?? 0 });
    if (nameOf(first) === null) visit(first, isRoot);
    else visitChildren(first, false);
    for (const step of rest) {
      if (nameOf(step) === null) visit(step, false);
      else visitChildren(step, false);
    }
  };

  const visit = (node: ExpressionNode, isRoot: boolean) => {
    const looked = isRoot ? literalLookup(node) : null;
    if (looked) return void found.push(looked);
    if (node.type === 'path') {
      visitPath((node.steps as ExpressionNode[] | undefined) ?? [], isRoot);
      const { group } = node;
      if (typeof group === 'object' && group !== null) visitChildren(group as ExpressionNode, false);
      return;
    }
    visitChildren(node, isRoot);
  };

  visit(root, true);
  return found;
}

/** Dotted names, when an expression is nothing else and can be followed without an interpreter; null otherwise. */
export function plainPath(root: ExpressionNode): string[] | null {
  if (root.type !== 'path' || root.group !== undefined || root.keepSingletonArray === true) return null;
  const names: string[] = [];
  for (const step of root.steps as ExpressionNode[]) {
    const extra = Object.keys(step).filter((key) => !['type', 'value', 'position'].includes(key));
    if (step.type !== 'name' || extra.length > 0) return null;
    names.push(String(step.value));
  }
  return names;
}

/** What JSONata 2 has at hand; without `$eval`, which is not available, since what is data stays data. */
export const builtIns: ReadonlySet<string> = new Set(
  `abs append assert average base64decode base64encode boolean ceil clone contains count decodeUrl decodeUrlComponent distinct each
  encodeUrl encodeUrlComponent error exists filter floor formatBase formatInteger formatNumber fromMillis join keys length lookup
  lowercase map match max merge millis min not now number pad parseInteger power random reduce replace reverse round shuffle sift single
  sort split spread sqrt string substring substringAfter substringBefore sum toMillis trim type uppercase zip`.split(
    /\s+/,
  ),
);

/** A variable or function an expression uses: `$name`. */
export interface UsedVariable {
  name: string;
  isCalled: boolean;
  /** UTF-16 units from the start of the expression. */
  position: number;
}

/** Every object of a syntax tree, however deep. */
function* objectsOf(root: object): Generator<Record<string, unknown>> {
  const left: object[] = [root];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    yield next as Record<string, unknown>;
    for (const part of Object.values(next)) if (typeof part === 'object' && part !== null) left.push(part);
  }
}

const variableIn = (value: unknown): string | null =>
  isNode(value) && value.type === 'variable' ? String(value.value) : null;

/** Names a node gives to values: of `$x := 1`, `function($x) {…}`, `@$x` and `#$x`. */
function namesBoundBy(node: Record<string, unknown>): string[] {
  const lists = node.type === 'lambda' ? (node.arguments as unknown[]) : node.type === 'bind' ? [node.lhs] : [];
  const own = [node.focus, node.index, node.type === 'index' ? node.value : null];
  return [...lists.map(variableIn), ...own].filter((name) => typeof name === 'string');
}

/** Variables and functions that an expression uses though they are neither built in nor bound anywhere in it, in the order of the text. */
export function unknownVariablesOf(root: ExpressionNode): UsedVariable[] {
  const bound = new Set<string>();
  const called = new Set<unknown>();
  const used: ExpressionNode[] = [];
  for (const node of objectsOf(root)) {
    for (const name of namesBoundBy(node)) bound.add(name);
    if (node.type === 'function' || node.type === 'partial') called.add(node.procedure);
    if (node.type === 'apply') called.add(node.rhs);
    if (node.type === 'variable') used.push(node as ExpressionNode);
  }
  return used
    .map((node) => ({ name: String(node.value), isCalled: called.has(node), position: node.position ?? 0 }))
    .filter(({ name }) => name !== '' && name !== '$' && !bound.has(name) && !builtIns.has(name))
    .sort((a, b) => a.position - b.position);
}
