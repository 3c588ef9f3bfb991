import type { Evaluator } from './evaluate.ts';
import type { Module } from './module-graph.ts';
import { unknown, type Value } from './values.ts';

/** What a name stands for; null: nothing. */
export type Binding = () => Value | null;

/** The name a node of an import, export or enum gives. */
export const nameOf = (node: { type: string; name?: unknown; value?: unknown }) => String(node.name ?? node.value);

/** A binding computed once; a name that needs itself is unknown. */
export function once(compute: Binding, path: string, line: number): Binding {
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
export function importedValue(
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
