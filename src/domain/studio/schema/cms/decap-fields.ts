import type { SchemaField } from '../schema.schema.ts';
import { at, isFalse, isTrue, itemsOf, textAt } from '../static/read-value.ts';
import { placeOf, textOf, type Value } from '../static/values.ts';
import { field, unionOf } from '../zod/field-algebra.ts';
import { annotate, blockOf, bounded, choice, manyOf, nowhere, objectOf, optional, type Warn } from './field-tools.ts';

type Widget = (value: Value, warn: Warn) => SchemaField;

const isMultiple = (value: Value) => isTrue(at(value, 'multiple'));
const maybeMany = (value: Value, one: SchemaField) => (isMultiple(value) ? bounded(manyOf(one), value) : one);

/** Text; the pattern is `[expression, message]`. */
const text: Widget = (value) => {
  const pattern = textOf(itemsOf(at(value, 'pattern'))[0]);
  const lengths = bounded(field('string'), value, 'minlength', 'maxlength');
  return pattern === undefined ? lengths : { ...lengths, pattern };
};

const number: Widget = (value) => {
  const type = textAt(value, 'value_type') ?? 'string';
  const one = bounded(field(type === 'int' ? 'integer' : 'number'), value);
  // Without a type of number the widget stores the digits as text.
  return type === 'int' || type === 'float' ? one : { ...one, coerce: true };
};

/** A format other than ISO makes the value a text of that form. */
const date: Widget = (value) => {
  const formats = ['format', 'date_format', 'time_format'].map((key) => at(value, key));
  if (textAt(value, 'widget') === 'date' || isFalse(formats[2])) {
    return isIso(textOf(formats[0]) ?? textOf(formats[1])) ? field('date', { coerce: true }) : field('string');
  }
  if (isFalse(formats[1])) return field('string');
  return isIso(textOf(formats[0])) ? field('datetime', { coerce: true }) : field('string');
};
const isIso = (format: string | undefined) => format === undefined || /^Y{4}-MM-DD/i.test(format);

/** Several files are a setting of the widget or of the media library. */
const media =
  (type: 'image' | 'file'): Widget =>
  (value) => {
    const library = at(value, 'media_library', 'config');
    const many = isMultiple(value) || isTrue(at(library, 'multiple'));
    return many ? { ...unionOf([field(type), manyOf(field(type))]) } : field(type);
  };

/** A relation is a reference when it stores the slug; any other stored value is text that names nothing here. */
const relation: Widget = (value, warn) => {
  const collection = textAt(value, 'collection');
  const stored = textAt(value, 'value_field') ?? textAt(value, 'valueField');
  const bySlug = stored !== undefined && /^(\{\{\s*(slug|filename)\s*\}\}|slug)$/.test(stored);
  if (collection !== undefined && bySlug && textAt(value, 'file') === undefined) {
    return maybeMany(value, field('reference', { relation: { collection, multiple: isMultiple(value) } }));
  }
  const message = `The relation "${textAt(value, 'name') ?? ''}" stores a value, not the name of an entry; it is not checked`;
  warn('relation_unchecked', message, placeOf(value, nowhere));
  return maybeMany(value, field('any'));
};

const kinds = (value: Value, warn: Warn) =>
  itemsOf(at(value, 'types')).flatMap((type) => {
    const name = textAt(type, 'name');
    return name === undefined
      ? []
      : [{ name, label: textAt(type, 'label'), fields: decapFields(itemsOf(at(type, 'fields')), warn) }];
  });
const typeKey = (value: Value) => textAt(value, 'typeKey') ?? textAt(value, 'type_key') ?? 'type';

const object: Widget = (value, warn) =>
  at(value, 'types')
    ? blockOf(kinds(value, warn), typeKey(value))
    : objectOf(decapFields(itemsOf(at(value, 'fields')), warn));

const list: Widget = (value, warn) => {
  const single = at(value, 'field');
  if (at(value, 'types')) return bounded(manyOf(blockOf(kinds(value, warn), typeKey(value))), value);
  if (at(value, 'fields')) return bounded(manyOf(objectOf(decapFields(itemsOf(at(value, 'fields')), warn))), value);
  if (single === undefined) return bounded(manyOf(field('string', { coerce: true })), value);
  return bounded(manyOf(decapFields([single], warn)[0] ?? field('any')), value);
};

const code: Widget = (value) => {
  if (isTrue(at(value, 'output_code_only'))) return field('text');
  const keys = [textAt(value, 'keys', 'code') ?? 'code', textAt(value, 'keys', 'lang') ?? 'lang'];
  return objectOf(keys.map((name) => ({ ...field('text'), name, required: false })));
};

const select: Widget = (value) => maybeMany(value, choice(itemsOf(at(value, 'options'))));
const plain =
  (one: SchemaField): Widget =>
  () =>
    one;

const widgets = new Map<string, Widget>([
  ['string', text],
  ['text', (value, warn) => ({ ...text(value, warn), type: 'text' })],
  ['markdown', plain(field('markdown'))],
  ['richtext', plain(field('markdown'))],
  ['number', number],
  ['boolean', plain(field('boolean'))],
  ['date', date],
  ['datetime', date],
  ['image', media('image')],
  ['file', media('file')],
  ['relation', relation],
  ['select', select],
  ['object', object],
  ['list', list],
  ['code', code],
  ['color', plain(field('string'))],
  ['map', plain(field('any'))],
  ['hidden', plain(field('any'))],
  ['uuid', plain(field('string'))],
  ['compute', plain(field('any'))],
  ['keyvalue', plain(field('object'))],
]);

/** The fields of one level. Everything is required unless it says otherwise, or has a default. */
export function decapFields(values: readonly Value[], warn: Warn): SchemaField[] {
  return values.flatMap((value) => {
    const name = textAt(value, 'name');
    if (name === undefined) return [];
    const kind = textAt(value, 'widget') ?? 'string';
    const widget = widgets.get(kind);
    if (widget === undefined) {
      warn('widget_unknown', `The widget "${kind}" is not known; any value is accepted`, placeOf(value, nowhere));
    }
    const made = annotate(widget?.(value, warn) ?? field('any'), value, {
      label: 'label',
      description: 'hint',
      default: 'default',
    });
    const given = made.default !== undefined || isFalse(at(value, 'required')) || made.type === 'boolean';
    return [given ? { ...optional(made), name } : { ...made, name }];
  });
}
