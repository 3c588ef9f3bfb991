import { findConfig, readDataConfig } from '../../schema/config/config-file.ts';
import { jsonSchemaFields } from '../../schema/config/json-schema-fields.ts';
import { declare } from '../../schema/declare.ts';
import { type EntryTemplate, nowAs } from '../../schema/entry-template.ts';
import { collectionName } from '../../schema/inferred-groups.ts';
import { union } from '../../schema/path-set.ts';
import {
  type Draft,
  type Files,
  folderFiles,
  type Located,
  oneFile,
  type SchemaReader,
  type SiteReading,
} from '../../schema/reader.ts';
import type { SchemaField, Warning } from '../../schema/schema.schema.ts';
import { extensionOf, joinPath, markdownExtensions } from '../../schema/site-layout.ts';
import { at, isTrue, itemsOf, placeOf, textAt, textOf, textsOf, type Value } from '../../schema/static/values.ts';
import { field } from '../../schema/zod/field-algebra.ts';
import {
  annotate,
  blockOf,
  bounded,
  choice,
  isRequired,
  MAX_DEPTH,
  manyOf,
  objectOf,
  optional,
  skipCollection,
  unknownField,
  type Warn,
  warnTo,
} from './field-tools.ts';

interface FrontMatterContext {
  /** `frontMatter.taxonomy.fieldGroups`: named lists of fields. */
  groups: readonly Value[];
  draft: Value | undefined;
  warn: Warn;
  depth: number;
}

type Kind = (value: Value, context: FrontMatterContext) => SchemaField;

const many = (value: Value, one: SchemaField) => (isTrue(at(value, 'multiple')) ? manyOf(one) : one);
const words: Kind = () => manyOf(field('string', { coerce: true }));

const groupOf = (name: string, { groups }: FrontMatterContext) => groups.find((group) => textAt(group, 'id') === name);
const deeper = (context: FrontMatterContext) => ({ ...context, depth: context.depth + 1 });

const block: Kind = (value, context) => {
  const names = textsOf(at(value, 'fieldGroup'));
  const kinds = names.map((name) => ({
    name,
    fields: frontMatterFields(at(groupOf(name, context), 'fields'), deeper(context)),
  }));
  return manyOf(names.length === 1 ? objectOf(kinds[0]?.fields ?? []) : blockOf(kinds, 'fieldGroup'));
};

const draft: Kind = (_value, context) =>
  textAt(context.draft, 'type') === 'choice' ? choice(itemsOf(at(context.draft, 'choices'))) : field('boolean');

const relationship: Kind = (value) => {
  const collection = textAt(value, 'contentTypeName');
  const bySlug = textAt(value, 'contentTypeValue') === 'slug';
  if (collection === undefined || !bySlug) return many(value, field('string'));
  return many(value, field('string', { description: `Slug of an entry of type ${collection}` }));
};

const kinds = new Map<string, Kind>([
  [
    'string',
    (value) => ({ ...field('string'), ...(isTrue(at(value, 'wysiwyg')) ? { type: 'markdown' as const } : {}) }),
  ],
  ['number', (value) => bounded(field('number'), at(value, 'numberOptions'))],
  [
    'datetime',
    (value) => (textAt(value, 'dateFormat') === undefined ? field('date', { coerce: true }) : field('string')),
  ],
  ['boolean', () => field('boolean')],
  ['image', (value) => many(value, field('image'))],
  ['file', (value) => many(value, field('file'))],
  ['choice', (value) => many(value, choice(itemsOf(at(value, 'choices')), 'id'))],
  ['tags', words],
  ['categories', words],
  ['taxonomy', words],
  ['list', words],
  ['draft', draft],
  ['slug', () => field('string')],
  ['fields', (value, context) => objectOf(frontMatterFields(at(value, 'fields'), deeper(context)))],
  ['block', block],
  ['json', () => field('json')],
  ['contentRelationship', relationship],
  ['dataFile', (value) => many(value, field('string'))],
  ['customField', () => field('any')],
]);

/** Fields of a content type; dividers and headings only order the form, and a field collection stands for a group's fields. */
function frontMatterFields(list: Value | undefined, context: FrontMatterContext): SchemaField[] {
  if (context.depth > MAX_DEPTH) return [];
  return itemsOf(list).flatMap((value) => {
    const type = textAt(value, 'type') ?? '';
    if (type === 'divider' || type === 'heading') return [];
    if (type === 'fieldCollection') {
      return frontMatterFields(at(groupOf(textAt(value, 'fieldGroup') ?? '', context), 'fields'), deeper(context));
    }
    const name = textAt(value, 'name');
    if (name === undefined) return [];
    const kind = kinds.get(type);
    const plain = kind ? kind(value, context) : unknownField(name, value, context.warn);
    const one = annotate(plain, value, {
      label: 'title',
      description: 'description',
      default: 'default',
    });
    // Placeholders such as {{now}} are no values.
    if (typeof one.default === 'string' && one.default.includes('{{')) delete one.default;
    return [{ ...(isRequired(value) && one.default === undefined ? one : optional(one)), name }];
  });
}

/** Front Matter CMS: `frontmatter.json`, whose keys are dotted names of settings. */
export const frontMatterReader: SchemaReader = {
  name: 'front_matter_cms',
  async read(reading) {
    const path = findConfig(reading, ['frontmatter'], ['json']);
    const config = path === undefined ? null : await readDataConfig(path, reading);
    if (path === undefined || config === null) return [];
    const setting = (name: string) => at(config, `frontMatter.${name}`);
    readMedia(setting('content.publicFolder'), reading);
    const { root } = reading.layout;
    return [
      ...itemsOf(setting('content.pageFolders')).flatMap((value) => readFolder(value, path, setting, reading)),
      ...itemsOf(setting('data.files')).flatMap((value) =>
        readData(value, oneFile(root, workspace(textAt(value, 'file'))), path, setting, reading),
      ),
      ...itemsOf(setting('data.folders')).flatMap((value) =>
        readData(value, dataFolder(value, root), path, setting, reading),
      ),
    ];
  },
};

type Settings = (name: string) => Value | undefined;

/** `[[workspace]]` is the directory of the configuration. */
const workspace = (path: string | undefined) =>
  path?.replace(/^\[\[workspace\]\]/, '').replace(/^\.?\/+|(?<!\/)\/+$/g, '');

function readMedia(value: Value | undefined, { layout }: SiteReading): void {
  const [folder = textAt(value, 'path')] = textsOf(value);
  if (folder === undefined || layout.mediaRoots !== undefined || folder.includes('..')) return;
  const path = joinPath(layout.root, workspace(folder) ?? '');
  if (path !== '') layout.mediaRoots = [{ path, public_path: textAt(value, 'relative') === undefined ? '/' : null }];
}

function readFolder(value: Value, path: string, setting: Settings, reading: SiteReading): Draft[] {
  const folder = workspace(textAt(value, 'path'));
  const name = collectionName(textAt(value, 'title') ?? folder?.split('/').at(-1) ?? 'pages').toLowerCase();
  const place = placeOf(value, { path, line: 1 });
  if (folder === undefined) return skipCollection(name, 'it has no path', place, reading);
  if (/[*{[]/.test(folder)) return skipCollection(name, 'a path with wildcards is not followed', place, reading);
  const excluded = textsOf(at(value, 'excludePaths'))
    .map((one) => one.replace(/(?<!\/)\/+$/, ''))
    .filter(Boolean);
  const located = folderFiles(reading.layout.root, folder, {
    extensions: [...markdownExtensions],
    except: (base) =>
      union(
        { kind: 'listed', paths: excluded.map((one) => joinPath(base, one)) },
        ...excluded.map((one) => ({ kind: 'folder', base: joinPath(base, one) }) as const),
      ),
    ...(isTrue(at(value, 'excludeSubdir')) ? { depth: 1 } : {}),
  });
  if ('unknown' in located) return skipCollection(name, located.unknown, place, reading);
  const warnings: Warning[] = [];
  const fields = typesOf(value, path, name, setting, warnings);
  const format = textsOf(setting('taxonomy.frontMatterType'))[0]?.toLowerCase();
  const preferred = textsOf(setting('content.defaultFileType'))[0];
  const extensions = [...new Set([...(preferred ? [preferred] : []), ...markdownExtensions])];
  return [
    declare(
      {
        name,
        label: textAt(value, 'title'),
        source: { kind: 'front_matter_cms', path, line: place.line },
        files: located,
        fields,
        warnings,
        infer: fields.length === 0,
        format: format === 'toml' || format === 'json' ? format : undefined,
        extensions,
        template: templateOf(value, setting),
      },
      reading,
    ),
  ];
}

/** The content types a folder allows. */
function typesIn(folder: Value, setting: Settings): Value[] {
  const wanted = textsOf(at(folder, 'contentTypes'));
  const types = itemsOf(setting('taxonomy.contentTypes'));
  return types.filter((type) => wanted.length === 0 || wanted.includes(textAt(type, 'name') ?? ''));
}

/** The date before a file's name, in tokens of date-fns, and the defaults that stand for a value of the entry. */
function templateOf(folder: Value, setting: Settings): EntryTemplate {
  const [type] = typesIn(folder, setting);
  const rules = [at(folder, 'filePrefix'), at(type, 'filePrefix'), setting('templates.prefix')];
  const prefix = textOf(rules.find((rule) => rule !== undefined));
  const values = itemsOf(at(type, 'fields')).flatMap((one): [string, string][] => {
    const [name, fallback] = [textAt(one, 'name'), textAt(one, 'default')];
    return name !== undefined && fallback?.includes('{{') ? [[name, fallback]] : [];
  });
  return {
    ...(prefix && { slug: `${nowAs(prefix.replaceAll('y', 'Y').replaceAll('d', 'D'))}-{{slug}}` }),
    ...(values.length > 0 && { frontmatter: Object.fromEntries(values) }),
  };
}

/** The content types of a folder; of several, a key is required when all of them require it. */
function typesOf(folder: Value, path: string, name: string, setting: Settings, warnings: Warning[]): SchemaField[] {
  const chosen = typesIn(folder, setting);
  const groups = itemsOf(setting('taxonomy.fieldGroups'));
  const context = { groups, draft: setting('content.draftField'), warn: warnTo(warnings, path, name), depth: 0 };
  const read = chosen.map((type) => frontMatterFields(at(type, 'fields'), context));
  if (read.length === 1) return read[0] ?? [];
  const merged = new Map<string, SchemaField>();
  for (const one of read.flat()) {
    const known = merged.get(one.name);
    const everywhere = read.every((fields) => fields.some((other) => other.name === one.name && other.required));
    const same = known === undefined || (known.type === one.type && known.list === one.list);
    const rival: SchemaField = { name: one.name, type: 'any', required: false, list: false };
    merged.set(one.name, same ? { ...one, required: everywhere } : rival);
  }
  return [...merged.values()];
}

function dataFolder(value: Value, root: string): Located {
  const type = textAt(value, 'fileType');
  const extensions = type === 'yaml' || type === 'yml' ? ['yml', 'yaml'] : ['json'];
  return folderFiles(root, workspace(textAt(value, 'path')) ?? '', { extensions });
}

function readData(value: Value, located: Located, path: string, setting: Settings, reading: SiteReading): Draft[] {
  const name = collectionName(textAt(value, 'id') ?? textAt(value, 'title') ?? 'data');
  const place = placeOf(value, { path, line: 1 });
  if ('unknown' in located) return skipCollection(name, located.unknown, place, reading);
  const files: Files = located;
  const type = textAt(value, 'type');
  const shared = itemsOf(setting('data.types')).find((one) => textAt(one, 'id') === type);
  const schema = at(value, 'schema') ?? at(shared, 'schema');
  const warnings: Warning[] = [];
  const read = jsonSchemaFields(schema, warnTo(warnings, path, name));
  return [
    declare(
      {
        name,
        label: textAt(value, 'title'),
        source: { kind: 'front_matter_cms', path, line: place.line },
        files,
        fields: read?.fields ?? [],
        warnings,
        infer: read === null && !files.single,
        lenient: read === null,
        itemsInFile: files.single && !isTrue(at(value, 'singleEntry')),
        identifier: textAt(value, 'labelField'),
        ...(files.single ? { extensions: [extensionOf(files.area)] } : {}),
      },
      reading,
    ),
  ];
}
