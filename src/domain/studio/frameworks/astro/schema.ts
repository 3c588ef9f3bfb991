import { findYielding } from '../../../../lib/concurrency.ts';
import { type Declaration, declare } from '../../schema/declare.ts';
import { isWrapper } from '../../schema/inferred-groups.ts';
import { noPaths, without } from '../../schema/path-set.ts';
import {
  type Draft,
  entryExtensions,
  type Files,
  filesOf,
  globFiles,
  type Located,
  oneFile,
  type SchemaReader,
  type SiteReading,
} from '../../schema/reader.ts';
import type { SchemaField, Warning } from '../../schema/schema.schema.ts';
import { below, dataExtensions, joinPath, markdownExtensions } from '../../schema/site-layout.ts';
import { Evaluator } from '../../schema/static/evaluate.ts';
import { loadModules } from '../../schema/static/module-graph.ts';
import { type Place, placeOf, property, type RecordValue, textOf, type Value } from '../../schema/static/values.ts';
import { enumOf, field, hasFields, listOf, mergeFields, unionOf } from '../../schema/zod/field-algebra.ts';
import { Folder } from '../../schema/zod/fold.ts';
import type { LocaleRules } from '../../slug.ts';

const argument = (value: Value | undefined): Value | undefined => (value?.kind === 'call' ? value.args[0] : undefined);
const key = (value: Value | undefined, name: string) => (value?.kind === 'record' ? property(value, name) : undefined);

/** Keys of Starlight's `locales`; the key `root` is the default locale, whose pages lie in no directory. */
function starlightLocales(options: Value | undefined): LocaleRules | null {
  const locales = key(options, 'locales');
  if (locales?.kind !== 'record') return null;
  const names = locales.parts.flatMap(([name]) => (name === null ? [] : [name]));
  const rootLanguage = names.includes('root') ? (textOf(key(property(locales, 'root'), 'lang')) ?? 'en') : null;
  const fallback = rootLanguage ?? textOf(key(options, 'defaultLocale')) ?? null;
  const codes = names.map((name) => (name === 'root' && rootLanguage !== null ? rootLanguage : name));
  return { codes, default: fallback, placement: 'directory', default_unmarked: rootLanguage !== null };
}

/** `i18n.locales` of Astro: codes, or `{path, codes}`. */
function astroLocales(i18n: Value | undefined): LocaleRules | null {
  const locales = key(i18n, 'locales');
  if (locales?.kind !== 'list') return null;
  const codes = locales.items
    .map((item) => textOf(item) ?? textOf(key(item, 'path')))
    .filter((code) => code !== undefined);
  const fallback = textOf(key(i18n, 'defaultLocale')) ?? null;
  return codes.length === 0 ? null : { codes, default: fallback, placement: 'directory', default_unmarked: false };
}

/** The languages that `astro.config.*` declares, of Starlight before Astro's own; null when it declares none that can be read. */
async function readLocales({ site, present, layout, dependencies }: SiteReading): Promise<LocaleRules | null> {
  const names = ['mjs', 'js', 'ts', 'mts', 'cjs'].map((extension) =>
    joinPath(layout.root, `astro.config.${extension}`),
  );
  const path = names.find((name) => present.has(name));
  if (path === undefined) return null;
  // What is unclear in this file concerns the site, not its schemas: only the languages are wanted here.
  const graph = await loadModules(path, site, [], dependencies);
  for (const file of graph.keys()) dependencies.add(file);
  const config = new Evaluator(graph, site.budget).export(path, 'default');
  const options = config?.kind === 'record' ? config : argument(config ?? undefined);
  const integrations = key(options, 'integrations');
  for (const item of integrations?.kind === 'list' ? integrations.items : []) {
    const starlight =
      item.kind === 'call' && item.callee.kind === 'external' && item.callee.module === '@astrojs/starlight';
    const found = starlight ? starlightLocales(item.args[0]) : null;
    if (found) return found;
  }
  return astroLocales(key(options, 'i18n'));
}

const legacyExtensions = { content: [...markdownExtensions], data: [...dataExtensions] } as const;

/** The arguments of a call of `name` from `module`; null for anything else. */
function argumentsOf(value: Value, module: string, name: string): readonly Value[] | null {
  if (value.kind !== 'call' || value.callee.kind !== 'external') return null;
  return value.callee.module === module && value.callee.name === name ? value.args : null;
}

/** Files below `src/content/<name>`, but for names that begin with an underscore. */
function legacyFiles(root: string, name: string, kind: 'content' | 'data' | 'any'): Files {
  const base = joinPath(root, 'src/content', name);
  const extensions = [...(kind === 'any' ? entryExtensions : legacyExtensions[kind])];
  const paths = without({ kind: 'folder', base, extensions }, { kind: 'marked', base, marks: '_.' });
  return filesOf({ base, area: base, single: false, paths });
}

function textsOf(value: Value | undefined): string[] | null {
  const one = textOf(value);
  if (one !== undefined) return [one];
  const all = value?.kind === 'list' ? value.items.map(textOf) : [undefined];
  return all.includes(undefined) ? null : all.filter((text) => text !== undefined);
}

function readGlob(options: Value | undefined, root: string): Located {
  if (options?.kind !== 'record') return { unknown: 'the options of glob() are not known' };
  const patterns = textsOf(property(options, 'pattern'));
  const base = property(options, 'base');
  const directory = base === undefined ? '.' : textOf(base);
  if (patterns === null || directory === undefined) return { unknown: 'the pattern or base of glob() is not known' };
  return globFiles(root, directory, patterns);
}

/** What the `loader` or `type` of a collection says about its files. */
function locateFiles(definition: RecordValue, name: string, root: string): Located {
  const loader = property(definition, 'loader');
  if (loader === undefined) {
    const type = textOf(property(definition, 'type'));
    return legacyFiles(root, name, type === 'data' ? 'data' : 'content');
  }
  const glob = argumentsOf(loader, 'astro/loaders', 'glob');
  if (glob) return readGlob(glob[0], root);
  const file = argumentsOf(loader, 'astro/loaders', 'file');
  if (file) return oneFile(root, textOf(file[0]));
  const starlight = '@astrojs/starlight/loaders';
  if (argumentsOf(loader, starlight, 'docsLoader')) {
    return globFiles(root, 'src/content/docs', ['**/[^_]*.{markdown,mdown,mkdn,mkd,mdwn,md,mdx}']);
  }
  if (argumentsOf(loader, starlight, 'i18nLoader')) {
    return globFiles(root, 'src/content/i18n', ['**/[^_]*.{json,yml,yaml,toml}']);
  }
  return { unknown: loader.kind === 'unknown' ? loader.reason : 'it is no loader of files that is known' };
}

type Shape = Record<string, SchemaField>;

const optional = (one: SchemaField): SchemaField => ({ ...one, required: false });
const object = (shape: Shape): SchemaField =>
  field('object', { fields: Object.entries(shape).map(([name, one]) => ({ ...one, name })) });
const list = (item: SchemaField): SchemaField => listOf(item) ?? field('any', { list: true });
const or = (...alternatives: SchemaField[]) => optional(unionOf(alternatives));

const text = field('string');
const flag = field('boolean');
const heading = optional(field('integer', { min: 1, max: 6 }));
const variant = optional(enumOf(['note', 'danger', 'success', 'caution', 'tip', 'default']));
const badge = or(text, object({ text, variant, class: optional(text) }));
const link = or(flag, text, object({ link: optional(text), label: optional(text) }));
const action = object({
  text,
  link: text,
  variant: optional(enumOf(['primary', 'secondary', 'minimal'])),
  icon: optional(text),
  attrs: optional(field('object')),
});

/** Frontmatter of a Starlight page, as its reference documents it. */
const docsShape: Shape = {
  title: text,
  description: optional(text),
  slug: optional(text),
  editUrl: or(field('link'), flag, text),
  head: optional(list(object({ tag: text, attrs: optional(field('object')), content: optional(text) }))),
  tableOfContents: or(flag, object({ minHeadingLevel: heading, maxHeadingLevel: heading })),
  template: optional({ ...enumOf(['doc', 'splash']), default: 'doc' }),
  hero: optional(
    object({
      title: optional(text),
      tagline: optional(text),
      image: optional(field('any')),
      actions: optional(list(action)),
    }),
  ),
  banner: optional(object({ content: text })),
  lastUpdated: or(field('date', { coerce: true }), flag),
  prev: link,
  next: link,
  pagefind: optional(flag),
  draft: optional({ ...flag, default: false }),
  sidebar: optional(
    object({
      order: optional(field('number')),
      label: optional(text),
      hidden: optional({ ...flag, default: false }),
      badge: badge,
      attrs: optional(field('object')),
    }),
  ),
};

/** `docsSchema({extend})`. */
function starlightDocs(extend: readonly SchemaField[]): SchemaField {
  const base = object(docsShape);
  return { ...base, fields: mergeFields(base.fields ?? [], extend) };
}

/** Stands for the `image` that Astro passes to a schema function. */
const imageFunction: Value = { kind: 'external', module: 'astro:content', name: '(image)' };

const isExternal = (value: Value, module: string, name: string) =>
  value.kind === 'external' && value.module === module && value.name === name;

/** A schema may be given as a function of `{image}`. */
function resolveSchema(value: Value, fold: Folder, place: Place): Value {
  if (value.kind !== 'closure') return value;
  const context: Value = { kind: 'record', parts: [['image', imageFunction]], place };
  return fold.evaluator.apply(value, [context], place);
}

function extension(args: readonly Value[], fold: Folder, place: Place): SchemaField[] {
  const extend = args[0]?.kind === 'record' ? property(args[0], 'extend') : undefined;
  if (extend === undefined) return [];
  const folded = fold.fold(resolveSchema(extend, fold, place), place);
  return hasFields(folded) ? folded.fields : [];
}

/** Schemas of Astro and Starlight beside Zod's own. */
function astroCall(callee: Value, args: readonly Value[], fold: Folder, place: Place): SchemaField | null {
  if (isExternal(callee, 'astro:content', '(image)')) return field('image');
  if (isExternal(callee, 'astro:content', 'reference')) {
    const collection = textOf(args[0]);
    if (collection === undefined) return fold.give('The collection of the reference is not known', place);
    return field('reference', { relation: { collection, multiple: false } });
  }
  // `docsSchema()(context)`: Starlight's schema is a function of the context too.
  if (callee.kind === 'call') return astroCall(callee.callee, callee.args, fold, place);
  if (isExternal(callee, '@astrojs/starlight/schema', 'docsSchema')) return starlightDocs(extension(args, fold, place));
  if (isExternal(callee, '@astrojs/starlight/schema', 'i18nSchema')) {
    return field('object', { fields: extension(args, fold, place) });
  }
  return null;
}

/**
 * The fields of an entry. Of a union of objects: every key of any alternative, required when all require it.
 * @returns null when the schema is no object whose keys are known
 */
function topFields(schema: SchemaField): SchemaField[] | null {
  if (hasFields(schema)) return schema.fields;
  const alternatives = schema.variants?.filter(hasFields) ?? [];
  if (alternatives.length === 0 || alternatives.length !== schema.variants?.length) return null;
  const names = new Set(alternatives.flatMap((one) => one.fields.map((key) => key.name)));
  return [...names].map((name) => {
    const found = alternatives.flatMap((one) => one.fields.filter((key) => key.name === name));
    const everywhere = found.length === alternatives.length && found.every((one) => one.required);
    return { ...unionOf(found), name, required: everywhere };
  });
}

const extensions = ['ts', 'js', 'mjs', 'mts'];
const configNames = ['src/content.config', 'src/content/config'].flatMap((name) =>
  extensions.map((end) => `${name}.${end}`),
);

/** Content collections of Astro: `src/content.config.*`, or `src/content/config.*` of older sites. */
export const astroReader: SchemaReader = {
  name: 'astro',
  async read(reading) {
    const { site, present, layout, warnings, dependencies, settings } = reading;
    const path = configNames.map((name) => joinPath(layout.root, name)).find((name) => present.has(name));
    if (layout.framework === 'astro' && layout.locales === null) layout.locales = await readLocales(reading);
    if (path === undefined) return [];
    const graph = await loadModules(path, site, warnings, dependencies);
    for (const file of graph.keys()) {
      dependencies.add(file);
      settings.add(file);
    }
    const evaluator = new Evaluator(graph, site.budget);
    const collections = evaluator.export(path, 'collections');
    if (collections?.kind !== 'record') {
      const reason = collections?.kind === 'unknown' ? collections.reason : 'it exports no object "collections"';
      const { line } = placeOf(collections ?? { kind: 'scalar', value: null }, { path, line: 1 });
      const message = `The collections cannot be read: ${reason}; they are inferred from the entries`;
      warnings.push({ code: 'schema_unknown', message, path, line });
      return [];
    }
    return readCollections(collections, reading, evaluator);
  },
};

async function readCollections(collections: RecordValue, reading: SiteReading, evaluator: Evaluator): Promise<Draft[]> {
  const drafts = new Map<string, Draft>();
  for (const [name, value] of collections.parts) {
    const place = placeOf(value, collections.place);
    if (name === null) {
      const message = 'Some collections cannot be read; they are inferred from the entries';
      reading.warnings.push({ code: 'schema_unknown', message, path: place.path, line: place.line });
    } else drafts.set(name, await readCollection(name, value, place, reading, evaluator));
  }
  return [...drafts.values()];
}

const isDefinition = (value: Value): value is Extract<Value, { kind: 'call' }> =>
  value.kind === 'call' && value.callee.kind === 'external' && value.callee.name === 'defineCollection';

async function readCollection(
  name: string,
  value: Value,
  place: Place,
  reading: SiteReading,
  evaluator: Evaluator,
): Promise<Draft> {
  const warnings: Warning[] = [];
  const warn = (code: string, message: string, at: Place) =>
    warnings.push({ code, message, path: at.path, line: at.line, collection: name });
  const definition = isDefinition(value) && value.args[0]?.kind === 'record' ? value.args[0] : null;
  if (definition === null) {
    const reason = value.kind === 'unknown' ? value.reason : 'it is no defineCollection({…})';
    warn('schema_unknown', `The collection cannot be read: ${reason}; its schema is inferred from the entries`, place);
  }
  const located: Located = definition
    ? locateFiles(definition, name, reading.layout.root)
    : legacyFiles(reading.layout.root, name, 'any');
  const files = await settle(located, name, reading, (message) => warn('loader_unknown', message, place));
  const fields =
    definition && readFields(definition, evaluator, place, (message, at) => warn('schema_unknown', message, at));
  return draftOf(name, place, files, fields, warnings, reading);
}

/** An unknown loader leaves Astro's usual directory, if it exists; else the collection has no files here. */
async function settle(
  located: Located,
  name: string,
  { paths, layout }: SiteReading,
  warn: (message: string) => void,
): Promise<Files> {
  if (!('unknown' in located)) return located;
  const usual = legacyFiles(layout.root, name, 'any');
  if ((await findYielding(paths, usual.matches)) !== undefined) {
    warn(`The loader cannot be read: ${located.unknown}; the files of ${usual.base} are taken`);
    return usual;
  }
  warn(`The loader cannot be read: ${located.unknown}; the collection has no files in the repository`);
  return filesOf({ ...usual, paths: noPaths });
}

interface Read {
  fields: SchemaField[];
  strict: boolean;
}

function readFields(
  definition: RecordValue,
  evaluator: Evaluator,
  place: Place,
  warn: (message: string, at: Place) => void,
): Read | null {
  const schema = property(definition, 'schema');
  if (schema === undefined) return null;
  const seen = new Set<string>();
  const folder = new Folder(evaluator, astroCall, (message, at) => {
    const once = `${at.path}:${at.line}:${message}`;
    if (!seen.has(once) && seen.size < 100) warn(message, at);
    seen.add(once);
  });
  // `schema: docsSchema` without a call is a function of the context as well.
  const folded = folder.fold(resolveSchema(schema, folder, place), place);
  const fields = topFields(folded);
  if (fields === null)
    warn('The schema is not an object whose keys are known; it is inferred from the entries', placeOf(schema, place));
  return fields && { fields, strict: folded.strict === true };
}

function draftOf(
  name: string,
  place: Place,
  files: Files,
  read: Read | null,
  warnings: Warning[],
  reading: SiteReading,
): Draft {
  const area = below(reading.layout.root, files.area) ?? '';
  const declaration: Declaration = {
    name,
    source: { kind: 'astro', path: place.path, line: place.line },
    files,
    fields: read?.fields ?? [],
    warnings,
    infer: read === null && !files.single,
    lenient: read === null,
    strict: read?.strict ?? false,
    itemsInFile: files.single,
    indexNames: ['index'],
    rejects: isWrapper(area) || files.single ? noPaths : without({ kind: 'folder', base: files.area }, files.paths),
  };
  return declare(declaration, reading);
}
