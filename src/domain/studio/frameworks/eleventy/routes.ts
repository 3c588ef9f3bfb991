import { isRecord } from '../../../../lib/objects.ts';
import { normalized } from '../../../../lib/text.ts';
import type { Frontmatter } from '../../frontmatter/values.ts';
import { type ConfigReading, readCodeConfig, readDataConfig } from '../../schema/config/config-file.ts';
import { compileGlob } from '../../schema/glob.ts';
import { below, joinPath } from '../../schema/site-layout.ts';
import type { Evaluator } from '../../schema/static/evaluate.ts';
import { type AnyNode, isNode, MAX_SOURCE, nodesOf, parseModule } from '../../schema/static/syntax.ts';
import {
  at,
  dataOf,
  type Place,
  placeOf,
  plain,
  property,
  scalar,
  textAt,
  textsOf,
  unknown,
  type Value,
} from '../../schema/static/values.ts';
import { inZone, momentOf, pad, readDate } from '../routing/dates.ts';
import { basePath, directoryOf, githubSlug, nameOf, urlPath } from '../routing/paths.ts';
import { fillTemplate, partOf, penalizeUnknown, type RouteContext, type RouteRule } from '../routing/route-rule.ts';

const maxFiles = 300;
const dataFile = /\.11tydata\.(json|js|cjs|mjs)$/;

/** Frontmatter that directories and files beside them give to pages; the nearest wins. `unclear`: keys whose value is code. */
interface DirectoryData {
  of(stem: string): { values: Record<string, unknown>; unclear: boolean };
}

/** Reads data files below the input directory: `posts/posts.json`, `posts/posts.11tydata.js`, `posts/a.11tydata.json`. */
async function readDirectoryData(reading: RouteContext, input: string): Promise<DirectoryData> {
  const known = new Map<string, { values: Record<string, unknown>; unclear: boolean }>();
  const files = reading.paths.filter((path) => {
    const rest = below(input, path);
    if (rest === null || rest.includes('node_modules/')) return false;
    return dataFile.test(path) || (path.endsWith('.json') && nameOf(path) === `${nameOf(directoryOf(path))}.json`);
  });
  for (const path of files.slice(0, maxFiles)) {
    const data = await readOne(path, reading);
    const target = joinPath(
      directoryOf(path),
      nameOf(path)
        .replace(dataFile, '')
        .replace(/\.json$/, ''),
    );
    // `posts/posts` stands for the directory; a file of that name is in it.
    const key =
      nameOf(directoryOf(path)) === nameOf(target) || directoryOf(path) === '' ? `${directoryOf(path)}/` : target;
    const before = known.get(key);
    known.set(key, {
      values: { ...before?.values, ...data.values },
      unclear: (before?.unclear ?? false) || data.unclear,
    });
  }
  return {
    of(stem) {
      const parts = directoryOf(stem).split('/').filter(Boolean);
      const keys = [...parts.map((_, at) => `${parts.slice(0, at + 1).join('/')}/`), stem];
      const found = keys.flatMap((key) => known.get(key) ?? []);
      return {
        values: Object.assign({}, ...found.map(({ values }) => values)),
        unclear: found.some(({ unclear }) => unclear),
      };
    },
  };
}

const wanted = ['permalink', 'draft', 'pagination'];

/** What templates of permalinks can name of any page, as the texts that name it; all else is not known. */
function symbolicData(place: Place): Value {
  const names = ['fileSlug', 'filePathStem'];
  const page = names.map((name) => [name, scalar(`{{ page.${name} }}`)] as const);
  const others = [null, unknown('it depends on the page', place)] as const;
  return { kind: 'record', parts: [others, ['page', { kind: 'record', parts: [others, ...page], place }]], place };
}

/** `(data) => `/a/${data.page.fileSlug}/`` as a template; what decides by its data is left as it is. */
function foldTemplate(value: Value, evaluator: Evaluator | undefined): Value {
  if (value.kind !== 'closure' || evaluator === undefined) return value;
  const { body } = value.node;
  const [only, ...more] = body.type === 'BlockStatement' ? body.body : [];
  const result = only?.type === 'ReturnStatement' && more.length === 0 ? only.argument : body;
  if (result?.type !== 'TemplateLiteral') return unknown('it is made by a function', value.place);
  const isPlain = result.expressions.every(({ type }) => type === 'Identifier' || type === 'MemberExpression');
  if (!isPlain) return unknown('it is made by a function', value.place);
  return evaluator.apply(value, [symbolicData(value.place)], value.place);
}

async function readOne(path: string, reading: RouteContext) {
  const quiet = { ...reading, warnings: [] };
  const code = path.endsWith('.json') ? null : await readCodeConfig(path, quiet);
  const read = code ? code.exported : await readDataConfig(path, quiet);
  // A function that gives the data may look at the configuration.
  const value = read?.kind === 'closure' ? code?.evaluator.apply(read, [symbolicData(read.place)], read.place) : read;
  const values: Record<string, unknown> = {};
  let unclear = false;
  const note = (name: string, part: Value) => {
    unclear = true;
    const reason = part.kind === 'unknown' ? `: ${part.reason}` : '';
    const place = placeOf(part, { path, line: 1 });
    reading.warnings.push({ code: 'setting_unknown', message: `"${name}" cannot be determined${reason}`, ...place });
  };
  if (value && value.kind !== 'record') note('data', value);
  if (value?.kind !== 'record') return { values, unclear };
  const computed = property(value, 'eleventyComputed');
  if (computed && computed.kind !== 'record') note('eleventyComputed', computed);
  for (const holder of [value, computed]) {
    for (const key of holder?.kind === 'record' ? wanted : []) {
      const part = holder?.kind === 'record' ? property(holder, key) : undefined;
      if (part === undefined) continue;
      const folded = foldTemplate(part, code?.evaluator);
      const data = plain(folded);
      if (data === undefined) note(key, folded);
      else values[key] = data;
    }
  }
  return { values, unclear };
}

/** What an Eleventy configuration says, as far as it can be read without running it. */
interface EleventyConfig {
  input: string;
  output: string;
  /** Directories below `input` that hold parts of pages. */
  includes: string[];
  data: string;
  pathPrefix: string | undefined;
  /** Whether `pathPrefix` is put before the links of pages. */
  addsBase: boolean;
  /** `dir.input` or `pathPrefix`, when it is computed; null: neither. */
  undetermined: string | null;
  /** Extensions of templates; null: the usual ones. */
  formats: string[] | null;
  ignored: string[];
  hidesDrafts: boolean;
}

const clean = (path: string) => path.replace(/^(\.?\/)+|(?<!\/)\/+$|^\.$/g, '');

/** What puts `pathPrefix` before the links of a page. */
const basePlugins = new Set(['HtmlBasePlugin', 'EleventyHtmlBasePlugin']);

/** The object a configuration function returns, what is exported as `config`, and the calls it makes. */
export async function readEleventyConfig(path: string | null, reading: ConfigReading): Promise<EleventyConfig> {
  const text = path === null ? null : await reading.site.read(path);
  const found = path === null || text === null || text.length > MAX_SOURCE ? [] : await nodesIn(path, text, reading);
  const objects = path === null ? [] : await configObjects(path, found, reading);
  const first = (...keys: string[]) => objects.map((one) => textAt(one, ...keys)).find((one) => one !== undefined);
  const calls = callsIn(found);
  const last = (name: string) => calls.get(name)?.at(-1)?.[0];
  const input = last('setInputDirectory') ?? first('dir', 'input');
  const pathPrefix = first('pathPrefix');
  const undetermined = [
    input === undefined ? computedIn(objects, ['dir', 'input'], reading) : null,
    pathPrefix === undefined ? computedIn(objects, ['pathPrefix'], reading) : null,
  ].find((name) => name !== null);
  const formats = objects.map((one) => at(one, 'templateFormats')).find((one) => one !== undefined);
  const setFormats = calls.get('setTemplateFormats')?.at(-1);
  return {
    input: clean(input ?? '.'),
    output: clean(last('setOutputDirectory') ?? first('dir', 'output') ?? '_site'),
    includes: [
      last('setIncludesDirectory') ?? first('dir', 'includes') ?? '_includes',
      last('setLayoutsDirectory') ?? first('dir', 'layouts') ?? '_layouts',
    ].map(clean),
    data: clean(last('setDataDirectory') ?? first('dir', 'data') ?? '_data'),
    pathPrefix,
    addsBase: found.some(({ type, name }) => type === 'Identifier' && basePlugins.has(String(name))),
    undetermined: undetermined ?? null,
    formats: setFormats ?? (formats ? textsOf(formats) : null),
    ignored: (calls.get('add') ?? []).flat(),
    hidesDrafts: (calls.get('addPreprocessor') ?? []).some(([name]) => name === 'drafts'),
  };
}

/** The name of a setting that is given and computed, with a warning; null: it is not. */
function computedIn(objects: readonly Value[], keys: readonly string[], { warnings }: ConfigReading): string | null {
  const value = objects.map((one) => at(one, ...keys)).find((one) => one !== undefined && one.kind !== 'scalar');
  if (value === undefined) return null;
  const name = keys.join('.');
  const reason = value.kind === 'unknown' ? `: ${value.reason}` : '';
  const place = placeOf(value, { path: '', line: 1 });
  warnings.push({ code: 'setting_unknown', message: `"${name}" cannot be determined${reason}`, ...place });
  return name;
}

async function nodesIn(path: string, text: string, { site, warnings }: ConfigReading): Promise<AnyNode[]> {
  try {
    return [...nodesOf(await parseModule(path, text, site.budget))];
  } catch {
    warnings.push({
      code: 'config_unreadable',
      message: 'The code cannot be read; the usual directories are taken',
      path,
    });
    return [];
  }
}

/** Objects that are given as the configuration; expressions are only folded where they stand at the top of the module. */
async function configObjects(path: string, nodes: readonly AnyNode[], reading: ConfigReading): Promise<Value[]> {
  const { evaluator, exported } = await readCodeConfig(path, { ...reading, warnings: [] });
  const named = evaluator.export(path, 'config');
  const scope = evaluator.scope(path);
  const returned = nodes.flatMap((node) => {
    const given = node.type === 'ArrowFunctionExpression' ? node.body : node.argument;
    const isResult = node.type === 'ReturnStatement' || node.type === 'ArrowFunctionExpression';
    const argument = isResult && isNode(given) ? given : null;
    return argument?.type === 'ObjectExpression' ? [evaluator.evaluate(argument as never, scope, path)] : [];
  });
  return [named, exported, ...returned.filter((one) => at(one, 'dir') || at(one, 'pathPrefix'))].filter(
    (one): one is Value => one?.kind === 'record',
  );
}

/** Texts in the arguments of each call of a method, in order of writing. */
function callsIn(nodes: readonly AnyNode[]): Map<string, string[][]> {
  const calls = new Map<string, string[][]>();
  for (const node of nodes) {
    if (node.type !== 'CallExpression' || !isNode(node.callee) || !isNode(node.callee.property)) continue;
    const { object, property } = node.callee;
    const name = String(property.name);
    // `add` is a method of many things: only that of the ignored files counts.
    if (name === 'add' && !(isNode(object) && isNode(object.property) && object.property.name === 'ignores')) continue;
    const texts = (Array.isArray(node.arguments) ? node.arguments : []).flatMap(textsIn);
    calls.set(name, [...(calls.get(name) ?? []), texts]);
  }
  return calls;
}

function textsIn(node: unknown): string[] {
  if (!isNode(node)) return [];
  if (node.type === 'StringLiteral') return [String(node.value)];
  return node.type === 'ArrayExpression' && Array.isArray(node.elements) ? node.elements.flatMap(textsIn) : [];
}

/** What templates of permalinks are filled with. */
interface TemplateData {
  /** Path below the input directory without extension. */
  stem: string;
  frontmatter: Frontmatter;
  /** Lists of the site's global data. */
  lists: ReadonlyMap<string, readonly unknown[]>;
}

const dateBefore = /^\d{4}-\d{2}-\d{2}-(?=.)/;

/** The file's name without a date before it; of an index the directory's. */
function fileSlug(stem: string): string {
  const name = nameOf(stem);
  return (name === 'index' ? nameOf(directoryOf(stem)) : name).replace(dateBefore, '');
}

/** The path without a date before the name; `/index` stays. */
const filePathStem = (stem: string) =>
  `/${[directoryOf(stem), nameOf(stem).replace(dateBefore, '')].filter(Boolean).join('/')}`;

function dateOf({ stem, frontmatter }: TemplateData): Date | null {
  const date = readDate(frontmatter.date) ?? readDate(/^\d{4}-\d{2}-\d{2}(?=-)/.exec(nameOf(stem))?.[0]);
  return date && inZone(momentOf(date), undefined);
}

function lookup(name: string, data: TemplateData): string | Date | null {
  if (name === 'page.fileSlug') return fileSlug(data.stem);
  if (name === 'page.filePathStem') return filePathStem(data.stem);
  if (name === 'page.date' || name === 'date') return dateOf(data);
  const quoted = /^(["'])([^"']*)\1$/.exec(name);
  if (quoted) return quoted[2] ?? '';
  const pagination = isRecord(data.frontmatter.pagination) ? data.frontmatter.pagination : null;
  if (pagination && name === 'pagination.pageNumber') return '0';
  const value = name === pagination?.alias ? firstItem(pagination, data) : ownValue(data.frontmatter, name);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

const ownValue = (values: Frontmatter, name: string): unknown =>
  Object.hasOwn(values, name) ? values[name] : undefined;

/** What the first of the pages of a list is made of, where each has one item. */
function firstItem(pagination: Record<string, unknown>, { frontmatter, lists }: TemplateData): unknown {
  const { data, size, reverse, filter: leftOut, before } = pagination;
  if (typeof data !== 'string' || size !== 1 || reverse || leftOut || before) return undefined;
  const own = ownValue(frontmatter, data);
  return (Array.isArray(own) ? own : lists.get(data))?.[0];
}

/** What is only written into the addresses of the second page and those after it. */
const furtherPages = /\{%-?\s*if\s+pagination\.pageNumber\s*(?:>|!=)\s*0\s*-?%\}[^%]*\{%-?\s*endif\s*-?%\}/g;

function strftime(date: Date, format: string): string | null {
  const parts: Record<string, string> = {
    Y: String(date.getUTCFullYear()),
    m: pad(date.getUTCMonth() + 1),
    d: pad(date.getUTCDate()),
    y: pad(date.getUTCFullYear() % 100),
  };
  const text = format.replace(/%([A-Za-z])/g, (whole, letter: string) => parts[letter] ?? whole);
  return /%[A-Za-z]/.test(text) ? null : text;
}

/** The filters that permalinks are made with; null for one that is not known. */
function filter(value: string | Date, text: string): string | null {
  const [, name = '', argument] = /^(\w+)(?:\s*[:(])?\s*(?:["']([^"']*)["']\s*)?\)?$/.exec(text.trim()) ?? [];
  if (name === 'date') return value instanceof Date && argument !== undefined ? strftime(value, argument) : null;
  if (value instanceof Date) return null;
  if (name === 'slugify' || name === 'slug') return slug(value);
  if (name === 'downcase' || name === 'lower') return value.toLowerCase();
  return name === 'url' ? value : null;
}

/** Accents are written without them, and what is no letter or digit goes. */
const slug = (text: string): string =>
  partOf(text, (part) =>
    githubSlug(
      normalized(part, 'NFKD')
        .replace(/\p{M}+/gu, '')
        .replace(/[\s_/.]+/gu, '-'),
    )
      .replace(/-+/g, '-')
      .replace(/^-|-$/g, ''),
  );

/** A permalink with its `{{ … }}` filled in; null when one of them is unknown. */
function fillPermalink(template: string, data: TemplateData): string | null {
  const first = isRecord(data.frontmatter.pagination) ? template.replace(furtherPages, '') : template;
  let known = !/\{%|\$\{/.test(first);
  const filled = fillTemplate(first, /\{\{-?([^{}]*?)-?\}\}/g, ([, expression = '']) => {
    const [name = '', ...filters] = expression.split('|');
    let value = lookup(name.trim(), data);
    for (const one of filters) value = value === null ? null : filter(value, one);
    if (typeof value !== 'string') known = false;
    return typeof value === 'string' ? value : '';
  });
  return known && !filled.includes('{{') ? filled : null;
}

const usualFormats = [
  'liquid',
  'md',
  'njk',
  'html',
  '11ty.js',
  '11ty.cjs',
  '11ty.mjs',
  'hbs',
  'mustache',
  'haml',
  'pug',
  'ejs',
];

/** Eleventy: `permalink` of the page or of the data beside it, else the path below the input directory. */
export async function readEleventyRule(reading: RouteContext): Promise<RouteRule> {
  const config = await readEleventyConfig(reading.detected.config, reading);
  const input = joinPath(reading.layout.root, config.input.includes('..') ? '' : config.input);
  const data = await readDirectoryData(reading, input);
  const lists = await readLists(reading, joinPath(input, config.data));
  const formats = (config.formats ?? usualFormats).toSorted((a, b) => b.length - a.length);
  const isIgnored = await ignoring(reading, config, input);
  const source = { path: reading.detected.config ?? reading.layout.root };
  return {
    base: basePath(config.pathPrefix),
    ...(config.addsBase && { links: { files: 'below_base', pages: 'below_base' } as const }),
    undetermined: config.undetermined,
    urlOf({ path, frontmatter: own }) {
      const rest = below(input, path);
      const format = formats.find((one) => path.endsWith(`.${one}`));
      if (rest === null || format === undefined || isIgnored(path, rest)) return null;
      const stem = rest.slice(0, -format.length - 1);
      const around = data.of(joinPath(input, stem));
      const frontmatter = { ...around.values, ...own };
      if (config.hidesDrafts && frontmatter.draft === true) return null;
      const computed = isRecord(own.eleventyComputed) ? own.eleventyComputed.permalink : undefined;
      const written = computed ?? frontmatter.permalink;
      const permalink = isRecord(written) ? written.build : written;
      if (permalink === false || (around.unclear && permalink === undefined)) return null;
      if (typeof permalink === 'string') {
        const filled = fillPermalink(permalink, { stem, frontmatter, lists });
        return filled === null ? null : urlPath(filled).replace(/(^|\/)index\.html$/, '$1');
      }
      return urlPath(defaultPath(stem));
    },
    evidenceOf: (path) => {
      const stem = path.replace(/\.[^/.]*$/, '');
      return { confidence: penalizeUnknown(0.9, data.of(stem).unclear ? 1 : 0), source };
    },
  };
}

/** The lists among the files of global data, by their names. */
async function readLists(reading: RouteContext, directory: string): Promise<Map<string, readonly unknown[]>> {
  const files = reading.paths.filter((path) => /^[^/]+\.json$/.test(below(directory, path) ?? ''));
  const lists = new Map<string, readonly unknown[]>();
  for (const path of files.slice(0, maxFiles)) {
    const data = dataOf((await readDataConfig(path, { ...reading, warnings: [] })) ?? undefined);
    if (Array.isArray(data)) lists.set(nameOf(path).replace(/\.json$/, ''), data);
  }
  return lists;
}

/** `a/index` and `a/a` → `a/`, everything else a directory of its own. */
function defaultPath(stem: string): string {
  const [directory, name] = [directoryOf(stem), nameOf(stem)];
  const own = name === 'index' || name === nameOf(directory);
  return own ? `${directory}/` : `${stem}/`;
}

async function ignoring(reading: RouteContext, config: EleventyConfig, input: string) {
  const lines: string[] = [];
  for (const path of [joinPath(reading.layout.root, '.eleventyignore'), joinPath(reading.layout.root, '.gitignore')]) {
    if (!reading.present.has(path)) continue;
    reading.dependencies.add(path);
    lines.push(...((await reading.site.read(path)) ?? '').split(/\r?\n/).map((line) => line.trim()));
  }
  const patterns = [...config.ignored, ...lines.filter((line) => line !== '' && !/^[#!]/.test(line))];
  const globs = patterns.map((pattern) => {
    const plain = pattern.replace(/^(\.?\/)+|(?<!\/)\/+$/g, '');
    return { plain, glob: compileGlob(plain) };
  });
  const parts = [...config.includes, config.data].filter(Boolean).map((one) => joinPath(input, one));
  const output = joinPath(reading.layout.root, config.output);
  return (path: string, rest: string): boolean => {
    const inRoot = below(reading.layout.root, path) ?? path;
    if (rest.split('/').includes('node_modules') || below(output, path) !== null) return true;
    if (rest.split('/').some((part) => part.startsWith('.')) || /\.11tydata\./.test(path)) return true;
    if (parts.some((part) => below(part, path) !== null)) return true;
    return globs.some(
      ({ plain, glob }) =>
        inRoot === plain || inRoot.startsWith(`${plain}/`) || nameOf(path) === plain || glob?.matches(inRoot),
    );
  };
}
