import { findDataConfig, readDataConfig } from '../config/config-file.ts';
import { type Declaration, declare } from '../declare.ts';
import { type Files, folderFiles, type Located, oneFile } from '../files.ts';
import type { Draft, SchemaReader, SiteReading } from '../reader.ts';
import type { EntryFormat, SchemaField, Warning } from '../schema.schema.ts';
import { extensionOf, indexNames, markdownExtensions } from '../site-layout.ts';
import { at, countOf, itemsOf, textAt } from '../static/read-value.ts';
import { placeOf, type Value } from '../static/values.ts';
import { decapFields } from './decap-fields.ts';
import { type Languages, languagesOf, localisedPaths } from './decap-i18n.ts';
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

/** Paths of Decap start at the repository, whatever the site's own directory. */
const trimmed = (path: string) => path.replace(/^\.?\/+|\/+$/g, '');

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

/** Last segment of the path template, when it is a fixed name. */
function leafOf(value: Value): string | null {
  const leaf = textAt(value, 'path')?.split('/').at(-1) ?? '{{slug}}';
  return leaf.includes('{{') ? null : leaf;
}

function indexNamesOf(value: Value, { layout }: SiteReading): string[] {
  const own = [leafOf(value), textAt(value, 'meta', 'path', 'index_file'), textAt(value, 'index_file', 'name')];
  return [...new Set([...own.filter((name) => typeof name === 'string'), ...indexNames(layout.framework)])];
}

function locate(
  folder: string,
  value: Value,
  extension: string,
  languages: Languages | null,
  reading: SiteReading,
): Located {
  const deep = (textAt(value, 'path') ?? '').split('/').length;
  const nested = countOf(at(value, 'nested', 'depth')) ?? 0;
  const inFolders = languages?.structure === 'multiple_folders';
  const depth = Math.max(deep, nested) + (inFolders ? 1 : 0);
  const codes = new Set(languages?.rules.codes);
  if (languages?.structure === 'multiple_root_folders') return rootFolders(folder, extension, depth, codes);
  const leaf = leafOf(value);
  const base = trimmed(folder);
  const accepts = (rest: string) => {
    if (leaf === null) return true;
    const stem = rest.slice(rest.lastIndexOf('/') + 1).split('.')[0];
    // Files from before the template was set are entries too, but no new file takes another form than the template's.
    return stem === leaf || reading.present.has(base === '' ? rest : `${base}/${rest}`);
  };
  return folderFiles('', base, { extensions: [extension], depth, accepts });
}

/** `<locale>/<folder>/…`: the collection begins above the languages. */
function rootFolders(folder: string, extension: string, depth: number, codes: ReadonlySet<string>): Located {
  const inner = `${trimmed(folder)}/`;
  const accepts = (rest: string) => {
    const slash = rest.indexOf('/');
    return (
      codes.has(rest.slice(0, slash)) &&
      rest.startsWith(inner, slash + 1) &&
      rest.slice(slash + 1 + inner.length).split('/').length <= depth
    );
  };
  return folderFiles('', '', { extensions: [extension], accepts });
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
      : { base: '', area: '', single: false, matches: (other) => found.some((one) => one.matches(other)) };
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
