import type { Warn } from '../cms/field-tools.ts';
import { type SchemaField, studioField } from '../schema.schema.ts';
import { at, dataOf, entriesOf, itemsOf, textAt } from '../static/read-value.ts';
import { placeOf, type Value } from '../static/values.ts';
import { field } from '../zod/field-algebra.ts';

const nested = new Set(['fields', 'variants']);

/**
 * A Field list as `studio.config` holds it: the fields of the schema record, where only `name` and `type` must be given; a map of
 * names does as well. What is wrong with one field makes that field `any`.
 */
export function listedFields(list: Value, warn: Warn): SchemaField[] {
  const named: [string | undefined, Value][] =
    list.kind === 'record' ? entriesOf(list) : itemsOf(list).map((one) => [textAt(one, 'name'), one]);
  return named
    .map(([name, value]) => ({ ...listedField(value, warn), name: name ?? '' }))
    .filter((one) => one.name !== '');
}

function listedField(value: Value, warn: Warn): SchemaField {
  const own = entriesOf(value).filter(([key]) => !nested.has(key));
  const data = Object.fromEntries(
    own.map(([key, part]) => [key, dataOf(part)]).filter(([, part]) => part !== undefined),
  );
  const read = studioField.safeParse({ required: false, list: false, ...data, name: '', type: data.type ?? 'string' });
  const [fault] = read.error?.issues ?? [];
  if (fault) {
    const message = `The field "${textAt(value, 'name') ?? ''}" is not understood at "${fault.path.join('.')}"; any value is accepted`;
    warn('field_unknown', message, placeOf(value, { path: '', line: 1 }));
    return { ...field('any'), required: false };
  }
  const parts = [...nested].flatMap((key) => {
    const inner = at(value, key);
    if (inner === undefined) return [];
    const variants =
      key === 'variants' ? itemsOf(inner).map((one) => listedField(one, warn)) : listedFields(inner, warn);
    return [[key, variants] as const];
  });
  return { ...(read.data as SchemaField), ...Object.fromEntries(parts) };
}
