import { codeExtensions, findConfig, readCodeConfig } from '../../schema/config/config-file.ts';
import { declare } from '../../schema/declare.ts';
import type { EntryTemplate } from '../../schema/entry-template.ts';
import { compileGlob } from '../../schema/glob.ts';
import {
  type Draft,
  entryExtensions,
  type Files,
  folderFiles,
  type Located,
  type SchemaReader,
  type SiteReading,
} from '../../schema/reader.ts';
import type { EntryFormat, SchemaField, Warning } from '../../schema/schema.schema.ts';
import { joinPath, trimmedPath } from '../../schema/site-layout.ts';
import {
  at,
  dataOf,
  entriesOf,
  isTrue,
  itemsOf,
  type Place,
  placeOf,
  textAt,
  type Value,
} from '../../schema/static/values.ts';
import { enumOf, field, unionOf } from '../../schema/zod/field-algebra.ts';
import {
  annotate,
  blockOf,
  bounded,
  choice,
  isRequired,
  manyOf,
  objectOf,
  optional,
  skipCollection,
  unknownField,
  unknownPlace,
  type Warn,
  warnTo,
  withEditor,
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

/** The templates of an object or collection, discriminated by `_template`. */
function templatesOf(value: Value, warn: Warn) {
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

/** Components that say what a text is. */
const texts = new Map<string, SchemaField['type']>([
  ['textarea', 'text'],
  ['markdown', 'markdown'],
  ['image', 'image'],
]);

const shownAs = new Map([
  ['color', 'color' as const],
  ['hidden', 'hidden' as const],
]);

/** The fields of a list, but for the one that is the body of the file. */
function tinaFields(list: Value | undefined, warn: Warn): SchemaField[] {
  if (list !== undefined && list.kind !== 'list') {
    warn(
      'schema_unknown',
      list.kind === 'unknown' ? `The fields are not known: ${list.reason}` : 'The fields are not known',
      placeOf(list, unknownPlace),
    );
  }
  return itemsOf(list).flatMap((value) => {
    const name = textAt(value, 'nameOverride') ?? textAt(value, 'name');
    if (name === undefined) {
      const reason = value.kind === 'unknown' ? `: ${value.reason}` : '';
      warn('schema_unknown', `A field is not known${reason}`, placeOf(value, unknownPlace));
      return [];
    }
    if (isTrue(at(value, 'isBody'))) return [];
    const kind = kinds.get(textAt(value, 'type') ?? '');
    const component = textAt(value, 'ui', 'component') ?? '';
    const known = kind ? kind(value, warn) : unknownField(name, value, warn);
    const one: SchemaField = known.type === 'string' ? { ...known, type: texts.get(component) ?? 'string' } : known;
    const ui = at(value, 'ui');
    const whole = isTrue(at(value, 'list')) ? bounded(manyOf(one), ui) : one;
    const keys = { label: 'label', description: 'description' };
    const annotated = annotate(annotate(whole, value, keys), ui ?? value, keys);
    const made = withEditor(annotated, { widget: shownAs.get(component) });
    return [{ ...(isRequired(value) ? made : optional(made)), name }];
  });
}

/** TinaCMS: `tina/config.*`, whose paths begin where that directory lies. */
export const tinaReader: SchemaReader = {
  name: 'tina',
  async read(reading) {
    const path = findConfig(reading, ['tina/config', '.tina/config', '.tina/schema'], codeExtensions);
    if (path === undefined) return [];
    const { value } = await readCodeConfig(path, reading);
    const config = value ?? undefined;
    readMedia(config, reading);
    const collections = at(config, 'schema', 'collections') ?? at(config, 'collections');
    const place = { path, line: 1 };
    if (collections?.kind !== 'list') {
      const message = 'The collections of Tina cannot be read';
      reading.warnings.push({
        code: 'schema_unknown',
        message,
        ...placeOf(collections ?? { kind: 'scalar', value: null }, place),
      });
    }
    return itemsOf(collections).flatMap((one) => readCollection(one, placeOf(one, place), reading));
  },
};

function readMedia(config: Value | undefined, { layout }: SiteReading): void {
  const media = at(config, 'media', 'tina');
  const folder = textAt(media, 'publicFolder');
  if (folder === undefined || layout.mediaRoots !== undefined || folder.includes('..')) return;
  const inner = (textAt(media, 'mediaRoot') ?? '').replace(/^\/+|(?<!\/)\/+$/g, '');
  const path = joinPath(layout.root, trimmedPath(folder), inner);
  if (path !== '') layout.mediaRoots = [{ path, public_path: `/${inner}` }];
}

function locate(value: Value, extension: string, root: string): Located {
  const folder = textAt(value, 'path') ?? '';
  const [include, exclude] = (['include', 'exclude'] as const).map((key) => {
    const pattern = textAt(value, 'match', key);
    return pattern === undefined || pattern.includes('.') ? pattern : `${pattern}.${extension}`;
  });
  if ([include, exclude].some((pattern) => pattern !== undefined && compileGlob(pattern) === null))
    return { unknown: 'its match patterns are not understood' };
  const fitting = (pattern: string) => (base: string) => ({ kind: 'glob', base, patterns: [pattern] }) as const;
  return folderFiles(root, folder, {
    extensions: [extension],
    ...(include !== undefined && { only: fitting(include) }),
    ...(exclude !== undefined && { except: fitting(exclude) }),
  });
}

function readCollection(value: Value, place: Place, reading: SiteReading): Draft[] {
  const name = textAt(value, 'name');
  if (name === undefined) {
    const reason = value.kind === 'unknown' ? `: ${value.reason}` : '';
    reading.warnings.push({
      code: 'schema_unknown',
      message: `A collection of Tina cannot be read${reason}`,
      ...place,
    });
    return [];
  }
  const extension = textAt(value, 'format') ?? 'md';
  if (!entryExtensions.has(extension))
    return skipCollection(name, `the format "${extension}" is not known`, place, reading);
  const files: Files | { unknown: string } = locate(value, extension, reading.layout.root);
  if ('unknown' in files) return skipCollection(name, files.unknown, place, reading);
  const warnings: Warning[] = [];
  const warn = warnTo(warnings, place.path, name);
  const format = textAt(value, 'frontmatterFormat');
  const fields = readFields(value, warn);
  const titled = itemsOf(at(value, 'fields')).find((one) => isTrue(at(one, 'isTitle')));
  return [
    declare(
      {
        name,
        label: textAt(value, 'label'),
        source: { kind: 'tina', path: place.path, line: place.line },
        files,
        fields,
        warnings,
        infer: fields.length === 0,
        format: format === 'toml' || format === 'json' ? (format satisfies EntryFormat) : undefined,
        extensions: [extension],
        identifier: textAt(titled, 'nameOverride') ?? textAt(titled, 'name'),
        template: defaultItemOf(value),
      },
      reading,
    ),
  ];
}

/** `ui.defaultItem` of the collection, else of its first template; what a function would give is left out. */
function defaultItemOf(value: Value): EntryTemplate | undefined {
  const [first] = itemsOf(at(value, 'templates'));
  const item = at(value, 'ui', 'defaultItem') ?? at(first, 'ui', 'defaultItem');
  const values = entriesOf(item).flatMap(([key, one]) => {
    const data = dataOf(one);
    return data === undefined ? [] : [[key, data] as const];
  });
  const template = textAt(first, 'name');
  if (template !== undefined) values.unshift(['_template', template]);
  return values.length === 0 ? undefined : { frontmatter: Object.fromEntries(values) };
}

/** Of several templates every key: required only when all of them require it. */
function readFields(value: Value, warn: Warn): SchemaField[] {
  const templates = templatesOf(value, warn);
  if (templates.length === 0) return tinaFields(at(value, 'fields'), warn);
  const merged = new Map<string, SchemaField>([
    ['_template', { ...enumOf(templates.map((one) => one.name)), name: '_template' }],
  ]);
  for (const { fields } of templates) {
    for (const one of fields) {
      const known = merged.get(one.name);
      const same = known === undefined || JSON.stringify(known) === JSON.stringify(one);
      const everywhere = templates.every((other) =>
        other.fields.some((field) => field.name === one.name && field.required),
      );
      const rival: SchemaField = { name: one.name, type: 'any', required: false, list: false };
      merged.set(one.name, same ? { ...one, required: everywhere } : rival);
    }
  }
  return [...merged.values()];
}
