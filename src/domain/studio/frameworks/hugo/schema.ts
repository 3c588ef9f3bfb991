import { filterYielding, forEachYielding } from '../../../../lib/concurrency.ts';
import { parseFile } from '../../frontmatter/parse-file.ts';
import { joinSplit, splitFile } from '../../frontmatter/split.ts';
import { hugoPage } from '../../schema/built-in-fields.ts';
import { besidePages, declare } from '../../schema/declare.ts';
import { type EntryTemplate, nowAs } from '../../schema/entry-template.ts';
import { inferFields } from '../../schema/infer-fields.ts';
import { collectionName } from '../../schema/inferred-groups.ts';
import { noPaths, type PathSet, union, without } from '../../schema/path-set.ts';
import {
  type Draft,
  type Files,
  filesOf,
  folderFiles,
  type SchemaReader,
  type SiteReading,
} from '../../schema/reader.ts';
import type { EntryFormat, SchemaField } from '../../schema/schema.schema.ts';
import { below, dataExtensions, joinPath, markdownExtensions } from '../../schema/site-layout.ts';
import { dataOf, fromPlain, type Value } from '../../schema/static/values.ts';
import { field, listOf } from '../../schema/zod/field-algebra.ts';
import { cascadeValues, type HugoSite, readHugoSite } from './settings.ts';

const MAX_ARCHETYPES = 100;
const MAX_TEXT = 256 * 1024;
/** What an action stands for that is not known here: a placeholder nothing fills. */
const unfilled = '{{-}}';

const nameOf = /^(?:\.File)?\.(?:Name|ContentBaseName|TranslationBaseName|BaseFileName)$/;
const nameFunctions = /^(?:replace|strings\.Replace|title|strings\.Title|humanize|inflect\.Humanize)$/;

/** Go's reference time in the tokens of placeholders. */
const goForm = (layout: string) =>
  layout.replace(/Z07:00|-07:00/g, 'Z').replace(/2006|01|02|15|04|05/g, (digits) => {
    return { 2006: 'YYYY', '01': 'MM', '02': 'DD', 15: 'HH', '04': 'mm', '05': 'ss' }[digits] ?? '';
  });

/** The placeholder that stands for a template action, which is not run: names and dates are known, anything else is left out. */
function placeholderOf(action: string, section: string): string {
  const expression = action.replace(/^\{\{-?|-?\}\}$/g, '').trim();
  if (/^(?:\.Date|now|time\.Now)$/.test(expression)) return '{{now}}';
  const layout =
    /^(?:now|time\.Now|\.Date)\.Format\s+["'`]([^"'`]*)["'`]$/.exec(expression)?.[1] ??
    /^(?:dateFormat|time\.Format)\s+["'`]([^"'`]*)["'`]\s+(?:\.Date|now|time\.Now)$/.exec(expression)?.[1] ??
    /^(?:\.Date|now|time\.Now)\s*\|\s*(?:dateFormat|time\.Format)\s+["'`]([^"'`]*)["'`]$/.exec(expression)?.[1];
  if (layout !== undefined) return nowAs(goForm(layout));
  if (expression === '.Type' || expression === '.Section') return section || unfilled;
  const words = expression
    .replace(/"[^"]*"|`[^`]*`|'[^']*'/g, ' ')
    .split(/[\s()|]+/)
    .filter(Boolean);
  const isName = words.some((word) => nameOf.test(word));
  if (!isName || !words.every((word) => nameOf.test(word) || nameFunctions.test(word))) return unfilled;
  // What makes words of a file name would give the title it was made of.
  return words.length === 1 ? '{{name}}' : '{{title}}';
}

interface Archetype {
  fields: SchemaField[];
  /** Language of its frontmatter, in which new pages are written. */
  format?: EntryFormat;
  template: EntryTemplate;
}

/**
 * The page an archetype would write, with placeholders where its actions stand. A value that holds one gives the field a name and no more.
 * Null: its frontmatter cannot be read.
 */
function readArchetype(text: string, path: string, section: string): Archetype | null {
  const split = splitFile(text.slice(0, MAX_TEXT), path);
  // Without a nested brace an action ends at the first `}}`; what is not closed stays, and makes the file unreadable at worst.
  const source = split.source.replace(/\{\{[^{}]{0,2000}\}\}/g, (action, at: number, whole: string) => {
    const filled = placeholderOf(action, section);
    // A value that begins with an action and is not in quotes needs some.
    const isBare = /(?:[:=[,]|^\s*-)\s*$/.test(whole.slice(whole.lastIndexOf('\n', at) + 1, at));
    return isBare ? `"${filled}"` : filled;
  });
  const { frontmatter, format } = parseFile(Buffer.from(joinSplit({ ...split, source })), path);
  if (frontmatter === null) return null;
  const fields = inferFields([frontmatter], '', new Map()).map((one): SchemaField => {
    const value = frontmatter[one.name];
    const open = JSON.stringify(value).includes('{{');
    const empty = value === '' || value === null || (Array.isArray(value) && value.length === 0);
    if (open) return { ...field('any'), name: one.name, required: false };
    const plain: SchemaField = { ...one, required: false, nullable: true };
    return empty ? { ...plain, type: value === '' ? 'string' : 'any' } : { ...plain, default: value };
  });
  const body = split.body.replace(/\{\{(?![<%])[^{}]{0,2000}\}\}/g, (action) => placeholderOf(action, section));
  return {
    fields,
    ...(format !== 'none' && { format }),
    template: { frontmatter, body, source: { kind: 'hugo', path } },
  };
}

/** The site's own `archetypes` by the kind of page (`posts`, `default`). */
async function readArchetypes(reading: SiteReading, directory: string): Promise<Map<string, Archetype>> {
  const base = joinPath(reading.layout.root, directory);
  const found = new Map<string, Archetype>();
  const files = await filterYielding(reading.paths, (path) => path.startsWith(`${base}/`));
  for (const path of files.slice(0, MAX_ARCHETYPES)) {
    const name = /^([^/]+?)(?:\.md|\/index\.md)$/.exec(below(base, path) ?? '')?.[1];
    if (name === undefined) continue;
    reading.dependencies.add(path);
    const text = await reading.site.read(path);
    if (text === null) continue;
    const archetype = readArchetype(text, path, name === 'default' ? '' : name);
    if ((archetype?.fields ?? []).length === 0 && text.trim() !== '') {
      reading.warnings.push({
        code: 'archetype_unread',
        message: 'The archetype has no frontmatter that can be read',
        path,
      });
    }
    found.set(name, archetype ?? { fields: [], template: {} });
  }
  return found;
}

const MAX_SECTIONS = 200;

/**
 * Hugo: each section of the content is a collection, its fields those Hugo knows, the site's taxonomies, those of the section's
 * archetype, and what the entries show. Hugo accepts any page, so faults only warn.
 */
export const hugoReader: SchemaReader = {
  name: 'hugo',
  async read(reading) {
    if (reading.layout.framework !== 'hugo') return [];
    const site = await readHugoSite(reading);
    if (site === null) return [];
    reading.layout.locales ??= site.locales;
    const archetypes = await readArchetypes(reading, site.archetypes);
    const drafts: Draft[] = [];
    for (const { source, target, language } of site.contents) {
      const plain = language === null || language === site.contents[0]?.language;
      // What is mounted below the top is of one section altogether.
      const [section] = target.split('/');
      const sections = section ? [''] : await sectionsOf(source, site, reading);
      for (const directory of sections) {
        const name = collectionName(section || directory || 'pages');
        const full = plain ? name : `${name}.${collectionName(language)}`;
        const depth = section || directory !== '' ? {} : { depth: 1 };
        const place = { base: joinPath(source, directory), section: section || directory, ...depth };
        if (drafts.length < MAX_SECTIONS && !reading.present.has(source))
          drafts.push(await readSection(full, place, site, archetypes, reading));
      }
    }
    const source = { kind: 'hugo', path: site.path } as const;
    return [
      ...drafts,
      ...(await besidePages('data', { name: 'data', source, files: valueFiles(site.data) }, reading)),
      ...(await besidePages(
        'data',
        { name: 'i18n', label: 'Translations', source, files: valueFiles(site.translations) },
        reading,
      )),
    ];
  },
};

/** The files of values in directories; of several, slugs count from the top of the repository. */
function valueFiles(directories: readonly string[]): Files {
  const all = directories.map((base): PathSet => ({ kind: 'folder', base, extensions: dataExtensions }));
  const base = directories.length === 1 ? (directories[0] ?? '') : '';
  return filesOf({ base, area: base, single: false, paths: without(union(...all)) });
}

/** Directories directly below the content, and `''` for the pages beside them; content directories of other languages are not sections. */
async function sectionsOf(base: string, site: HugoSite, { paths }: SiteReading): Promise<string[]> {
  const languages = new Set(site.contents.map(({ source }) => source));
  const found = new Set<string>();
  await forEachYielding(paths, (path) => {
    const rest = below(base, path);
    if (rest === null || !/\.(md|markdown|mdown|html?|json|toml|ya?ml)$/i.test(rest)) return;
    const slash = rest.indexOf('/');
    const section = slash === -1 ? '' : rest.slice(0, slash);
    if ((slash !== -1 || /\.(md|markdown)$/i.test(rest)) && !(section !== '' && languages.has(joinPath(base, section))))
      found.add(section);
  });
  return [...found].sort();
}

async function readSection(
  name: string,
  { base, section, ...rules }: { base: string; section: string; depth?: number },
  site: HugoSite,
  archetypes: ReadonlyMap<string, Archetype>,
  reading: SiteReading,
): Promise<Draft> {
  const located = folderFiles('', base, { extensions: [...markdownExtensions], ...rules });
  const files = 'unknown' in located ? filesOf({ base, area: base, single: false, paths: noPaths }) : located;
  const own = await sectionCascade(joinPath(base, '_index.md'), reading);
  const defaults = new Map([...cascadeValues(site.cascade), ...own]);
  const fields = new Map(hugoPage.map((one) => [one.name, one]));
  const words = listOf(field('string', { coerce: true })) ?? field('any', { list: true });
  for (const taxonomy of site.taxonomies)
    fields.set(taxonomy, { ...words, name: taxonomy, required: false, nullable: true });
  const archetype = archetypes.get(section) ?? archetypes.get('default');
  for (const one of archetype?.fields ?? []) {
    const known = fields.get(one.name);
    fields.set(one.name, known ? { ...known, ...(one.default === undefined ? {} : { default: one.default }) } : one);
  }
  for (const [key, value] of defaults) {
    const data = dataOf(value);
    const known = fields.get(key) ?? { ...field('any'), name: key, required: false };
    if (data !== undefined) fields.set(key, { ...known, default: data });
  }
  const source = { kind: 'hugo', path: site.path } as const;
  return declare(
    {
      name,
      source,
      files,
      fields: [...fields.values()],
      warnings: [],
      infer: true,
      extensions: markdownExtensions,
      indexNames: ['index', '_index'],
      format: archetype?.format,
      template: archetype?.template,
    },
    reading,
  );
}

/** The `cascade` of a section's own page. */
async function sectionCascade(path: string, { present, site, dependencies }: SiteReading): Promise<[string, Value][]> {
  if (!present.has(path)) return [];
  dependencies.add(path);
  const text = await site.read(path);
  const { frontmatter } = parseFile(Buffer.from(text ?? ''), path);
  const cascade = frontmatter?.cascade;
  return cascade === undefined ? [] : cascadeValues(fromPlain(cascade, { path, line: 1 }));
}
