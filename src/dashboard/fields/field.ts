/** A field of a form, read from JSON Schema 2020-12 with what `x-portico` adds (`studio.md` 7.4). */
import { wordsOf } from '../../lib/field-label.ts';
import { type Fields, isFields } from '../lib/json.ts';

export type FieldType =
  | 'string'
  | 'text'
  | 'markdown'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'enum'
  | 'image'
  | 'file'
  | 'link'
  | 'reference'
  | 'object'
  | 'list'
  | 'variants'
  | 'json'
  | 'any';

export interface Field {
  name: string;
  type: FieldType;
  label: string;
  description: string | null;
  isRequired: boolean;
  /** The schema does not have it; the entry does. */
  isUnknown: boolean;
  default: unknown;
  options: unknown[];
  min: number | undefined;
  max: number | undefined;
  minLength: number | undefined;
  maxLength: number | undefined;
  pattern: string | undefined;
  /** How the site's own CMS shows it. */
  widget: 'color' | 'hidden' | undefined;
  isReadOnly: boolean;
  /** An object, or each item of a list, begins closed. */
  isCollapsed: boolean;
  /** A list that begins closed hides its items too. */
  isMinimized: boolean;
  /** What a closed object or item shows; `{{name}}` stands for a field of it. */
  summary: string | undefined;
  /** What one item of a list is called. */
  itemLabel: string | undefined;
  /** Directory that new files come to. */
  mediaPath: string | undefined;
  /** What options are called, by their values. */
  optionLabels: ReadonlyMap<unknown, string>;
  /** Collection of the entries it names. */
  relation: string | null;
  /** Of an object. */
  fields: Field[];
  /** Of a list. */
  item: Field | null;
  /** Alternatives, of which one fits. */
  variants: Field[];
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

const known = new Set<unknown>(['text', 'markdown', 'date', 'datetime', 'image', 'file', 'link', 'reference', 'json']);

function typeOf(schema: Fields, portico: Fields): FieldType {
  if (isFields(schema.items)) return 'list';
  if (Array.isArray(schema.anyOf)) return 'variants';
  if (known.has(portico.type)) return portico.type as FieldType;
  if (Array.isArray(schema.enum)) return 'enum';
  const types = [schema.type].flat().filter((type) => type !== 'null');
  const [type] = types;
  if (types.length !== 1) return 'any';
  switch (type) {
    case 'object':
      return isFields(schema.properties) ? 'object' : 'any';
    case 'string':
    case 'number':
    case 'integer':
    case 'boolean':
      return type;
    default:
      return 'any';
  }
}

function fieldOf(name: string, schema: Fields, isRequired: boolean): Field {
  const portico = isFields(schema['x-portico']) ? schema['x-portico'] : {};
  const editor = isFields(portico.editor) ? portico.editor : {};
  const labels = Array.isArray(editor.option_labels) ? editor.option_labels.filter(isFields) : [];
  const relation = isFields(portico.relation) ? text(portico.relation.collection) : undefined;
  const variants = (Array.isArray(schema.anyOf) ? schema.anyOf : []).filter(isFields);
  const one = variants.filter((variant) => variant.type !== 'null');
  return {
    name,
    type: typeOf(schema, portico),
    label: text(schema.title) ?? wordsOf(name),
    description: text(schema.description) ?? null,
    isRequired,
    isUnknown: false,
    default: schema.default,
    options: (Array.isArray(schema.enum) ? schema.enum : []).filter((option) => option !== null),
    min: number(schema.minimum),
    max: number(schema.maximum),
    minLength: number(schema.minLength),
    maxLength: number(schema.maxLength),
    pattern: text(portico.pattern) ?? text(schema.pattern),
    widget: editor.widget === 'color' || editor.widget === 'hidden' ? editor.widget : undefined,
    isReadOnly: editor.read_only === true,
    isCollapsed: editor.collapsed === true,
    isMinimized: editor.minimized === true,
    summary: text(editor.summary),
    itemLabel: text(editor.item_label),
    mediaPath: text(editor.media_path),
    optionLabels: new Map(labels.map(({ value, label }) => [value, text(label) ?? ''])),
    relation: relation ?? null,
    fields: isFields(schema.properties) ? fieldsOf(schema) : [],
    item: isFields(schema.items) ? itemOf(name, schema.items, portico) : null,
    variants: one.map((variant) => {
      const made = fieldOf('', variant, true);
      return { ...made, label: made.label || wordsOf(String(kindOf(made)?.value ?? '')) };
    }),
  };
}

/** What is said of a list's items beside the list stands with the list. */
function itemOf(name: string, schema: Fields, portico: Fields): Field {
  const own = isFields(schema['x-portico']) ? schema['x-portico'] : {};
  const item = fieldOf('', { ...schema, 'x-portico': { ...portico, ...own } }, true);
  return { ...item, label: item.label || wordsOf(name) };
}

/** The key by which a typed block says what it is, and what it says. */
export function kindOf(field: Field): { key: string; value: unknown } | null {
  const key = field.fields.find(
    ({ type, options, isRequired }) => type === 'enum' && isRequired && options.length === 1,
  );
  return key ? { key: key.name, value: key.options[0] } : null;
}

/** What a closed object shows: its summary as the site's CMS has it, else its first text. */
export function summaryOf(field: Field, value: unknown): string {
  const plain = (one: unknown) =>
    typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean' ? String(one) : '';
  if (field.summary === undefined) {
    const first = isFields(value) ? Object.values(value).find((one) => plain(one) !== '') : value;
    return plain(first).slice(0, 100);
  }
  const named = (_: string, expression: string) => {
    const [name = ''] = expression.split('|', 1);
    const path = name
      .trim()
      .replace(/^fields\./, '')
      .split('.');
    return plain(path.reduce<unknown>((at, key) => (isFields(at) && Object.hasOwn(at, key) ? at[key] : ''), value));
  };
  return field.summary
    .replace(/\{\{([^{}]*)\}\}/g, named)
    .trim()
    .slice(0, 100);
}

/** The fields of an object's schema, in its order. */
export function fieldsOf(schema: Fields): Field[] {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const properties = isFields(schema.properties) ? schema.properties : {};
  return Object.entries(properties).map(([name, property]) =>
    fieldOf(name, isFields(property) ? property : {}, required.has(name)),
  );
}

/** A field for a value that no schema speaks of: what the value is now. */
export function fieldFor(name: string, value: unknown): Field {
  const type = typeof value;
  const items = Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string');
  const schema: Fields = items
    ? { items: { type: 'string' } }
    : type === 'string' || type === 'number' || type === 'boolean'
      ? { type }
      : {};
  return { ...fieldOf(name, schema, false), isUnknown: true };
}

/** What a new item or block begins with. */
export function emptyValue(field: Field): unknown {
  if (field.default !== undefined) return field.default;
  switch (field.type) {
    case 'object':
      return Object.fromEntries(
        field.fields.flatMap((one) => {
          const value = one.isRequired || one.default !== undefined ? emptyValue(one) : undefined;
          return value === undefined ? [] : [[one.name, value]];
        }),
      );
    case 'list':
      return [];
    case 'variants': {
      const [first] = field.variants;
      return first ? emptyValue(first) : '';
    }
    case 'enum':
      return field.options.length === 1 ? field.options[0] : undefined;
    case 'boolean':
      return false;
    case 'number':
    case 'integer':
    case 'date':
    case 'datetime':
      return undefined;
    case 'any':
    case 'json':
      return null;
    default:
      return '';
  }
}
