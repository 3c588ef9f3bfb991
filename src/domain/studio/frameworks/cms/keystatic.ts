import { argumentOf, codeExtensions, findConfig, readCodeConfig } from '../../schema/config/config-file.ts';
import { declare } from '../../schema/declare.ts';
import { type EntryTemplate, nowAs } from '../../schema/entry-template.ts';
import {
  type Draft,
  globFiles,
  type Located,
  oneFile,
  type SchemaReader,
  type SiteReading,
} from '../../schema/reader.ts';
import type { EntryFormat, SchemaField, Warning } from '../../schema/schema.schema.ts';
import {
  at,
  entriesOf,
  itemsOf,
  numberOf,
  type Place,
  placeOf,
  textAt,
  textOf,
  type Value,
} from '../../schema/static/values.ts';
import { enumOf, field, unionOf } from '../../schema/zod/field-algebra.ts';
import {
  annotate,
  bounded,
  choice,
  isRequired,
  manyOf,
  objectOf,
  optional,
  skipCollection,
  unknownPlace,
  type Warn,
  warnTo,
  withEditor,
} from './field-tools.ts';

type Call = Extract<Value, { kind: 'call' }>;
type Kind = (options: Value | undefined, call: Call, warn: Warn) => SchemaField;

/** The name of a `fields.<name>(…)` call; null for anything else. */
function fieldCall(value: Value | undefined): { name: string; call: Call } | null {
  if (value?.kind !== 'call') return null;
  const { callee } = value;
  if (callee.kind === 'member') {
    const known = callee.object.kind === 'external' && callee.object.name === 'fields';
    // `fields.markdoc.inline(…)` stores its text in the entry.
    const inline = callee.object.kind === 'member' && callee.property === 'inline';
    if (known) return { name: callee.property, call: value };
    return inline ? { name: 'text', call: value } : null;
  }
  return null;
}

const validation = (options: Value | undefined) => at(options, 'validation');
const needed = (options: Value | undefined, one: SchemaField) => {
  const rules = validation(options);
  const required =
    rules !== undefined && (isRequired(rules, 'isRequired') || (numberOf(at(rules, 'length', 'min')) ?? 0) > 0);
  return required ? one : optional(one);
};

const text: Kind = (options) => {
  const pattern = at(validation(options), 'pattern', 'regex');
  const type = at(options, 'multiline') ? 'text' : 'string';
  const one = needed(options, bounded(field(type), at(validation(options), 'length')));
  if (pattern?.kind !== 'pattern') return one;
  const flags = [...pattern.flags].filter((flag) => 'ims'.includes(flag)).join('');
  const message = textAt(validation(options), 'pattern', 'message');
  return withEditor({ ...one, pattern: (flags ? `(?${flags})` : '') + pattern.source }, { pattern_message: message });
};

const typed =
  (one: SchemaField): Kind =>
  (options) =>
    needed(options, bounded(one, validation(options)));

const relation = (options: Value | undefined, many: boolean): SchemaField => {
  const collection = textAt(options, 'collection');
  const one =
    collection === undefined ? field('string') : field('reference', { relation: { collection, multiple: many } });
  return many ? optional(bounded(manyOf(one), at(validation(options), 'length'))) : needed(options, one);
};

/** The element is the first argument, so labels and bounds are in the second. */
const array: Kind = (element, { args }, warn) =>
  optional(bounded(manyOf(keystaticField(element, warn)), at(validation(args[1]), 'length')));

/** `{discriminant, value}`: a select or checkbox, and for each of its values another field. */
const conditional: Kind = (_options, { args }, warn) => {
  const variants = entriesOf(args[1]).map(([name, value]): SchemaField => {
    const literal = name === 'true' || name === 'false' ? name === 'true' : name;
    const tag: SchemaField = { ...enumOf([literal]), name: 'discriminant' };
    return objectOf([tag, { ...optional(keystaticField(value, warn)), name: 'value' }]);
  });
  return optional(variants.length === 1 ? (variants[0] ?? field('object')) : field('object', { variants }));
};

const blocks: Kind = (options, _call, warn) => {
  const variants = entriesOf(options).map(([name, value]): SchemaField => {
    const tag: SchemaField = { ...enumOf([name]), name: 'discriminant' };
    return objectOf([tag, { ...optional(keystaticField(at(value, 'schema'), warn)), name: 'value' }]);
  });
  const [first = field('object')] = variants;
  return optional(manyOf(variants.length > 1 ? field('object', { variants }) : first));
};

const image = objectOf([
  { ...field('image'), name: 'src' },
  ...['alt', 'height', 'width'].map((name) => ({ ...optional(field('any')), name })),
]);

const kinds = new Map<string, Kind>([
  ['text', text],
  // The field that names the entry stores its text; any other stores `{name, slug}`.
  ['slug', () => optional(unionOf([field('string'), field('object')]))],
  ['number', typed(field('number'))],
  ['integer', typed(field('integer'))],
  ['checkbox', () => optional(field('boolean'))],
  ['date', typed(field('date'))],
  ['datetime', typed(field('datetime'))],
  ['url', typed(field('link'))],
  ['image', typed(field('image'))],
  ['file', typed(field('file'))],
  ['pathReference', typed(field('string'))],
  ['cloudImage', () => optional(image)],
  ['select', (options) => optional(choice(itemsOf(at(options, 'options'))))],
  ['multiselect', (options) => optional(manyOf(choice(itemsOf(at(options, 'options')))))],
  ['relationship', (options) => relation(options, false)],
  ['multiRelationship', (options) => relation(options, true)],
  ['array', array],
  ['object', (options, _call, warn) => optional(objectOf(keystaticFields(options, warn)))],
  ['conditional', conditional],
  ['blocks', blocks],
  ['empty', () => optional(field('any'))],
  ['ignored', () => optional(field('any'))],
  ['child', () => optional(field('any'))],
]);

/** Fields whose text stands in a file of its own: the body of the entry, or one beside it. */
const contentKinds = new Set(['document', 'mdx', 'markdoc', 'emptyContent', 'emptyDocument']);

function keystaticField(value: Value | undefined, warn: Warn): SchemaField {
  const found = fieldCall(value);
  const kind = found && kinds.get(found.name);
  if (!found || !kind) {
    const reason = value?.kind === 'unknown' ? `: ${value.reason}` : '';
    warn(
      'field_unknown',
      `A field is not known${reason}; any value is accepted`,
      value && placeOf(value, unknownPlace),
    );
    return optional(field('any'));
  }
  const [options] = found.call.args;
  const one = kind(options, found.call, warn);
  const described =
    found.name === 'array' || found.name === 'object' || found.name === 'blocks' ? found.call.args[1] : options;
  const made = described
    ? annotate(one, described, { label: 'label', description: 'description', default: 'defaultValue' })
    : one;
  if (made.default === undefined) return made;
  // A rule for the present time is no value.
  if (textAt(described, 'defaultValue', 'kind') !== undefined) delete made.default;
  return optional(made);
}

/** The fields of a schema object, without those whose text stands elsewhere. */
function keystaticFields(schema: Value | undefined, warn: Warn): SchemaField[] {
  if (schema?.kind === 'record' && schema.parts.some(([name]) => name === null)) {
    warn('schema_unknown', 'Some keys of the schema are not known', schema.place);
  }
  return entriesOf(schema).flatMap(([name, value]) => {
    const call = fieldCall(value);
    return call && contentKinds.has(call.name) ? [] : [{ ...keystaticField(value, warn), name }];
  });
}

/** Keystatic: `keystatic.config.*`; its paths begin where that file lies. */
export const keystaticReader: SchemaReader = {
  name: 'keystatic',
  async read(reading) {
    const path = findConfig(
      reading,
      ['keystatic.config', 'src/keystatic.config', 'app/keystatic.config'],
      codeExtensions,
    );
    if (path === undefined) return [];
    const { value } = await readCodeConfig(path, reading);
    const config = value ?? undefined;
    const place = { path, line: 1 };
    const drafts: Draft[] = [];
    for (const [key, single] of [
      ['collections', false],
      ['singletons', true],
    ] as const) {
      const group = at(config, key);
      const hidden = group?.kind === 'record' && group.parts.some(([name]) => name === null);
      if (hidden || group?.kind === 'unknown' || (config?.kind !== 'record' && !single)) {
        const message = `Some ${key} of Keystatic cannot be read${group?.kind === 'unknown' ? `: ${group.reason}` : ''}`;
        reading.warnings.push({
          code: 'schema_unknown',
          message,
          path,
          line: placeOf(group ?? config ?? lost, place).line,
        });
      }
      for (const [name, one] of entriesOf(group))
        drafts.push(...readOne(name, one, placeOf(one, place), single, reading));
    }
    return drafts;
  },
};
const lost: Value = { kind: 'scalar', value: null };

interface Form {
  extension: string;
  format: EntryFormat;
  contentField: string | null;
}

/** `format`: data alone, or a content field below it, whose kind tells the extension. */
function formOf(options: Value | undefined): Form {
  const format = at(options, 'format');
  const data = textOf(format) ?? textAt(format, 'data') ?? 'yaml';
  const contentField = at(format, 'contentField');
  const name =
    textOf(contentField) ?? (contentField?.kind === 'list' ? (textOf(contentField.items.at(-1)) ?? null) : null);
  const language: EntryFormat = data === 'json' ? 'json' : 'yaml';
  if (name === null) return { extension: language, format: language, contentField: null };
  const content = fieldCall(at(options, 'schema', name));
  const given = textAt(content?.call.args[0], 'extension');
  const usual = content?.name === 'mdx' ? 'mdx' : 'mdoc';
  return { extension: given ?? usual, format: language, contentField: name };
}

/** The wildcard stands for one segment (one star) or any depth (two); a slash at the end makes the file an `index`. */
function locate(path: string, extension: string, single: boolean, root: string): Located {
  const clean = path.replace(/^\.?\/+/, '');
  const file = `${clean}${clean.endsWith('/') || clean === '' ? 'index' : ''}.${extension}`;
  if (single) return oneFile(root, file);
  const parts = file.split('/');
  const wild = parts.findIndex((part) => part.includes('*'));
  if (wild === -1) return { unknown: 'its path has no wildcard' };
  const last = parts.length - 1;
  // A wildcard for any depth at the end of the path also stands for the file's own name.
  const pattern = parts.slice(wild).map((part, index) => (wild + index === last ? part.replace('**', '**/*') : part));
  return globFiles(root, parts.slice(0, wild).join('/') || '.', [pattern.join('/')]);
}

function readOne(name: string, value: Value, place: Place, single: boolean, reading: SiteReading): Draft[] {
  const options = argumentOf(value);
  if (options?.kind !== 'record') {
    return skipCollection(
      name,
      options?.kind === 'unknown' ? options.reason : 'its options are not known',
      place,
      reading,
    );
  }
  const form = formOf(options);
  const usual = single ? `${name}/` : `${name}/*/`;
  const given = at(options, 'path');
  const path = given === undefined ? usual : textOf(given);
  if (path === undefined) return skipCollection(name, 'its path is not known', place, reading);
  const located = locate(path, form.extension, single, reading.layout.root);
  if ('unknown' in located) return skipCollection(name, located.unknown, place, reading);
  const warnings: Warning[] = [];
  const fields = keystaticFields(at(options, 'schema'), warnTo(warnings, place.path, name));
  const slugField = textAt(options, 'slugField');
  const leaf = path.split('/').at(-1) ?? '';
  return [
    declare(
      {
        name,
        label: textAt(options, 'label'),
        source: { kind: 'keystatic', path: place.path, line: place.line },
        files: located,
        fields: fields.map((one) => (one.name === slugField ? slugOf(one, options, slugField) : one)),
        warnings,
        format: form.format,
        extensions: [form.extension],
        identifier: slugField,
        template: todayOf(at(options, 'schema')),
        indexNames: leaf !== '' && !leaf.includes('*') ? [leaf, 'index'] : ['index'],
      },
      reading,
    ),
  ];
}

/** Dates whose default is the present one: `{kind: 'today'}` and `{kind: 'now'}`. */
function todayOf(schema: Value | undefined): EntryTemplate | undefined {
  const dates = entriesOf(schema).flatMap(([name, value]): [string, string][] => {
    const kind = textAt(fieldCall(value)?.call.args[0], 'defaultValue', 'kind');
    if (kind === 'today') return [[name, nowAs('YYYY-MM-DD')]];
    return kind === 'now' ? [[name, nowAs('YYYY-MM-DDTHH:mm')]] : [];
  });
  return dates.length === 0 ? undefined : { frontmatter: Object.fromEntries(dates) };
}

/** The name of the entry is stored as plain text, and needed when its own rules say so. */
function slugOf(one: SchemaField, options: Value, name: string): SchemaField {
  const call = fieldCall(at(options, 'schema', name));
  if (call?.name !== 'slug' || contentKinds.has(call.name)) return one;
  const label = textAt(call.call.args[0], 'name', 'label');
  return { ...optional(field('string')), name: one.name, ...(label === undefined ? {} : { label }) };
}
