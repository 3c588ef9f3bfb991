import { type Binding, importedValue, nameOf, once } from './binding.ts';
import type { Evaluator } from './evaluate.ts';
import type { Module } from './module-graph.ts';
import type { Statement } from './syntax.ts';
import { type Scope, scalar, unknown, type Value } from './values.ts';

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
    const changed = () => unknown(`"${name}" is changed after it is defined`, { path, line });
    names.set(name, once(module.changed.has(name) ? changed : compute, path, line));
  };
  for (const statement of module.program?.body ?? []) {
    if (statement.type === 'ImportDeclaration') bindImports(statement, module, evaluator, set);
    else bindDeclaration(declarationIn(statement), module, evaluator, scope, set);
  }
  return scope;
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
