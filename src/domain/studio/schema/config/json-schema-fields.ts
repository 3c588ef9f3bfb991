import type { Warn } from '../../frameworks/cms/field-tools.ts';
import { type FieldType, fieldTypes, type SchemaField } from '../schema.schema.ts';
import {
  at,
  dataOf,
  entriesOf,
  isFalse,
  isTrue,
  itemsOf,
  numberOf,
  placeOf,
  textAt,
  textsOf,
  type Value,
} from '../static/values.ts';
import { enumOf, field, hasFields, listOf, mergeFields, unionOf } from '../zod/field-algebra.ts';

const MAX_DEPTH = 40;
const MAX_FIELDS = 5_000;

const formats = new Map<string, FieldType>([
  ['date', 'date'],
  ['date-time', 'datetime'],
  ['uri', 'link'],
  ['uri-reference', 'link'],
  ['url', 'link'],
]);

const bounds = [
  ['minimum', 'min'],
  ['maximum', 'max'],
  ['minLength', 'min_length'],
  ['maxLength', 'max_length'],
  ['minItems', 'min_items'],
  ['maxItems', 'max_items'],
] as const;

/** Reads JSON Schemas of one document; what they say beyond a Field tree (conditions, negations) is not checked. */
class SchemaReading {
  private left = MAX_FIELDS;
  private readonly root: Value;
  private readonly warn: Warn;

  constructor(root: Value, warn: Warn) {
    this.root = root;
    this.warn = warn;
  }

  field(value: Value | undefined, depth: number): SchemaField {
    if (value === undefined || isTrue(value)) return field('any');
    if (--this.left < 0 || depth > MAX_DEPTH) return this.give('The schema is too large or circular', value);
    const target = textAt(value, '$ref');
    if (target !== undefined) {
      const found = this.resolve(target);
      return found ? this.field(found, depth + 1) : this.give(`"${target}" is not in this schema`, value);
    }
    return this.annotated(this.typed(value, depth), value);
  }

  private give(message: string, value: Value): SchemaField {
    this.warn('schema_unknown', `${message}; any value is accepted`, placeOf(value, { path: '', line: 1 }));
    return field('any');
  }

  /** Pointers into the same document only: nothing is fetched. */
  private resolve(target: string): Value | undefined {
    if (!target.startsWith('#/')) return undefined;
    return at(
      this.root,
      ...target
        .slice(2)
        .split('/')
        .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~')),
    );
  }

  private typed(value: Value, depth: number): SchemaField {
    const choices = at(value, 'enum');
    if (choices?.kind === 'list') return enumOf(choices.items.map(constant));
    if (at(value, 'const')) return enumOf([constant(at(value, 'const'))]);
    const parts = itemsOf(at(value, 'allOf'));
    if (parts.length > 0) return this.all(value, parts, depth);
    const alternatives = itemsOf(at(value, 'anyOf') ?? at(value, 'oneOf'));
    if (alternatives.length > 0) return unionOf(alternatives.map((one) => this.field(one, depth + 1)));
    const types = textsOf(at(value, 'type'));
    const named = types.filter((type) => type !== 'null');
    const made = named.length === 1 ? this.ofType(named[0] ?? '', value, depth) : this.ofSeveral(named, value, depth);
    return types.includes('null') ? { ...made, nullable: true } : made;
  }

  private ofSeveral(types: readonly string[], value: Value, depth: number): SchemaField {
    if (types.length > 0) return unionOf(types.map((type) => this.ofType(type, value, depth)));
    return at(value, 'properties') ? this.ofType('object', value, depth) : field('any');
  }

  private ofType(type: string, value: Value, depth: number): SchemaField {
    if (type === 'array') {
      const list = listOf(this.field(at(value, 'items'), depth + 1)) ?? field('any', { list: true });
      return this.bounded(list, value);
    }
    if (type === 'object') {
      const strict = isFalse(at(value, 'additionalProperties')) ? { strict: true } : {};
      return at(value, 'properties') ? { ...this.object(value, depth), ...strict } : field('object');
    }
    if (type === 'string') {
      const pattern = textAt(value, 'pattern');
      const made = field(formats.get(textAt(value, 'format') ?? '') ?? 'string');
      return this.bounded(pattern === undefined ? made : { ...made, pattern }, value);
    }
    const known = type === 'number' || type === 'integer' || type === 'boolean';
    return known ? this.bounded(field(type), value) : field('any');
  }

  private bounded(one: SchemaField, value: Value): SchemaField {
    const made: SchemaField = { ...one };
    for (const [keyword, key] of bounds) {
      const limit = numberOf(at(value, keyword));
      if (limit !== undefined && (key === 'min' || key === 'max' || Number.isSafeInteger(limit))) made[key] = limit;
    }
    return made;
  }

  private object(value: Value, depth: number): SchemaField {
    const required = new Set(textsOf(at(value, 'required')));
    const fields = entriesOf(at(value, 'properties')).map(([name, one]) => {
      const made = this.field(one, depth + 1);
      return { ...made, name, required: required.has(name) && made.default === undefined };
    });
    return field('object', { fields });
  }

  private all(value: Value, parts: readonly Value[], depth: number): SchemaField {
    const own = at(value, 'properties') ? [this.object(value, depth)] : [];
    const folded = [...parts.map((one) => this.field(one, depth + 1)), ...own];
    const objects = folded.filter(hasFields);
    if (objects.length !== folded.length) {
      return folded.length === 1
        ? (folded[0] ?? field('any'))
        : this.give('A combination of other things than objects is not followed', value);
    }
    return field('object', { fields: objects.reduce<SchemaField[]>((all, one) => mergeFields(all, one.fields), []) });
  }

  /** Title, description, default, and what `x-portico` adds to JSON Schema. */
  private annotated(one: SchemaField, value: Value): SchemaField {
    const [label, description] = [textAt(value, 'title'), textAt(value, 'description')];
    const fallback = dataOf(at(value, 'default'));
    const extra = at(value, 'x-portico');
    const type = fieldTypes.find((known) => known === textAt(extra, 'type'));
    const collection = textAt(extra, 'relation', 'collection');
    return {
      ...one,
      ...(type === undefined ? {} : { type }),
      ...(label === undefined ? {} : { label }),
      ...(description === undefined ? {} : { description }),
      ...(fallback === undefined ? {} : { default: fallback }),
      ...(collection === undefined
        ? {}
        : { relation: { collection, multiple: isTrue(at(extra, 'relation', 'multiple')) } }),
      ...(isTrue(at(extra, 'coerce')) ? { coerce: true } : {}),
      ...(isTrue(at(extra, 'strict')) ? { strict: true } : {}),
    };
  }
}

const constant = (value: Value | undefined) => (value?.kind === 'scalar' ? value.value : dataOf(value));

/** The fields of a JSON Schema of an object, or of a list of objects; null when it is neither. */
export function jsonSchemaFields(
  schema: Value | undefined,
  warn: Warn,
): { fields: SchemaField[]; strict: boolean } | null {
  if (schema?.kind !== 'record') return null;
  const whole = new SchemaReading(schema, warn).field(schema, 0);
  return whole.type === 'object' && whole.fields !== undefined
    ? { fields: whole.fields, strict: whole.strict === true }
    : null;
}
