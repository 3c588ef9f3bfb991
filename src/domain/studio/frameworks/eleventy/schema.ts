/**
 * What Eleventy's configuration, which is a function, says of files beside the pages: the directories it copies to the site as they are, and whether
 * images may lie beside a page. The function is read and not run, so an argument that is computed is a warning.
 */
import { filterYielding, forEachYielding } from '../../../../lib/concurrency.ts';
import { eleventyPage } from '../../schema/built-in-fields.ts';
import type { MediaRoot } from '../../schema/collection-schema.ts';
import { besidePages } from '../../schema/declare.ts';
import { isToolFile } from '../../schema/inferred-groups.ts';
import { type PathSet, union, without } from '../../schema/path-set.ts';
import { filesOf, folderFiles, type Located, type SchemaReader, type SiteReading } from '../../schema/reader.ts';
import {
  below,
  dataExtensions,
  extensionOf,
  isExcluded,
  joinPath,
  markdownExtensions,
  trimmedPath,
} from '../../schema/site-layout.ts';
import { resolvePath } from '../../schema/static/module-graph.ts';
import { type AnyNode, isNode, MAX_SOURCE, nodesOf, parseModule } from '../../schema/static/syntax.ts';
import { directoriesUp } from '../dependencies.ts';
import { directoryOf, nameOf } from '../routing/paths.ts';
import { readEleventyConfig } from './routes.ts';

const configNames = [
  '.eleventy.js',
  '.eleventy.cjs',
  'eleventy.config.js',
  'eleventy.config.mjs',
  'eleventy.config.cjs',
  'eleventy.config.ts',
];

/** The plug-in by which images that lie beside a page become files of the site. */
const imagePlugin = 'eleventyImageTransformPlugin';
const wildcard = /[*?[{(!]/;
const images = new Set(['png', 'jpg', 'jpeg', 'gif', 'webp', 'avif', 'svg']);

/** A copy as the configuration names it; `to` is null where that follows from the input directory. */
interface Copy {
  from: string;
  to: string | null;
}

/** The text of a literal; null for anything computed. */
function textOf(node: unknown): string | null {
  if (!isNode(node)) return null;
  if (node.type === 'StringLiteral') return String(node.value);
  const [only, ...more] = node.type === 'TemplateLiteral' && Array.isArray(node.quasis) ? node.quasis : [];
  return only && more.length === 0 ? String(only.value.cooked) : null;
}

/** The copies that one argument of `addPassthroughCopy` names; null among them: one that is computed. */
function copiesIn(argument: unknown): (Copy | null)[] {
  const text = textOf(argument);
  if (text !== null) return [{ from: text, to: null }];
  if (!isNode(argument) || argument.type !== 'ObjectExpression' || !Array.isArray(argument.properties)) return [null];
  return argument.properties.map(({ key, value, computed }) => {
    const from = textOf(key) ?? (isNode(key) && key.type === 'Identifier' && !computed ? String(key.name) : null);
    const to = textOf(value);
    return from === null || to === null ? null : { from, to };
  });
}

const isCopy = ({ type, callee }: AnyNode) =>
  type === 'CallExpression' &&
  isNode(callee) &&
  isNode(callee.property) &&
  callee.property.name === 'addPassthroughCopy';

async function readCopies(
  path: string,
  input: string,
  { site, layout, paths, present, dependencies, warnings }: SiteReading,
) {
  dependencies.add(path);
  const text = await site.read(path);
  const program =
    text === null || text.length > MAX_SOURCE ? null : await parseModule(path, text, site.budget).catch(() => null);
  const found = new Map<string, MediaRoot>();
  let isKnown = program !== null;
  const nodes = [...nodesOf(program)];
  let beside = nodes.some(({ type, name }) => type === 'Identifier' && name === imagePlugin);
  for (const node of nodes.filter(isCopy).sort((a, b) => Number(a.start) - Number(b.start))) {
    const [argument] = Array.isArray(node.arguments) ? node.arguments : [];
    for (const copy of copiesIn(argument)) {
      if (copy === null) {
        isKnown = false;
        const { line } = (node.loc as { start?: { line?: number } } | undefined)?.start ?? {};
        const message = 'addPassthroughCopy is given something computed; what it copies is not among the media';
        warnings.push({ code: 'setting_unknown', message, path, ...(line !== undefined && { line }) });
        continue;
      }
      const segments = trimmedPath(copy.from).split('/');
      const glob = segments.findIndex((segment) => wildcard.test(segment));
      if (glob === 0) beside = true;
      const directory = resolvePath(layout.root, (glob === -1 ? segments : segments.slice(0, glob)).join('/'));
      if (!directory || directory === layout.root || /(^|\/)node_modules(\/|$)/.test(directory)) continue;
      // A directory may be there later; a file is none.
      const isEmpty = !paths.some((file) => below(directory, file) !== null);
      if (isEmpty && (extensionOf(directory) !== '' || present.has(directory))) continue;
      // What is given alone keeps its path below the input directory, or that of the site.
      const kept = below(input, directory) ?? below(layout.root, directory) ?? directory;
      const to = glob !== -1 ? null : `/${trimmedPath(copy.to ?? kept)}`;
      if (to !== null || !found.has(directory)) found.set(directory, { path: directory, public_path: to });
    }
  }
  return { roots: [...found.values()], beside, isKnown };
}

export const eleventyReader: SchemaReader = {
  name: 'eleventy',
  async read(reading) {
    const { layout, present } = reading;
    const path = configNames.map((name) => joinPath(layout.root, name)).find((name) => present.has(name));
    if (path === undefined) return [];
    const config = await readEleventyConfig(path, { ...reading, warnings: [] });
    const input = resolvePath(layout.root, config.input);
    const { roots, beside, isKnown } = await readCopies(path, input ?? layout.root, reading);
    // Nothing else is copied, whatever directories are called.
    if (roots.length > 0 || isKnown) layout.mediaRoots ??= roots;
    // A format without an engine is copied from where it lies.
    if (beside || config.formats?.some((format) => images.has(format))) layout.filesBeside = true;
    layout.pages = { kind: 'eleventy', path, fields: eleventyPage };
    if (input === null) return [];
    const source = { kind: 'eleventy', path } as const;
    const values = folderFiles(input, config.data, { extensions: dataExtensions });
    const parts: PathSet[] = config.includes
      .filter(Boolean)
      .map((directory) => ({ kind: 'folder', base: joinPath(input, directory), extensions: markdownExtensions }));
    const includes = filesOf({ base: input, area: input, single: false, paths: without(union(...parts)) });
    const listed: PathSet = { kind: 'listed', paths: await directoryData(input, values, reading) };
    const around = filesOf({ base: input, area: input, single: false, paths: listed });
    return [
      ...(await besidePages('data', { name: 'data', source, files: values }, reading)),
      ...(await besidePages('data', { name: 'directory-data', source, files: around }, reading)),
      ...(await besidePages('partial', { name: 'includes', source, files: includes }, reading)),
    ];
  },
};

const template = /\.(?:md|liquid|njk|html|hbs|mustache|haml|pug|ejs|11ty\.[cm]?js)$/;

/** JSON that gives values to the pages of a directory (`posts/posts.json`) or to the page beside it (`posts/a.11tydata.json`). */
async function directoryData(input: string, values: Located, reading: SiteReading): Promise<string[]> {
  const { paths, layout } = reading;
  const pages = new Set<string>();
  const directories = new Set<string>();
  await forEachYielding(paths, (path) => {
    const stem = path.replace(template, '');
    if (stem === path) return;
    pages.add(stem);
    for (const directory of directoriesUp(directoryOf(stem))) directories.add(directory);
  });
  const found = await filterYielding(paths, (path) => {
    if (!path.endsWith('.json') || below(input, path) === null || isExcluded(path, layout) || isToolFile(path))
      return false;
    if (!('unknown' in values) && values.matches(path)) return false;
    const stem = path.replace(/\.json$/, '');
    if (stem.endsWith('.11tydata') || pages.has(stem)) return true;
    return nameOf(stem) === nameOf(directoryOf(path)) && directories.has(directoryOf(path));
  });
  if (found.length > 0) reading.readsListing = true;
  return found;
}
