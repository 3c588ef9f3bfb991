import { codeExtensions, findConfig, readCodeConfig } from '../config/config-file.ts';
import { declare } from '../declare.ts';
import { entryExtensions, type Files, folderFiles, type Located } from '../files.ts';
import { compileGlob } from '../glob.ts';
import type { Draft, SchemaReader, SiteReading } from '../reader.ts';
import type { EntryFormat, SchemaField, Warning } from '../schema.schema.ts';
import { joinPath } from '../site-layout.ts';
import { at, isTrue, itemsOf, textAt } from '../static/read-value.ts';
import { type Place, placeOf, type Value } from '../static/values.ts';
import { enumOf } from '../zod/field-algebra.ts';
import type { Warn } from './field-tools.ts';
import { noteTo, skipped } from './notes.ts';
import { templatesOf, tinaFields } from './tina-fields.ts';

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
  const inner = (textAt(media, 'mediaRoot') ?? '').replace(/^\/+|\/+$/g, '');
  const path = joinPath(layout.root, folder.replace(/^\.?\/+|\/+$/g, ''), inner);
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
  if (!entryExtensions.has(extension)) return skipped(name, `the format "${extension}" is not known`, place, reading);
  const files: Files | { unknown: string } = locate(value, extension, reading.layout.root);
  if ('unknown' in files) return skipped(name, files.unknown, place, reading);
  const warnings: Warning[] = [];
  const warn = noteTo(warnings, place.path, name);
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
      },
      reading,
    ),
  ];
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
