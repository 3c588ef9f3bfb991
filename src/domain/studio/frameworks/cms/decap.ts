import { Pace } from '../../../../lib/concurrency.ts';
import { tally } from '../../../../ports/tally.ts';
import type { MediaRoot } from '../../schema/collection-schema.ts';
import { findDataConfig, readDataConfig } from '../../schema/config/config-file.ts';
import { type Declaration, declare } from '../../schema/declare.ts';
import { type EntryTemplate, nowAs } from '../../schema/entry-template.ts';
import { membership, type PathSet, union } from '../../schema/path-set.ts';
import {
  type Draft,
  type Files,
  filesOf,
  folderFiles,
  type Located,
  oneFile,
  type SchemaReader,
  type SiteReading,
} from '../../schema/reader.ts';
import type { EntryFormat, SchemaField, Warning } from '../../schema/schema.schema.ts';
import { decapConfig, extensionOf, indexNames, joinPath, trimmedPath } from '../../schema/site-layout.ts';
import {
  at,
  countOf,
  entriesOf,
  isFalse,
  isTrue,
  itemsOf,
  placeOf,
  textAt,
  textOf,
  textsOf,
  type Value,
} from '../../schema/static/values.ts';
import { field, unionOf } from '../../schema/zod/field-algebra.ts';
import type { LocaleRules } from '../../slug.ts';
import {
  annotate,
  blockOf,
  bounded,
  choice,
  flagAt,
  manyOf,
  objectOf,
  optional,
  skipCollection,
  unknownPlace,
  type Warn,
  warnTo,
  withEditor,
  withoutBody,
} from './field-tools.ts';

interface Languages {
  rules: LocaleRules;
  /** `single_file`: one file holds every language under its code. */
  structure: 'multiple_folders' | 'multiple_files' | 'multiple_root_folders' | 'single_file';
}

const structures = new Map<string, Languages['structure']>([
  ['multiple_folders', 'multiple_folders'],
  ['multiple_files', 'multiple_files'],
  ['multiple_folders_i18n_root', 'multiple_root_folders'],
  ['multiple_root_folders', 'multiple_root_folders'],
  ['single_file', 'single_file'],
]);

/** The languages of a collection: its own `i18n` over that of the whole configuration; null when it has none. */
function languagesOf(config: Value, own: Value | undefined): Languages | null {
  if (own === undefined || !(isTrue(own) || own.kind === 'record')) return null;
  const whole = new Map([...entriesOf(at(config, 'i18n')), ...entriesOf(own)]);
  const codes = textsOf(whole.get('locales'));
  const named = whole.get('structure');
  const structure = structures.get((named?.kind === 'scalar' && String(named.value)) || 'multiple_folders');
  if (codes.length === 0 || structure === undefined) return null;
  const [first = null] = codes;
  const fallback = whole.get('default_locale') ?? whole.get('defaultLocale');
  const unmarked = [...whole].some(([key, value]) => key.startsWith('omit_default_locale_from_file') && isTrue(value));
  const rules: LocaleRules = {
    codes,
    default: fallback?.kind === 'scalar' && typeof fallback.value === 'string' ? fallback.value : first,
    placement: structure === 'multiple_files' ? 'suffix' : 'directory',
    default_unmarked: unmarked,
  };
  return { rules, structure };
}

/** The paths `{{locale}}` in a file's path stands for. */
function localisedPaths(path: string, languages: Languages | null): string[] {
  const mark = /\{\{\s*locale\s*\}\}/g;
  if (!mark.test(path)) return [path];
  return (languages?.rules.codes ?? []).map((code) => path.replace(mark, () => code));
}

/** Last segment of the path template, when it is a fixed name. */
function leafOf(value: Value): string | null {
  const leaf = textAt(value, 'path')?.split('/').at(-1) ?? '{{slug}}';
  return leaf.includes('{{') ? null : leaf;
}

/** Names that make a file the entry of its folder: those the collection sets, and the framework's. */
function indexNamesOf(value: Value, { layout }: SiteReading): string[] {
  const own = [leafOf(value), textAt(value, 'meta', 'path', 'index_file'), textAt(value, 'index_file', 'name')];
  return [...new Set([...own.filter((name) => typeof name === 'string'), ...indexNames(layout.framework)])];
}

/**
 * So many files of another form than the template's are listed one by one. With more the template says little, and a configuration may declare
 * hundreds of collections of 200,000 files each.
 */
const mostListed = 1_000;

/** The files of a folder collection, whatever the template of its paths. */
function locate(folder: string, value: Value, extension: string, languages: Languages | null): Located {
  const deep = (textAt(value, 'path') ?? '').split('/').length;
  const nested = countOf(at(value, 'nested', 'depth')) ?? 0;
  const inFolders = languages?.structure === 'multiple_folders';
  const depth = Math.max(deep, nested) + (inFolders ? 1 : 0);
  const codes = new Set(languages?.rules.codes);
  if (languages?.structure === 'multiple_root_folders') return rootFolders(folder, extension, depth, codes);
  return folderFiles('', trimmedPath(folder), { extensions: [extension], depth });
}

/**
 * Keeps the files whose name is the one the template gives to all. Files from before the template was set are entries too, but no new file takes
 * another form than the template's.
 */
async function settleLeaf({ schema }: Draft, leaf: string, paths: readonly string[]): Promise<void> {
  const stem: PathSet = { kind: 'stem', stem: leaf };
  const [isStem, { matches }] = [membership(stem), schema];
  const others: string[] = [];
  const pace = new Pace();
  for (const path of paths) {
    tally.compare.publish(path);
    if (matches(path) && !isStem(path)) others.push(path);
    if (others.length > mostListed) return;
    if (pace.isDue) await pace.yield();
  }
  const only = others.length === 0 ? stem : union(stem, { kind: 'listed', paths: others });
  schema.paths = { kind: 'intersection', of: [schema.paths, only] };
  schema.matches = membership(schema.paths);
}

/** `<locale>/<folder>/…`: the collection begins above the languages. */
function rootFolders(folder: string, extension: string, depth: number, codes: ReadonlySet<string>): Located {
  const inner = trimmedPath(folder);
  const only = () =>
    union(...[...codes].map((code): PathSet => ({ kind: 'folder', base: joinPath(code, inner), depth })));
  return folderFiles('', '', { extensions: [extension], only });
}

type Widget = (value: Value, warn: Warn) => SchemaField;

const isMultiple = (value: Value) => isTrue(at(value, 'multiple'));
const maybeMany = (value: Value, one: SchemaField) => (isMultiple(value) ? bounded(manyOf(one), value) : one);

/** Text; the pattern is `[expression, message]`. */
const text: Widget = (value) => {
  const pattern = textOf(itemsOf(at(value, 'pattern'))[0]);
  const lengths = bounded(field('string'), value, 'minlength', 'maxlength');
  return pattern === undefined ? lengths : { ...lengths, pattern };
};

const number: Widget = (value) => {
  const type = textAt(value, 'value_type') ?? 'string';
  const one = bounded(field(type === 'int' ? 'integer' : 'number'), value);
  // Without a type of number the widget stores the digits as text.
  return type === 'int' || type === 'float' ? one : { ...one, coerce: true };
};

/** A format other than ISO makes the value a text of that form. */
const date: Widget = (value) => {
  const formats = ['format', 'date_format', 'time_format'].map((key) => at(value, key));
  if (textAt(value, 'widget') === 'date' || isFalse(formats[2])) {
    return isIso(textOf(formats[0]) ?? textOf(formats[1])) ? field('date', { coerce: true }) : field('string');
  }
  if (isFalse(formats[1])) return field('string');
  return isIso(textOf(formats[0])) ? field('datetime', { coerce: true }) : field('string');
};
const isIso = (format: string | undefined) => format === undefined || /^Y{4}-MM-DD/i.test(format);

/** Several files are a setting of the widget or of the media library. */
const media =
  (type: 'image' | 'file'): Widget =>
  (value) => {
    const library = at(value, 'media_library', 'config');
    const many = isMultiple(value) || isTrue(at(library, 'multiple'));
    return many ? { ...unionOf([field(type), manyOf(field(type))]) } : field(type);
  };

/** A relation is a reference when it stores the slug; any other stored value is text that names nothing here. */
const relation: Widget = (value, warn) => {
  const collection = textAt(value, 'collection');
  const stored = textAt(value, 'value_field') ?? textAt(value, 'valueField');
  const bySlug = stored !== undefined && /^(\{\{\s*(slug|filename)\s*\}\}|slug)$/.test(stored);
  if (collection !== undefined && bySlug && textAt(value, 'file') === undefined) {
    return maybeMany(value, field('reference', { relation: { collection, multiple: isMultiple(value) } }));
  }
  const message = `The relation "${textAt(value, 'name') ?? ''}" stores a value, not the name of an entry; it is not checked`;
  warn('relation_unchecked', message, placeOf(value, unknownPlace));
  return maybeMany(value, field('any'));
};

const kinds = (value: Value, warn: Warn) =>
  itemsOf(at(value, 'types')).flatMap((type) => {
    const name = textAt(type, 'name');
    return name === undefined
      ? []
      : [{ name, label: textAt(type, 'label'), fields: decapFields(itemsOf(at(type, 'fields')), warn) }];
  });
const typeKey = (value: Value) => textAt(value, 'typeKey') ?? textAt(value, 'type_key') ?? 'type';

const object: Widget = (value, warn) =>
  at(value, 'types')
    ? blockOf(kinds(value, warn), typeKey(value))
    : objectOf(decapFields(itemsOf(at(value, 'fields')), warn));

const list: Widget = (value, warn) => {
  const single = at(value, 'field');
  if (at(value, 'types')) return bounded(manyOf(blockOf(kinds(value, warn), typeKey(value))), value);
  if (at(value, 'fields')) return bounded(manyOf(objectOf(decapFields(itemsOf(at(value, 'fields')), warn))), value);
  if (single === undefined) return bounded(manyOf(field('string', { coerce: true })), value);
  return bounded(manyOf(decapFields([single], warn)[0] ?? field('any')), value);
};

const code: Widget = (value) => {
  if (isTrue(at(value, 'output_code_only'))) return field('text');
  const keys = [textAt(value, 'keys', 'code') ?? 'code', textAt(value, 'keys', 'lang') ?? 'lang'];
  return objectOf(keys.map((name) => ({ ...field('text'), name, required: false })));
};

const select: Widget = (value) => maybeMany(value, choice(itemsOf(at(value, 'options'))));
const plain =
  (one: SchemaField): Widget =>
  () =>
    one;

const widgets = new Map<string, Widget>([
  ['string', text],
  ['text', (value, warn) => ({ ...text(value, warn), type: 'text' })],
  ['markdown', plain(field('markdown'))],
  ['richtext', plain(field('markdown'))],
  ['number', number],
  ['boolean', plain(field('boolean'))],
  ['date', date],
  ['datetime', date],
  ['image', media('image')],
  ['file', media('file')],
  ['relation', relation],
  ['select', select],
  ['object', object],
  ['list', list],
  ['code', code],
  ['color', plain(field('string'))],
  ['map', plain(field('any'))],
  ['hidden', plain(field('any'))],
  ['uuid', plain(field('string'))],
  ['compute', plain(field('any'))],
  ['keyvalue', plain(field('object'))],
]);

/** `{{now}}` stands for a value and is none. */
const isPlaceholder = (value: unknown) => typeof value === 'string' && value.includes('{{');

const shownAs = new Map([
  ['color', 'color' as const],
  ['hidden', 'hidden' as const],
]);

/** Whether a folder is no directory of the repository, or not the same one for all entries: it leads up, or has a placeholder left. */
const isNoDirectory = (folder: string) => /\{\{|(?:^|\/)\.\.(?:\/|$)/.test(folder);

/** Only a folder from the top of the repository is one for all entries. */
const fieldMedia = (value: Value) => {
  const folder = textAt(value, 'media_folder');
  return folder?.startsWith('/') && !isNoDirectory(folder) ? trimmedPath(folder) : undefined;
};

const editorOf = (value: Value) => ({
  media_path: fieldMedia(value),
  widget: shownAs.get(textAt(value, 'widget') ?? ''),
  read_only: flagAt(value, 'readonly'),
  collapsed: flagAt(value, 'collapsed'),
  minimized: flagAt(value, 'minimize_collapsed'),
  summary: textAt(value, 'summary'),
  item_label: textAt(value, 'label_singular'),
  pattern_message: textOf(itemsOf(at(value, 'pattern'))[1]),
});

/** The fields of one level. Everything is required unless it says otherwise, or has a default. */
function decapFields(values: readonly Value[], warn: Warn): SchemaField[] {
  return values.flatMap((value) => {
    const name = textAt(value, 'name');
    if (name === undefined) return [];
    const kind = textAt(value, 'widget') ?? 'string';
    const widget = widgets.get(kind);
    if (widget === undefined) {
      warn('widget_unknown', `The widget "${kind}" is not known; any value is accepted`, placeOf(value, unknownPlace));
    }
    const annotated = annotate(widget?.(value, warn) ?? field('any'), value, {
      label: 'label',
      description: 'hint',
      default: 'default',
    });
    const made = withEditor(annotated, editorOf(value));
    const hasDefault = made.default !== undefined;
    if (isPlaceholder(made.default)) delete made.default;
    const given = hasDefault || isFalse(at(value, 'required')) || made.type === 'boolean';
    return [given ? { ...optional(made), name } : { ...made, name }];
  });
}

/** Decap, Sveltia, Static and Netlify CMS: `admin/config.{yml,toml,json}` in the site's static directory. */
export const decapReader: SchemaReader = {
  name: 'decap',
  async read(reading) {
    const path = await findDataConfig(reading, decapConfig, 'admin/config.');
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
  if (layout.mediaRoots !== undefined) return;
  const owners = [config, ...itemsOf(at(config, 'collections'))];
  const files = [...owners.flatMap((one) => itemsOf(at(one, 'files'))), ...itemsOf(at(config, 'singletons'))];
  const roots = new Map<string, MediaRoot>();
  for (const one of [...owners, ...files]) {
    const beside = mediaPathOf(one, config);
    const own = one === config ? siteMedia(config) : ownMedia(one, config);
    const root = own ?? (beside === undefined ? null : { path: beside, public_path: null });
    if (root && !roots.has(root.path)) roots.set(root.path, root);
  }
  if (roots.size > 0) layout.mediaRoots = [...roots.values()].slice(0, mostRoots);
}

const mostRoots = 100;

/** The site's own media; null where it is not in one directory of the repository. */
function siteMedia(config: Value): MediaRoot | null {
  const folder = textAt(config, 'media_folder') ?? '';
  const path = trimmedPath(folder);
  if (path === '' || isNoDirectory(folder)) return null;
  return { path, public_path: textAt(config, 'public_folder') ?? `/${path}` };
}

/**
 * Where a collection, a file or a field keeps its media, when that begins at the top of the repository; null for a folder beside the entry, and
 * where a placeholder is left that only an entry fills.
 */
function ownMedia(value: Value, config: Value): MediaRoot | null {
  const site = siteMedia(config);
  const filled = (key: 'media_folder' | 'public_folder', whole: string | null) =>
    textAt(value, key)?.replace(/\{\{\s*(media_folder|public_folder)\s*\}\}/g, (text, name) => {
      return name === key && whole !== null ? trimmedPath(whole) : text;
    });
  const folder = filled('media_folder', site?.path ?? null);
  if (!folder?.startsWith('/') || isNoDirectory(folder) || trimmedPath(folder) === '') return null;
  const path = trimmedPath(folder);
  const published = filled('public_folder', site?.public_path ?? null);
  if (published === undefined) return { path, public_path: folder };
  return { path, public_path: published.includes('{{') ? null : `/${trimmedPath(published)}` };
}

/** Where new files of a collection come to: a directory of their own, or one beside its entries where these lie in one directory. */
function mediaPathOf(value: Value, config: Value): string | undefined {
  const own = ownMedia(value, config)?.path;
  const folder = textAt(value, 'media_folder');
  if (own !== undefined || folder === undefined || folder.startsWith('/')) return own;
  const entries = textAt(value, 'folder');
  const isNested = textAt(value, 'path') !== undefined || at(value, 'nested') !== undefined;
  if (entries === undefined || isNested || isNoDirectory(folder)) return undefined;
  return joinPath(trimmedPath(entries), trimmedPath(folder));
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
      : locate(folder, value, form.extension, languages);
  if ('unknown' in located) return skipCollection(name, located.unknown, { path, line }, reading);
  const warnings: Warning[] = [];
  const warn = warnTo(warnings, path, name);
  const filtered = at(value, 'filter') !== undefined;
  if (filtered) {
    warn(
      'filter_ignored',
      'The filter cannot be matched by path: every file of the folder is listed, and faults only warn',
    );
  }
  const { fields, body } = withoutBody(decapFields(itemsOf(at(value, 'fields')), warn), form.extension);
  const single = languages?.structure === 'single_file';
  const draft = declare(
    {
      ...common(name, value, { config, place: { path, line }, files: located, warnings }),
      fields: single ? perLanguage(fields, languages) : fields,
      lenient: filtered,
      format: form.format,
      extensions: [form.extension],
      indexNames: indexNamesOf(value, reading),
      template: { ...templateOf(value, config, single), ...(body !== undefined && { body }) },
      locales: single ? null : (languages?.rules ?? reading.layout.locales),
    },
    reading,
  );
  const leaf = leafOf(value);
  if (leaf === null || languages?.structure === 'multiple_root_folders') return [draft];
  reading.readsListing = true;
  draft.settle = (paths) => settleLeaf(draft, leaf, paths);
  return [draft];
}

interface Found {
  config: Value;
  place: { path: string; line: number };
  files: Files;
  warnings: Warning[];
}

function common(name: string, value: Value, { config, place, files, warnings }: Found) {
  return {
    name,
    label: textAt(value, 'label'),
    source: { kind: 'decap', ...place },
    files,
    warnings,
    identifier: textAt(value, 'identifier_field'),
    mediaPath: mediaPathOf(value, config),
  } satisfies Partial<Declaration>;
}

/**
 * The name of a new entry is the `slug` pattern, laid into the `path` one, whose fixed last segment is the file that stands for the folder. A date
 * without a default is the present one.
 */
function templateOf(value: Value, config: Value, perLanguage: boolean): EntryTemplate {
  const name = textAt(value, 'slug') ?? '{{slug}}';
  const segments = (textAt(value, 'path') ?? '').split('/').filter((segment) => segment !== '');
  if (leafOf(value) !== null) segments.pop();
  const path = segments.join('/').replace(/\{\{\s*(?:slug|filename)\s*\}\}/g, () => name);
  const dates = itemsOf(perLanguage ? undefined : at(value, 'fields')).flatMap((one): [string, string][] => {
    const [key, kind, fallback] = [textAt(one, 'name'), textAt(one, 'widget'), at(one, 'default')];
    const isDate = kind === 'date' || kind === 'datetime';
    if (key === undefined || !isDate || (fallback !== undefined && !isPlaceholder(textOf(fallback)))) return [];
    const form = textAt(one, 'format') ?? textAt(one, 'date_format');
    const isDay = kind === 'date' || isFalse(at(one, 'time_format'));
    return [[key, form ? nowAs(form) : isDay ? nowAs('YYYY-MM-DD') : '{{now}}']];
  });
  const rules = at(config, 'slug');
  const isAscii = textAt(rules, 'encoding') === 'ascii';
  return {
    slug: path === '' ? name : path,
    ...(isAscii ? { letters: 'ascii' } : isTrue(at(rules, 'clean_accents')) ? { letters: 'unaccented' } : {}),
    ...(dates.length > 0 && { frontmatter: Object.fromEntries(dates) }),
  };
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
  const paths = localisedPaths(textAt(value, 'file') ?? '', languages).map((one) => oneFile('', trimmedPath(one)));
  const unknown = paths.find((one) => 'unknown' in one);
  if (unknown && 'unknown' in unknown) return skipCollection(full, unknown.unknown, { path, line }, reading);
  const found = paths.filter((one): one is Files => !('unknown' in one));
  const [first] = found;
  if (first === undefined) return skipCollection(full, 'it names no file', { path, line }, reading);
  const files: Files =
    found.length === 1
      ? first
      : filesOf({ base: '', area: '', single: false, paths: union(...found.map((one) => one.paths)) });
  const warnings: Warning[] = [];
  const extension = extensionOf(first.area);
  const { fields } = withoutBody(decapFields(itemsOf(at(value, 'fields')), warnTo(warnings, path, full)), extension);
  const label = [parent && textAt(parent, 'label'), textAt(value, 'label') ?? name].filter(Boolean).join(': ');
  const single = languages?.structure === 'single_file';
  const declaration: Declaration = {
    ...common(full, value, { config, place: { path, line }, files, warnings }),
    label,
    fields: single ? perLanguage(fields, languages) : fields,
    format: formats[textAt(value, 'format') ?? extension]?.format,
    extensions: [extension],
    locales: null,
  };
  return [declare(declaration, reading)];
}
