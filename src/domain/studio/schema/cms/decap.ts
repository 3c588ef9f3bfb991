import { findDataConfig, readDataConfig } from '../config/config-file.ts';
import { type Declaration, declare } from '../declare.ts';
import { type Files, filesOf, type Located, oneFile } from '../files.ts';
import { union } from '../path-set.ts';
import type { Draft, SchemaReader, SiteReading } from '../reader.ts';
import type { EntryFormat, SchemaField, Warning } from '../schema.schema.ts';
import { extensionOf, markdownExtensions } from '../site-layout.ts';
import { at, itemsOf, textAt } from '../static/read-value.ts';
import { placeOf, type Value } from '../static/values.ts';
import { decapFields } from './decap-fields.ts';
import { type Languages, languagesOf, localisedPaths } from './decap-i18n.ts';
import { indexNamesOf, locate, trimmed } from './decap-places.ts';
import { objectOf } from './field-tools.ts';
import { noteTo, skipped } from './notes.ts';

/** Decap, Sveltia, Static and Netlify CMS: `admin/config.{yml,toml,json}` in the site's static directory. */
export const decapReader: SchemaReader = {
  name: 'decap',
  async read(reading) {
    const path = findDataConfig(reading, /(^|\/)admin\/config\.(ya?ml|toml|json)$/, 'admin/config.');
    const config = path === undefined ? null : await readDataConfig(path, reading);
    // Many things are configured in an `admin` directory: this is the CMS when it says where content is.
    if (path === undefined || config === null || !(at(config, 'collections') || at(config, 'singletons'))) return [];
    readMedia(config, reading);
    const drafts = itemsOf(at(config, 'collections')).flatMap((value) => readCollection(value, config, path, reading));
    const singletons = itemsOf(at(config, 'singletons')).flatMap((value) =>
      readFile(value, null, config, path, reading),
    );
    return [...drafts, ...singletons];
  },
};

function readMedia(config: Value, { layout }: SiteReading): void {
  const folder = textAt(config, 'media_folder');
  if (folder === undefined || layout.mediaRoots !== undefined || /\{\{|\.\.\//.test(folder)) return;
  const path = trimmed(folder);
  if (path !== '') layout.mediaRoots = [{ path, public_path: textAt(config, 'public_folder') ?? `/${path}` }];
}

const formats: Record<string, { extension: string; format: EntryFormat }> = {
  yml: { extension: 'yml', format: 'yaml' },
  yaml: { extension: 'yml', format: 'yaml' },
  toml: { extension: 'toml', format: 'toml' },
  json: { extension: 'json', format: 'json' },
  frontmatter: { extension: 'md', format: 'yaml' },
  'yaml-frontmatter': { extension: 'md', format: 'yaml' },
  'toml-frontmatter': { extension: 'md', format: 'toml' },
  'json-frontmatter': { extension: 'md', format: 'json' },
};

/** Extension and metadata language of a folder, each following from the other when one is missing. */
function formOf(value: Value): { extension: string; format: EntryFormat } {
  const named = formats[textAt(value, 'format') ?? ''] ?? null;
  const extension = textAt(value, 'extension')?.replace(/^\./, '') ?? named?.extension ?? 'md';
  return { extension, format: named?.format ?? formats[extension]?.format ?? 'yaml' };
}

const isMarkdown = (extension: string) => markdownExtensions.some((known) => known === extension);

/** The field `body` of a Markdown file is what stands below its frontmatter. */
function withoutBody(fields: SchemaField[], extension: string): SchemaField[] {
  return isMarkdown(extension) ? fields.filter((one) => one.name !== 'body') : fields;
}

function readCollection(value: Value, config: Value, path: string, reading: SiteReading): Draft[] {
  const name = textAt(value, 'name');
  if (name === undefined) return [];
  const files = at(value, 'files');
  if (files) return itemsOf(files).flatMap((file) => readFile(file, value, config, path, reading));
  const { line } = placeOf(value, { path, line: 1 });
  const folder = textAt(value, 'folder');
  const languages = languagesOf(config, at(value, 'i18n'));
  const form = formOf(value);
  const located: Located =
    folder === undefined
      ? { unknown: 'it has neither folder nor files' }
      : locate(folder, value, form.extension, languages, reading);
  if ('unknown' in located) return skipped(name, located.unknown, { path, line }, reading);
  const warnings: Warning[] = [];
  const warn = noteTo(warnings, path, name);
  const filtered = at(value, 'filter') !== undefined;
  if (filtered) {
    warn(
      'filter_ignored',
      'The filter cannot be told from a path: every file of the folder is here, and faults only warn',
    );
  }
  const fields = withoutBody(decapFields(itemsOf(at(value, 'fields')), warn), form.extension);
  const single = languages?.structure === 'single_file';
  return [
    declare(
      {
        ...common(name, value, { path, line }, located, warnings),
        fields: single ? perLanguage(fields, languages) : fields,
        lenient: filtered,
        format: form.format,
        extensions: [form.extension],
        indexNames: indexNamesOf(value, reading),
        locales: single ? null : (languages?.rules ?? reading.layout.locales),
      },
      reading,
    ),
  ];
}

function common(name: string, value: Value, at: { path: string; line: number }, files: Files, warnings: Warning[]) {
  const media = textAt(value, 'media_folder');
  return {
    name,
    label: textAt(value, 'label'),
    source: { kind: 'decap', ...at },
    files,
    warnings,
    identifier: textAt(value, 'identifier_field'),
    mediaPath: media?.startsWith('/') && !media.includes('{{') ? trimmed(media) : undefined,
  } satisfies Partial<Declaration>;
}

const perLanguage = (fields: SchemaField[], languages: Languages): SchemaField[] =>
  languages.rules.codes.map((name) => ({ ...objectOf(fields), name, required: name === languages.rules.default }));

/** A file of a file collection has fields of its own, so it is a collection of its own: `<collection>.<file>`. */
function readFile(value: Value, parent: Value | null, config: Value, path: string, reading: SiteReading): Draft[] {
  const name = textAt(value, 'name');
  if (name === undefined) return [];
  const full = parent === null ? name : `${textAt(parent, 'name')}.${name}`;
  const { line } = placeOf(value, { path, line: 1 });
  const languages = languagesOf(config, at(value, 'i18n') ?? (parent ? at(parent, 'i18n') : undefined));
  const paths = localisedPaths(textAt(value, 'file') ?? '', languages).map((one) => oneFile('', trimmed(one)));
  const unknown = paths.find((one) => 'unknown' in one);
  if (unknown && 'unknown' in unknown) return skipped(full, unknown.unknown, { path, line }, reading);
  const found = paths.filter((one): one is Files => !('unknown' in one));
  const [first] = found;
  if (first === undefined) return skipped(full, 'it names no file', { path, line }, reading);
  const files: Files =
    found.length === 1
      ? first
      : filesOf({ base: '', area: '', single: false, paths: union(...found.map((one) => one.paths)) });
  const warnings: Warning[] = [];
  const extension = extensionOf(first.area);
  const fields = withoutBody(decapFields(itemsOf(at(value, 'fields')), noteTo(warnings, path, full)), extension);
  const label = [parent && textAt(parent, 'label'), textAt(value, 'label') ?? name].filter(Boolean).join(': ');
  const single = languages?.structure === 'single_file';
  const declaration: Declaration = {
    ...common(full, value, { path, line }, files, warnings),
    label,
    fields: single ? perLanguage(fields, languages) : fields,
    format: formats[textAt(value, 'format') ?? extension]?.format,
    extensions: [extension],
    locales: null,
  };
  return [declare(declaration, reading)];
}
