import { defined } from '../../../../lib/objects.ts';
import type { SiteReading } from '../../schema/reader.ts';
import type { FieldEditor, SchemaField, Warning } from '../../schema/schema.schema.ts';
import { markdownExtensions } from '../../schema/site-layout.ts';
import { at, dataOf, isTrue, numberOf, type Place, placeOf, textAt, type Value } from '../../schema/static/values.ts';
import { enumOf, field, listOf } from '../../schema/zod/field-algebra.ts';

const MAX_WARNINGS = 100;

/** Collects a collection's warnings; a place without a path is one in the configuration itself. */
export function warnTo(warnings: Warning[], path: string, collection: string): Warn {
  return (code, message, place) => {
    const line = place && place.path !== '' ? { line: place.line } : {};
    if (warnings.length < MAX_WARNINGS) {
      warnings.push({ code, message, path: place?.path || path, ...line, collection });
    }
  };
}

/** Warns that a collection is left out; other readers may claim its files. */
export function skipCollection(name: string, reason: string, place: Place, { warnings }: SiteReading): [] {
  const message = `The collection is left out: ${reason}`;
  warnings.push({ code: 'schema_unknown', message, path: place.path, line: place.line, collection: name });
  return [];
}

/** Says, with a place, what of a configuration is not understood. */
export type Warn = (code: string, message: string, place?: Place) => void;

/**
 * Takes the field `body` out of the fields of a Markdown file, where it is the text below the frontmatter.
 * @returns the others, and the text that a new file begins with when its default says so
 */
export function withoutBody(
  fields: readonly SchemaField[],
  extension: string,
): { fields: SchemaField[]; body?: string } {
  if (!markdownExtensions.some((known) => known === extension)) return { fields: [...fields] };
  const begins = fields.find((one) => one.name === 'body')?.default;
  const others = fields.filter((one) => one.name !== 'body');
  return typeof begins === 'string' ? { fields: others, body: begins } : { fields: others };
}

/** Components and groups may name one another in a circle: fields are followed this deep. */
export const MAX_DEPTH = 20;

/** The place of a warning without a position: line 1 of the file. */
export const unknownPlace: Place = { path: '', line: 1 };

/** A field of a type that is not known: it accepts any value, and a warning says so. */
export function unknownField(name: string, value: Value, warn: Warn): SchemaField {
  warn(
    'field_unknown',
    `The type of field "${name}" is not known; any value is accepted`,
    placeOf(value, unknownPlace),
  );
  return field('any');
}

/** A value an editor may leave out, which CMSs then often write as an empty key. */
export const optional = (one: SchemaField): SchemaField => ({ ...one, required: false, nullable: true });

export const manyOf = (one: SchemaField): SchemaField =>
  listOf({ ...one, nullable: false }) ?? field('any', { list: true });

/** An object of such fields. */
export const objectOf = (fields: readonly SchemaField[]): SchemaField => field('object', { fields: [...fields] });

/** Values of a choice: plain ones, or `{value, label}`. Null when any of them is not known. */
function choicesOf(items: readonly Value[], key = 'value'): unknown[] | null {
  const values = items.map((item) => (item.kind === 'scalar' ? item.value : dataOf(at(item, key))));
  return values.length === 0 || values.includes(undefined) ? null : values;
}

/** An enum of these choices, or any text when they are not known. */
export function choice(items: readonly Value[], key?: string): SchemaField {
  const values = choicesOf(items, key);
  if (values === null) return field('any');
  const option_labels = items.flatMap((item, index) => {
    const label = textAt(item, 'label');
    return label === undefined ? [] : [{ value: values[index], label }];
  });
  return withEditor(enumOf(values), option_labels.length > 0 ? { option_labels } : {});
}

/** Objects discriminated by a key whose value is the name of their kind. */
export function blockOf(
  kinds: readonly { name: string; label?: string | undefined; fields: SchemaField[] }[],
  key: string,
): SchemaField {
  const variants = kinds.map(({ name, label, fields }) => {
    const tag: SchemaField = { ...enumOf([name]), name: key };
    return {
      ...objectOf([tag, ...fields.filter((one) => one.name !== key)]),
      ...(label === undefined ? {} : { label }),
    };
  });
  const [first] = variants;
  if (first === undefined) return field('object');
  return variants.length === 1 ? first : field('object', { variants });
}

/** Label, description and default, under the keys of this tool. */
export function annotate(
  one: SchemaField,
  value: Value,
  keys: { label?: string; description?: string; default?: string },
): SchemaField {
  const label = keys.label && textAt(value, keys.label);
  const description = keys.description && textAt(value, keys.description);
  const fallback = keys.default && dataOf(at(value, keys.default));
  return {
    ...one,
    ...(label ? { label } : {}),
    ...(description ? { description } : {}),
    ...(fallback === undefined || fallback === null || fallback === '' ? {} : { default: fallback }),
  };
}

/** Adds how a form shows a field. */
export function withEditor(
  one: SchemaField,
  hints: { [K in keyof FieldEditor]: FieldEditor[K] | undefined },
): SchemaField {
  const editor = { ...one.editor, ...defined(hints) };
  return Object.keys(editor).length > 0 ? { ...one, editor } : one;
}

/** `true` where the configuration says so. */
export const flagAt = (value: Value | undefined, ...keys: string[]): true | undefined =>
  isTrue(at(value, ...keys)) ? true : undefined;

/** Bounds under the keys of this tool, for numbers as they are, else counted. */
export function bounded(one: SchemaField, value: Value | undefined, min = 'min', max = 'max'): SchemaField {
  const low = numberOf(at(value, min));
  const high = numberOf(at(value, max));
  const number = one.type === 'number' || one.type === 'integer';
  const suffix = one.list ? '_items' : number ? '' : '_length';
  const set = (side: string, limit: number | undefined) =>
    limit === undefined || (suffix !== '' && !(Number.isSafeInteger(limit) && limit >= 0))
      ? {}
      : { [side + suffix]: limit };
  return { ...one, ...set('min', low), ...set('max', high) };
}

export const isRequired = (value: Value, key = 'required') => isTrue(at(value, key));
