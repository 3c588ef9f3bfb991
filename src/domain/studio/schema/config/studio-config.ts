import { skipCollection, type Warn, warnTo } from '../../frameworks/cms/field-tools.ts';
import { declare } from '../declare.ts';
import {
  type Draft,
  folderFiles,
  globFiles,
  type Located,
  oneFile,
  type SchemaReader,
  type SiteReading,
} from '../reader.ts';
import { entryFormats, type SchemaField, studioField, type Warning } from '../schema.schema.ts';
import { extensionOf, joinPath, markdownExtensions, trimmedPath } from '../site-layout.ts';
import {
  at,
  dataOf,
  entriesOf,
  isTrue,
  itemsOf,
  type Place,
  placeOf,
  textAt,
  textsOf,
  type Value,
} from '../static/values.ts';
import { field } from '../zod/field-algebra.ts';
import { codeExtensions, findConfig, readCodeConfig, readDataConfig } from './config-file.ts';
import { jsonSchemaFields } from './json-schema-fields.ts';

const nested = new Set(['fields', 'variants']);

/**
 * A Field list as `studio.config` holds it: the fields of the schema record, where only `name` and `type` must be given; a map of
 * names does as well. What is wrong with one field makes that field `any`.
 */
function listedFields(list: Value, warn: Warn): SchemaField[] {
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

/**
 * The site's own word on its collections: `studio.config.{json,yml,ts,js}`. Per collection `path` (with `pattern`, `exclude`) or
 * `file`, and `fields` or a JSON `schema`; besides `media` and `locales`.
 */
export const studioConfigReader: SchemaReader = {
  name: 'studio_config',
  async read(reading) {
    const path = findConfig(reading, ['studio.config'], ['json', 'yml', 'yaml', ...codeExtensions]);
    if (path === undefined) return [];
    const data = /\.(json|ya?ml)$/.test(path);
    const config =
      (data ? await readDataConfig(path, reading) : (await readCodeConfig(path, reading)).value) ?? undefined;
    if (config === undefined) return [];
    readMedia(at(config, 'media'), reading);
    readLocales(at(config, 'locales'), reading);
    const collections = at(config, 'collections');
    const named: [string | undefined, Value][] =
      collections?.kind === 'list'
        ? collections.items.map((one) => [textAt(one, 'name'), one])
        : entriesOf(collections);
    const place = { path, line: 1 };
    if (named.length === 0 || (collections?.kind === 'record' && collections.parts.some(([name]) => name === null))) {
      const message = 'The configuration has collections that cannot be read, or none';
      reading.warnings.push({
        code: 'schema_unknown',
        message,
        path,
        line: placeOf(collections ?? config, place).line,
      });
    }
    return named.flatMap(([name, value]) => readCollection(name, value, placeOf(value, place), reading));
  },
};

function readMedia(value: Value | undefined, { layout }: SiteReading): void {
  const roots = (value?.kind === 'list' ? value.items : value ? [value] : []).flatMap((one) => {
    const path = textsOf(one)[0] ?? textAt(one, 'path');
    if (path === undefined || path.includes('..')) return [];
    return [
      {
        path: joinPath(layout.root, trimmedPath(path)),
        public_path: textAt(one, 'public_path') ?? null,
      },
    ];
  });
  if (roots.length > 0) layout.mediaRoots = roots.filter((root) => root.path !== '');
}

/** `locales: [en, fr]`, or `{codes, default, placement, default_unmarked}`. */
function readLocales(value: Value | undefined, { layout }: SiteReading): void {
  const codes = textsOf(value?.kind === 'list' ? value : at(value, 'codes'));
  if (codes.length === 0) return;
  layout.locales = {
    codes,
    default: textAt(value, 'default') ?? codes[0] ?? null,
    placement: textAt(value, 'placement') === 'suffix' ? 'suffix' : 'directory',
    default_unmarked: isTrue(at(value, 'default_unmarked')),
  };
}

function locate(value: Value, name: string, root: string): Located {
  const file = textAt(value, 'file');
  if (file !== undefined) return oneFile(root, file);
  const folder = textAt(value, 'path') ?? name;
  const patterns = textsOf(at(value, 'pattern'));
  const excluded = textsOf(at(value, 'exclude')).map((pattern) => `!${pattern}`);
  const extensions = textsOf(at(value, 'extensions'));
  const usual = extensions.length > 0 ? extensions : [...markdownExtensions];
  if (patterns.length + excluded.length === 0) return folderFiles(root, folder, { extensions: usual });
  return globFiles(root, folder, [...(patterns.length > 0 ? patterns : [`**/*.{${usual.join(',')}}`]), ...excluded]);
}

function readFields(value: Value, warn: ReturnType<typeof warnTo>): { fields: SchemaField[]; strict: boolean } | null {
  const listed = at(value, 'fields');
  if (listed) return { fields: listedFields(listed, warn), strict: isTrue(at(value, 'strict')) };
  const read = jsonSchemaFields(at(value, 'schema'), warn);
  if (at(value, 'schema') && read === null) {
    warn(
      'schema_unknown',
      'The schema is no JSON Schema of an object; it is inferred from the entries',
      placeOf(value, { path: '', line: 1 }),
    );
  }
  return read;
}

function readCollection(name: string | undefined, value: Value, place: Place, reading: SiteReading): Draft[] {
  if (name === undefined || value.kind !== 'record') {
    return skipCollection(
      name ?? '',
      value.kind === 'unknown' ? value.reason : 'it has no name or is no object',
      place,
      reading,
    );
  }
  const located = locate(value, name, reading.layout.root);
  if ('unknown' in located) return skipCollection(name, located.unknown, place, reading);
  const warnings: Warning[] = [];
  const read = readFields(value, warnTo(warnings, place.path, name));
  const items = isTrue(at(value, 'items_in_file'));
  const extensions = located.single ? [extensionOf(located.area)] : textsOf(at(value, 'extensions'));
  const media = textAt(value, 'media_path');
  return [
    declare(
      {
        name,
        label: textAt(value, 'label'),
        source: { kind: 'studio_config', path: place.path, line: place.line },
        files: located,
        fields: read?.fields ?? [],
        warnings,
        infer: read === null && !located.single,
        lenient: read === null,
        strict: read?.strict ?? false,
        itemsInFile: items,
        format: entryFormats.find((known) => known === textAt(value, 'format')),
        ...(extensions.length > 0 ? { extensions } : {}),
        identifier: textAt(value, 'identifier_field'),
        mediaPath:
          media === undefined ? undefined : joinPath(reading.layout.root, media.replace(/^\/+|(?<!\/)\/+$/g, '')),
        urlPattern: textAt(value, 'url_pattern'),
        ...(at(value, 'index_names')
          ? { indexNames: itemsOf(at(value, 'index_names')).flatMap((one) => textsOf(one)) }
          : {}),
      },
      reading,
    ),
  ];
}
