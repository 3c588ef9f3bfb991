import { readDataConfig } from '../../schema/config/config-file.ts';
import { declare } from '../../schema/declare.ts';
import { union } from '../../schema/path-set.ts';
import { type Draft, folderFiles, oneFile, type SchemaReader, type SiteReading } from '../../schema/reader.ts';
import type { EntryFormat, SchemaField, Warning } from '../../schema/schema.schema.ts';
import { extensionOf, joinPath, trimmedPath } from '../../schema/site-layout.ts';
import {
  at,
  isFalse,
  isTrue,
  itemsOf,
  placeOf,
  textAt,
  textOf,
  textsOf,
  type Value,
} from '../../schema/static/values.ts';
import { field } from '../../schema/zod/field-algebra.ts';
import {
  annotate,
  blockOf,
  bounded,
  choice,
  flagAt,
  isRequired,
  MAX_DEPTH,
  manyOf,
  objectOf,
  optional,
  skipCollection,
  unknownField,
  unknownPlace,
  type Warn,
  warnTo,
  withEditor,
  withoutBody,
} from './field-tools.ts';

/** What fields need of the whole configuration: `components` are named parts of it. */
interface PagesContext {
  /** Directories of the named media sources. */
  sources: ReadonlyMap<string, string>;
  components: Value | undefined;
  warn: Warn;
  depth: number;
  /** How many fields the collection may still have: components multiply when they name one another. */
  left: { fields: number };
}

const MAX_FIELDS = 5_000;

type Kind = (value: Value, context: PagesContext) => SchemaField;

const text: Kind = (value) => {
  const pattern = textAt(value, 'pattern') ?? textAt(value, 'pattern', 'regex');
  const options = at(value, 'options');
  const one = bounded(field('string'), options, 'minlength', 'maxlength');
  return pattern === undefined ? one : { ...one, pattern };
};

const multiple = (value: Value) => {
  const many = at(value, 'options', 'multiple');
  return many !== undefined && !isFalse(many);
};
const many = (value: Value, one: SchemaField) =>
  multiple(value) ? bounded(manyOf(one), at(value, 'options', 'multiple')) : one;

const select: Kind = (value) => {
  const values = itemsOf(at(value, 'options', 'values'));
  const open = isTrue(at(value, 'options', 'creatable')) || values.length === 0;
  return many(value, open ? field('string') : choice(values));
};

/** The path of the entry is what a reference stores, unless a template says otherwise. */
const reference: Kind = (value) => {
  const collection = textAt(value, 'options', 'collection');
  const stored = textAt(value, 'options', 'value') ?? '{path}';
  if (collection === undefined || !/^\{?path\}?$/.test(stored)) return many(value, field('string'));
  return many(value, field('reference', { relation: { collection, multiple: multiple(value) } }));
};

const date: Kind = (value) => {
  const format = textAt(value, 'options', 'format');
  return format === undefined || /^yyyy-MM-dd/.test(format) ? field('date', { coerce: true }) : field('string');
};

const block: Kind = (value, context) => {
  const kinds = itemsOf(at(value, 'blocks') ?? at(value, 'options', 'blocks')).flatMap((one) => {
    const whole = withComponent(one, context);
    const name = textAt(whole, 'name') ?? textAt(whole, 'component');
    return name === undefined ? [] : [{ name, label: textAt(whole, 'label'), fields: inner(whole, context) }];
  });
  return blockOf(kinds, textAt(value, 'blockKey') ?? '_block');
};

const kinds = new Map<string, Kind>([
  ['string', text],
  ['text', (value, context) => ({ ...text(value, context), type: 'text' })],
  ['rich-text', () => field('markdown')],
  ['code', () => field('text')],
  ['number', (value) => bounded(field('number'), at(value, 'options'))],
  ['boolean', () => field('boolean')],
  ['date', date],
  ['image', (value) => many(value, field('image'))],
  ['file', (value) => many(value, field('file'))],
  ['select', select],
  ['reference', reference],
  ['object', (value, context) => objectOf(inner(value, context))],
  ['block', block],
  ['uuid', () => field('string')],
]);

/** A field that names a component is that component with the field's own keys over it. */
function withComponent(value: Value, { components }: PagesContext): Value {
  const name = textAt(value, 'component');
  const component = name === undefined ? undefined : at(components, name);
  if (component?.kind !== 'record' || value.kind !== 'record') return value;
  return { kind: 'record', parts: [...component.parts, ...value.parts], place: value.place };
}

function inner(value: Value, context: PagesContext): SchemaField[] {
  return pagesFields(itemsOf(at(value, 'fields')), { ...context, depth: context.depth + 1 });
}

/** Where files for an image or file field come to: `path` of its options, below or without the media source it names. */
function uploadsTo(value: Value, { sources }: PagesContext): string | undefined {
  const source = sources.get(textAt(value, 'options', 'media') ?? '');
  const path = textAt(value, 'options', 'path');
  if (path === undefined || path.includes('..')) return source;
  return trimmedPath(path);
}

/** The fields of one level. */
function pagesFields(values: readonly Value[], context: PagesContext): SchemaField[] {
  if (context.depth > MAX_DEPTH) return [];
  return values.flatMap((given) => {
    context.left.fields -= 1;
    if (context.left.fields === -1)
      context.warn(
        'schema_unknown',
        'The fields are too many or circular; the rest is left out',
        placeOf(given, unknownPlace),
      );
    if (context.left.fields < 0) return [];
    const value = withComponent(given, context);
    const name = textAt(value, 'name');
    if (name === undefined) return [];
    const type = at(value, 'type');
    const names = type?.kind === 'list' ? [] : [textOf(type) ?? 'string'];
    const kind = kinds.get(names[0] ?? '');
    const one = kind ? kind(value, context) : unknownField(name, value, context.warn);
    const list = at(value, 'list');
    const whole = list === undefined || isFalse(list) ? one : bounded(manyOf(one), list);
    const annotated = annotate(whole, value, { label: 'label', description: 'description', default: 'default' });
    const made = withEditor(annotated, {
      widget: isTrue(at(value, 'hidden')) ? 'hidden' : undefined,
      read_only: flagAt(value, 'readonly'),
      collapsed: flagAt(list, 'collapsible', 'collapsed'),
      summary: textAt(list, 'collapsible', 'summary'),
      media_path: uploadsTo(value, context),
      pattern_message: textAt(value, 'pattern', 'message'),
    });
    const required = isRequired(value) && made.default === undefined;
    return [{ ...(required ? made : optional(made)), name }];
  });
}

const configPath = '.pages.yml';

/** Pages CMS: `.pages.yml` at the root of the repository, where all its paths begin. */
export const pagesCmsReader: SchemaReader = {
  name: 'pages_cms',
  async read(reading) {
    if (!reading.present.has(configPath)) return [];
    const config = await readDataConfig(configPath, reading);
    if (config === null) return [];
    readMedia(at(config, 'media'), reading);
    const shared = { components: at(config, 'components'), sources: mediaSources(at(config, 'media')) };
    return readContent(itemsOf(at(config, 'content')), shared, reading, 0);
  },
};

/** Directories of media sources that have a name. */
function mediaSources(media: Value | undefined): Map<string, string> {
  const named = itemsOf(media).flatMap((one): [string, string][] => {
    const [name, input] = [textAt(one, 'name'), textAt(one, 'input')];
    return name === undefined || input === undefined || input.includes('..') ? [] : [[name, trimmedPath(input)]];
  });
  return new Map(named);
}

type Shared = Pick<PagesContext, 'components' | 'sources'>;

function readMedia(media: Value | undefined, { layout }: SiteReading): void {
  if (media === undefined || layout.mediaRoots !== undefined) return;
  const roots = (media.kind === 'list' ? media.items : [media]).flatMap((one) => {
    const [only] = textsOf(one);
    const input = only ?? textAt(one, 'input');
    if (input === undefined || trimmedPath(input) === '' || input.includes('..')) return [];
    return [{ path: trimmedPath(input), public_path: textAt(one, 'output') ?? `/${trimmedPath(input)}` }];
  });
  if (roots.length > 0) layout.mediaRoots = roots;
}

/** Groups only order the menu; they may hold groups again. */
function readContent(values: readonly Value[], shared: Shared, reading: SiteReading, depth: number): Draft[] {
  return values.flatMap((value) => {
    if (textAt(value, 'type') !== 'group') return readEntry(value, shared, reading);
    return depth > 10
      ? []
      : readContent(itemsOf(at(value, 'items') ?? at(value, 'content')), shared, reading, depth + 1);
  });
}

const dataFormats: Record<string, EntryFormat> = { yaml: 'yaml', json: 'json', toml: 'toml' };
const formats: Record<string, EntryFormat> = { ...dataFormats, 'json-frontmatter': 'json', 'toml-frontmatter': 'toml' };

/** `{year}-{primary}.md` → `{{year}}-{{slug}}` */
const slugPattern = (filename: string) =>
  filename.replace(/\.[A-Za-z0-9]+$/, '').replace(/\{([^{}]*)\}/g, (_, name: string) => {
    return `{{${name === 'primary' ? 'slug' : name}}}`;
  });

function readEntry(value: Value, shared: Shared, reading: SiteReading): Draft[] {
  const name = textAt(value, 'name');
  if (name === undefined) return [];
  const place = placeOf(value, { path: configPath, line: 1 });
  const format = textAt(value, 'format');
  if (format === 'raw' || format === 'code' || format === 'datagrid') {
    return skipCollection(name, `files of format "${format}" have no fields`, place, reading);
  }
  const path = trimmedPath(textAt(value, 'path') ?? '');
  const single = textAt(value, 'type') === 'file';
  const filename = textAt(value, 'filename') ?? textAt(value, 'filename', 'template');
  const ending = extensionOf((single ? path : filename) ?? '');
  const extension =
    textAt(value, 'extension')?.replace(/^\./, '') || ending || (dataFormats[format ?? ''] ? (format ?? '') : 'md');
  const excluded = textsOf(at(value, 'exclude'));
  const located = single
    ? oneFile('', path)
    : folderFiles('', path, {
        extensions: [extension],
        except: (base) =>
          union(
            { kind: 'listed', paths: excluded.map((one) => joinPath(base, one)) },
            { kind: 'named', names: excluded },
          ),
        ...(isFalse(at(value, 'subfolders')) ? { depth: 1 } : {}),
      });
  if ('unknown' in located) return skipCollection(name, located.unknown, place, reading);
  const warnings: Warning[] = [];
  const all = pagesFields(itemsOf(at(value, 'fields')), {
    ...shared,
    warn: warnTo(warnings, configPath, name),
    depth: 0,
    left: { fields: MAX_FIELDS },
  });
  const { fields, body } = withoutBody(all, extension);
  const begins = body === undefined ? {} : { body };
  const itemsInFile = single && at(value, 'list') !== undefined && !isFalse(at(value, 'list'));
  return [
    declare(
      {
        name,
        label: textAt(value, 'label'),
        source: { kind: 'pages_cms', path: configPath, line: place.line },
        files: located,
        fields,
        warnings,
        infer: all.length === 0 && !single,
        lenient: all.length === 0,
        itemsInFile,
        format: formats[format ?? ''] ?? dataFormats[extension === 'yml' ? 'yaml' : extension],
        extensions: [extension],
        identifier: textAt(value, 'view', 'primary'),
        template: single || filename === undefined ? begins : { slug: slugPattern(filename), ...begins },
        strict: isTrue(at(value, 'strict')),
      },
      reading,
    ),
  ];
}
