import type { Evaluator } from './evaluate.ts';
import { type Expression, keysGiven, type Program, type Statement } from './syntax.ts';
import { type Scope, scalar, unknown, type Value } from './values.ts';

/** A file of the site's code, parsed. */
export interface Module {
  path: string;
  program: Program | null;
  /** Set for JSON files instead of a program. */
  data: Value | null;
  /** What is changed after its declaration, as `changedNames` has it. */
  changed: ReadonlyMap<string, readonly (string | null)[]>;
  /** Specifier → path, for the imports that were found in the repository. */
  imports: Map<string, string>;
}

export type ModuleGraph = Map<string, Module>;

/** What a name stands for; null: nothing. */
type Binding = () => Value | null;

/** The name a node of an import, export or enum gives. */
const nameOf = (node: { type: string; name?: unknown; value?: unknown }) => String(node.name ?? node.value);

/** A binding computed once; a name that needs itself is unknown. */
function once(compute: Binding, path: string, line: number): Binding {
  let state: 'new' | 'running' | 'done' = 'new';
  let value: Value | null = null;
  return () => {
    if (state === 'running') return unknown('the definition is circular', { path, line });
    if (state === 'new') {
      state = 'running';
      value = compute();
      state = 'done';
    }
    return value;
  };
}

/** What `name` of `specifier` is: a value of the repository, or a symbol of a package. */
function importedValue(
  specifier: string,
  name: string,
  module: Module,
  evaluator: Evaluator,
  line: number,
): Value | null {
  const target = module.imports.get(specifier);
  if (target === undefined && !specifier.startsWith('.')) return { kind: 'external', module: specifier, name };
  const place = { path: module.path, line };
  if (target === undefined) return unknown(`"${specifier}" is no file of the repository`, place);
  if (name === '*') return unknown('a namespace import of a file is not followed', place);
  return evaluator.export(target, name) ?? unknown(`"${specifier}" has no export "${name}"`, place);
}

/** The exports of a module by name, re-exports followed. */
export function exportsOf(module: Module, evaluator: Evaluator): (name: string) => Value | null {
  const names = new Map<string, Binding>();
  const stars: string[] = [];
  const scope = evaluator.scope(module.path);
  for (const node of module.program?.body ?? []) {
    const line = node.loc?.start.line ?? 1;
    const common = commonExport(node);
    if (common)
      names.set(
        common.name,
        once(() => evaluator.evaluate(common.value, scope, module.path), module.path, line),
      );
    else if (node.type === 'ExportAllDeclaration') stars.push(node.source.value);
    else if (node.type === 'ExportDefaultDeclaration') {
      const { declaration } = node;
      const named =
        declaration.type === 'FunctionDeclaration' || declaration.type === 'ClassDeclaration'
          ? declaration.id?.name
          : null;
      const plain = declaration.type === 'FunctionDeclaration' || declaration.type === 'ClassDeclaration';
      names.set(
        'default',
        once(
          () =>
            plain ? (named ? scope(named) : null) : evaluator.evaluate(declaration as Expression, scope, module.path),
          module.path,
          line,
        ),
      );
    } else if (node.type === 'ExportNamedDeclaration') {
      for (const name of declaredNames(node.declaration as Statement | null)) names.set(name, () => scope(name));
      for (const specifier of node.specifiers) {
        if (specifier.type !== 'ExportSpecifier') continue;
        const from = node.source?.value;
        const local = nameOf(specifier.local);
        names.set(
          nameOf(specifier.exported),
          once(
            () => (from === undefined ? scope(local) : importedValue(from, local, module, evaluator, line)),
            module.path,
            line,
          ),
        );
      }
    }
  }
  const running = new Set<string>();
  return (name) => {
    const direct = names.get(name);
    if (direct || running.has(name)) return direct?.() ?? null;
    running.add(name);
    try {
      for (const specifier of name === 'default' ? [] : stars) {
        const target = module.imports.get(specifier);
        const found = target === undefined ? null : evaluator.export(target, name);
        if (found) return found;
      }
      return null;
    } finally {
      running.delete(name);
    }
  };
}

/** `module.exports = …` and `exports.name = …` of CommonJS; the former is what a default import gives. */
function commonExport(node: Statement): { name: string; value: Expression } | null {
  if (node.type !== 'ExpressionStatement' || node.expression.type !== 'AssignmentExpression') return null;
  const { left, right, operator } = node.expression;
  if (operator !== '=' || left.type !== 'MemberExpression' || left.computed || left.object.type === 'Super')
    return null;
  const key = left.property.type === 'Identifier' ? left.property.name : '';
  const { object } = left;
  if (object.type === 'Identifier' && object.name === 'module' && key === 'exports')
    return { name: 'default', value: right };
  return object.type === 'Identifier' && object.name === 'exports' && key !== '' ? { name: key, value: right } : null;
}

function declaredNames(node: Statement | null): string[] {
  if (node?.type === 'VariableDeclaration')
    return node.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []));
  if (node?.type === 'FunctionDeclaration') return node.id ? [node.id.name] : [];
  return node?.type === 'TSEnumDeclaration' ? [node.id.name] : [];
}

const globals = new Map<string, Value>([
  ['undefined', scalar(undefined)],
  ['Infinity', scalar(Number.POSITIVE_INFINITY)],
  ['Object', { kind: 'external', module: '', name: 'Object' }],
  // Nuxt gives its configuration this function without an import.
  ['defineNuxtConfig', { kind: 'external', module: 'nuxt/config', name: 'defineNuxtConfig' }],
]);

/** The module-level names of a module: constants, functions, enums and imports. */
export function bindings(module: Module, evaluator: Evaluator): Scope {
  const names = new Map<string, Binding>();
  const scope: Scope = (name) => (names.has(name) ? (names.get(name)?.() ?? null) : (globals.get(name) ?? null));
  const { path } = module;
  const set = (name: string, line: number, compute: Binding) => {
    const changed = () => withChanges(name, compute(), module, (node) => evaluator.evaluate(node, scope, path));
    names.set(name, once(module.changed.has(name) ? changed : compute, path, line));
  };
  for (const statement of module.program?.body ?? []) {
    if (statement.type === 'ImportDeclaration') bindImports(statement, module, evaluator, set);
    else bindDeclaration(declarationIn(statement), module, evaluator, scope, set);
  }
  return scope;
}

/**
 * A value after the module has changed it: an object with the keys that statements of the module give it. A key that is changed in another way
 * is unknown, and so is all of what is changed as a whole.
 */
function withChanges(name: string, before: Value | null, module: Module, evaluate: (node: Expression) => Value): Value {
  const place = { path: module.path, line: before && 'place' in before ? before.place.line : 1 };
  const keys = module.changed.get(name) ?? [];
  const known = keys.filter((key) => key !== null);
  if (before?.kind !== 'record' || known.length < keys.length)
    return unknown(`"${name}" is changed after it is defined`, place);
  const given = module.program ? [...keysGiven(module.program)].filter((one) => one.name === name) : [];
  const parts = [...new Set(known)].map((key): [string, Value] => {
    const own = given.filter((one) => one.key === key);
    const last = own.length === known.filter((one) => one === key).length ? own.at(-1) : undefined;
    return [key, last ? evaluate(last.value) : unknown(`"${name}.${key}" is changed after it is defined`, place)];
  });
  return { ...before, parts: [...before.parts, ...parts] };
}

type Setter = (name: string, line: number, compute: Binding) => void;

function declarationIn(statement: Statement): Statement {
  const wrapped = statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportDefaultDeclaration';
  return ((wrapped ? statement.declaration : null) ?? statement) as Statement;
}

function bindDeclaration(node: Statement, { path }: Module, evaluator: Evaluator, scope: Scope, set: Setter): void {
  const line = node.loc?.start.line ?? 1;
  if (node.type === 'FunctionDeclaration' && node.id) {
    set(node.id.name, line, () => ({ kind: 'closure', node, scope, place: { path, line } }));
  } else if (node.type === 'TSEnumDeclaration') {
    set(node.id.name, line, () => {
      const parts = node.body.members.map((member): [string | null, Value] => {
        const value = member.initializer
          ? evaluator.evaluate(member.initializer, scope, path)
          : unknown('a numbered enum', { path, line });
        return ['name' in member.id || 'value' in member.id ? nameOf(member.id) : null, value];
      });
      return { kind: 'record', parts, place: { path, line } };
    });
  } else if (node.type === 'VariableDeclaration') {
    for (const { id, init } of node.declarations) {
      if (id.type !== 'Identifier') continue;
      const fixed = node.kind === 'const' && init;
      set(id.name, line, () =>
        fixed ? evaluator.evaluate(init, scope, path) : unknown(`"${id.name}" is not a constant`, { path, line }),
      );
    }
  }
}

function bindImports(
  node: Extract<Statement, { type: 'ImportDeclaration' }>,
  module: Module,
  evaluator: Evaluator,
  set: Setter,
): void {
  const line = node.loc?.start.line ?? 1;
  for (const specifier of node.specifiers) {
    const imported =
      specifier.type === 'ImportDefaultSpecifier'
        ? 'default'
        : specifier.type === 'ImportNamespaceSpecifier'
          ? '*'
          : nameOf(specifier.imported);
    set(specifier.local.name, line, () => importedValue(node.source.value, imported, module, evaluator, line));
  }
}
