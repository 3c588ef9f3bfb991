import { type Binding, importedValue, nameOf, once } from './binding.ts';
import type { Evaluator } from './evaluate.ts';
import type { Module } from './module-graph.ts';
import type { Expression, Statement } from './syntax.ts';
import type { Value } from './values.ts';

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
