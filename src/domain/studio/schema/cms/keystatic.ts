import { argumentOf, codeExtensions, findConfig, readCodeConfig } from '../config/config-file.ts';
import { declare } from '../declare.ts';
import { globFiles, type Located, oneFile } from '../files.ts';
import type { Draft, SchemaReader, SiteReading } from '../reader.ts';
import type { EntryFormat, SchemaField, Warning } from '../schema.schema.ts';
import { at, entriesOf, textAt } from '../static/read-value.ts';
import { type Place, placeOf, textOf, type Value } from '../static/values.ts';
import { field } from '../zod/field-algebra.ts';
import { optional } from './field-tools.ts';
import { contentKinds, fieldCall, keystaticFields } from './keystatic-fields.ts';
import { noteTo, skipped } from './notes.ts';

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
    return skipped(name, options?.kind === 'unknown' ? options.reason : 'its options are not known', place, reading);
  }
  const form = formOf(options);
  const usual = single ? `${name}/` : `${name}/*/`;
  const given = at(options, 'path');
  const path = given === undefined ? usual : textOf(given);
  if (path === undefined) return skipped(name, 'its path is not known', place, reading);
  const located = locate(path, form.extension, single, reading.layout.root);
  if ('unknown' in located) return skipped(name, located.unknown, place, reading);
  const warnings: Warning[] = [];
  const fields = keystaticFields(at(options, 'schema'), noteTo(warnings, place.path, name));
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
        indexNames: leaf !== '' && !leaf.includes('*') ? [leaf, 'index'] : ['index'],
      },
      reading,
    ),
  ];
}

/** The name of the entry is stored as plain text, and needed when its own rules say so. */
function slugOf(one: SchemaField, options: Value, name: string): SchemaField {
  const call = fieldCall(at(options, 'schema', name));
  if (call?.name !== 'slug' || contentKinds.has(call.name)) return one;
  const label = textAt(call.call.args[0], 'name', 'label');
  return { ...optional(field('string')), name: one.name, ...(label === undefined ? {} : { label }) };
}
