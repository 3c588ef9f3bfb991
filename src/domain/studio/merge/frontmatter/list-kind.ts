import { isRecord, parsePointer } from '../../frontmatter/values.ts';
import type { SchemaField } from '../../schema/schema.schema.ts';

/** Says of the list at a JSON Pointer whether its order means nothing (`set`) or something (`list`); undefined: not known. */
export type ListKind = (pointer: string) => 'set' | 'list' | undefined;

/** What a collection's fields declare: a list of choices or of references is a set. */
export function listKindOf(fields: readonly SchemaField[]): ListKind {
  return (pointer) => {
    const field = fieldAt(fields, parsePointer(pointer) ?? []);
    return field?.list && (field.type === 'enum' || field.type === 'reference') ? 'set' : undefined;
  };
}

function fieldAt(fields: readonly SchemaField[], [name, ...rest]: readonly string[]): SchemaField | undefined {
  const field = fields.find((one) => one.name === name);
  if (field === undefined || rest.length === 0) return field;
  return fieldAt(field.fields ?? [], field.list ? rest.slice(1) : rest);
}

const setNames = new Set(['tags', 'categories', 'keywords', 'aliases', 'authors']);

export const isSetName = (key: string) => setNames.has(key);

/** Whether a list holds only scalars, each once. */
export function isSet(list: readonly unknown[]): boolean {
  return list.every((item) => typeof item !== 'object' || item === null) && new Set(list).size === list.length;
}

const identityKeys = ['id', 'key', 'slug', 'name'] as const;

/** The first key by which the items of all the lists can be told apart; undefined when there is none. */
export function identityKey(lists: readonly (readonly unknown[])[]): string | undefined {
  return identityKeys.find((key) =>
    lists.every((list) => {
      const found = new Set(list.map((item) => identityOf(item, key)));
      return !found.has(undefined) && found.size === list.length;
    }),
  );
}

/** An item's identity, the same for equal values of equal type only; undefined when it has none. */
export function identityOf(item: unknown, key: string): string | undefined {
  if (!isRecord(item) || !Object.hasOwn(item, key)) return undefined;
  const value = item[key];
  return typeof value === 'string' || typeof value === 'number' ? JSON.stringify(value) : undefined;
}
