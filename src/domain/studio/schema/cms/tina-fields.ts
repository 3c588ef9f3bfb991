import type { SchemaField } from '../schema.schema.ts';
import { at, isTrue, itemsOf, textAt } from '../static/read-value.ts';
import { placeOf, type Value } from '../static/values.ts';
import { field, unionOf } from '../zod/field-algebra.ts';
import {
  annotate,
  blockOf,
  choice,
  isRequired,
  manyOf,
  nowhere,
  objectOf,
  optional,
  unknownField,
  type Warn,
} from './field-tools.ts';

type Kind = (value: Value, warn: Warn) => SchemaField;

const text: Kind = (value) => {
  const options = itemsOf(at(value, 'options'));
  return options.length > 0 ? choice(options) : field('string');
};

/** A reference is the path of a file; with several collections none of them can be named. */
const reference: Kind = (value) => {
  const [collection, ...others] = itemsOf(at(value, 'collections')).map((one) =>
    one.kind === 'scalar' ? String(one.value) : '',
  );
  return collection && others.length === 0
    ? field('reference', { relation: { collection, multiple: false } })
    : field('string');
};

/** The templates of an object or collection, told apart by `_template`. */
export function templatesOf(value: Value, warn: Warn) {
  return itemsOf(at(value, 'templates')).flatMap((one) => {
    const name = textAt(one, 'nameOverride') ?? textAt(one, 'name');
    return name === undefined
      ? []
      : [{ name, label: textAt(one, 'label'), fields: tinaFields(at(one, 'fields'), warn) }];
  });
}

const kinds = new Map<string, Kind>([
  ['string', text],
  ['number', () => field('number')],
  ['boolean', () => field('boolean')],
  ['datetime', () => field('datetime', { coerce: true })],
  ['image', () => field('image')],
  ['password', () => field('any')],
  ['reference', reference],
  // Rich text is Markdown, or the tree of it in a JSON file.
  ['rich-text', () => ({ ...unionOf([field('markdown'), field('object')]), type: 'markdown' })],
  [
    'object',
    (value, warn) => {
      const templates = templatesOf(value, warn);
      if (templates.length > 0) return blockOf(templates, textAt(value, 'templateKey') ?? '_template');
      return at(value, 'fields') ? objectOf(tinaFields(at(value, 'fields'), warn)) : field('object');
    },
  ],
]);

/** The fields of a list, but for the one that is the body of the file. */
export function tinaFields(list: Value | undefined, warn: Warn): SchemaField[] {
  if (list !== undefined && list.kind !== 'list') {
    warn(
      'schema_unknown',
      list.kind === 'unknown' ? `The fields are not known: ${list.reason}` : 'The fields are not known',
      placeOf(list, nowhere),
    );
  }
  return itemsOf(list).flatMap((value) => {
    const name = textAt(value, 'nameOverride') ?? textAt(value, 'name');
    if (name === undefined) {
      const reason = value.kind === 'unknown' ? `: ${value.reason}` : '';
      warn('schema_unknown', `A field is not known${reason}`, placeOf(value, nowhere));
      return [];
    }
    if (isTrue(at(value, 'isBody'))) return [];
    const kind = kinds.get(textAt(value, 'type') ?? '');
    const one = kind ? kind(value, warn) : unknownField(name, value, warn);
    const made = annotate(isTrue(at(value, 'list')) ? manyOf(one) : one, value, {
      label: 'label',
      description: 'description',
    });
    return [{ ...(isRequired(value) ? made : optional(made)), name }];
  });
}
