import {
  filterYielding,
  finishYielding,
  forEachYielding,
  mapYielding,
  setYielding,
  yieldLoop,
} from '../../../lib/concurrency.ts';
import { astroReader } from '../frameworks/astro/schema.ts';
import { decapReader } from '../frameworks/cms/decap.ts';
import { frontMatterReader } from '../frameworks/cms/front-matter.ts';
import { keystaticReader } from '../frameworks/cms/keystatic.ts';
import { pagesCmsReader } from '../frameworks/cms/pages-cms.ts';
import { tinaReader } from '../frameworks/cms/tina.ts';
import { readMkdocsConfig } from '../frameworks/conventions/mkdocs.ts';
import { docusaurusReader } from '../frameworks/docusaurus/schema.ts';
import { eleventyReader } from '../frameworks/eleventy/schema.ts';
import { hexoReader } from '../frameworks/hexo/schema.ts';
import { hugoReader } from '../frameworks/hugo/schema.ts';
import { jekyllReader } from '../frameworks/jekyll/schema.ts';
import { nuxtReader } from '../frameworks/nuxt/schema.ts';
import { slugSteps } from '../slug.ts';
import { vitepressPage } from './built-in-fields.ts';
import {
  type CollectionDescription,
  type CollectionSchema,
  type Discovery,
  type DiscoveryOptions,
  type EntrySample,
  type MediaRoot,
  SchemaRoom,
  type SiteFiles,
} from './collection-schema.ts';
import { codeExtensions, findConfig, readCodeConfig } from './config/config-file.ts';
import { studioConfigReader } from './config/studio-config.ts';
import { besidePages } from './declare.ts';
import { inferSteps, schemaOfGroup } from './infer-fields.ts';
import { groupFiles } from './inferred-groups.ts';
import { membership, noPaths, type PathSet, placing, union, without } from './path-set.ts';
import {
  budgeted,
  type Draft,
  filesOf,
  folderFiles,
  globFiles,
  type SchemaReader,
  type SiteReading,
} from './reader.ts';
import type { SchemaField, SchemaSourceKind, Warning } from './schema.schema.ts';
import {
  below,
  dataExtensions,
  findSite,
  hasFilesBeside,
  joinPath,
  markdownExtensions,
  mediaRootsOf,
  type SiteLayout,
} from './site-layout.ts';
import { resolvePath } from './static/module-graph.ts';
import { at, entriesOf, itemsOf, textAt, textsOf, type Value } from './static/values.ts';

/**
 * Lets collections tell their entries: a file that is among the paths of several belongs to the first.
 * @param precedence names of all collections, the first one first
 * @returns the collections in the order given
 */
export function withMatches(
  collections: readonly CollectionDescription[],
  precedence: readonly string[],
): CollectionSchema[] {
  const paths = new Map(collections.map((description) => [description.collection, description.paths]));
  const setsOf = placing(precedence.map((name) => paths.get(name) ?? noPaths));
  let last = { path: '', owner: setsOf('', 1)[0] };
  const ownerOf = (path: string) => {
    // Mostly all collections are compared with one path after the other.
    if (last.path !== path) last = { path, owner: setsOf(path, 1)[0] };
    return last.owner;
  };
  return collections.map((description) => {
    const at = precedence.indexOf(description.collection);
    return { ...description, matches: (path) => at !== -1 && ownerOf(path) === at };
  });
}

/**
 * Frameworks without collections: their pages are grouped by directory, as anywhere, and every group has the fields the framework
 * understands beside what its entries show.
 */
const describePages = ({ layout }: SiteReading, kind: SchemaSourceKind, path: string, fields: SchemaField[]): [] => {
  layout.pages = { kind, path, fields };
  return [];
};

const vitepressReader: SchemaReader = {
  name: 'vitepress',
  async read(reading) {
    const path = findConfig(reading, ['.vitepress/config', '.vitepress/config/index'], codeExtensions);
    if (path === undefined) return [];
    const { layout } = reading;
    // What is unclear in this file concerns the site, not its schemas.
    const { value } = await readCodeConfig(path, { ...reading, warnings: [] });
    const config = value ?? undefined;
    const names = entriesOf(at(config, 'locales')).map(([name]) => name);
    if (layout.locales === null && names.length > 1) {
      const fallback = textAt(config, 'locales', 'root', 'lang') ?? (names.includes('root') ? 'root' : null);
      const codes = names.map((name) => (name === 'root' ? (fallback ?? name) : name));
      layout.locales = { codes, default: fallback, placement: 'directory', default_unmarked: names.includes('root') };
    }
    describePages(reading, 'vitepress', path, vitepressPage);
    const patterns = textsOf(at(config, 'srcExclude')).map((pattern) => pattern.replace(/^\/+/, ''));
    const kept: PathSet = { kind: 'excluded', root: layout.root, given: layout.given, framework: layout.framework };
    const directory = textAt(config, 'srcDir') ?? '';
    const open = resolvePath(layout.root, `${directory}/public`);
    if (open !== null) layout.mediaRoots ??= [{ path: open, public_path: '/' }];
    const files = folderFiles(layout.root, directory, {
      extensions: ['md'],
      only: (base) => ({ kind: 'glob', base, patterns }),
      except: () => kept,
    });
    return besidePages('partial', { name: 'partials', source: { kind: 'vitepress', path }, files }, reading);
  },
};

const anyPlace = { path: '', line: 1 };

/** Options of a plug-in or an extension that a list or a map names; null: it names none of that name. */
function optionsOf(list: Value | undefined, name: string): Value | null {
  const named = [...itemsOf(list).flatMap(entriesOf), ...entriesOf(list)].find(([key]) => key.endsWith(name));
  if (named) return named[1];
  return textsOf(list).some((text) => text.endsWith(name)) ? { kind: 'record', parts: [], place: anyPlace } : null;
}

/** Directories of snippets, and appended files, that are read: each file is looked for in each directory. */
const mostSnippetPaths = 100;

/** Markdown that the snippets extension puts into pages, where it is no page itself: of its own directories, or appended to all. */
function mkdocsSnippets(config: Value | undefined, docs: string, { layout, present }: SiteReading): PathSet {
  const options = optionsOf(at(config, 'markdown_extensions'), 'pymdownx.snippets') ?? undefined;
  const written = at(options, 'base_path');
  const named = written === undefined ? ['.'] : textsOf(written);
  const bases = named.slice(0, mostSnippetPaths).flatMap((text) => resolvePath(layout.root, text) ?? []);
  const files = textsOf(at(options, 'auto_append')).slice(0, mostSnippetPaths);
  const appended = files.flatMap((file) => bases.map((base) => joinPath(base, file)));
  const folders = bases.filter(
    (base) => base !== layout.root && below(docs, `${base}/`) === null && below(base, docs) === null,
  );
  const paths = appended.filter((path) => present.has(path) && below(docs, path) === null);
  const all = folders.map((base): PathSet => ({ kind: 'folder', base, extensions: markdownExtensions }));
  return union(...all, { kind: 'listed', paths });
}

/** MkDocs serves every file beside the pages of its directory. */
const mkdocsReader: SchemaReader = {
  name: 'mkdocs',
  async read(reading) {
    const path = findConfig(reading, ['mkdocs'], ['yml', 'yaml']);
    if (path === undefined) return [];
    const config = await readMkdocsConfig(path, { ...reading, warnings: [] });
    const { root } = reading.layout;
    const docs = resolvePath(root, textAt(config ?? undefined, 'docs_dir') ?? 'docs');
    if (!docs) return [];
    reading.layout.mediaRoots ??= [{ path: docs, public_path: '/' }];
    const source = { kind: 'mkdocs', path } as const;
    const snippets = mkdocsSnippets(config ?? undefined, docs, reading);
    const parts = filesOf({ base: root, area: root, single: false, paths: without(snippets) });
    const blog = textAt(optionsOf(at(config ?? undefined, 'plugins'), 'blog') ?? undefined, 'blog_dir') ?? 'blog';
    const data = globFiles('', docs, [joinPath(blog.replace(/^\.?\/*$/, ''), '.authors.yml'), '**/.meta.yml']);
    return [
      ...(await besidePages('partial', { name: 'snippets', source, files: parts }, reading)),
      ...(await besidePages('data', { name: 'data', source, files: data }, reading)),
    ];
  },
};

/** In the order of discovery: the first to describe a collection wins. A further CMS or framework is one file and one line here. */
const readers: readonly SchemaReader[] = [
  studioConfigReader,
  pagesCmsReader,
  decapReader,
  tinaReader,
  keystaticReader,
  frontMatterReader,
  astroReader,
  nuxtReader,
  hugoReader,
  jekyllReader,
  hexoReader,
  docusaurusReader,
  vitepressReader,
  eleventyReader,
  mkdocsReader,
];

/** What these say may be otherwise with any other file. */
const ofTree: ReadonlySet<string> = new Set(['overlap', 'too_many_collections', 'import_not_found']);

const MAX_COLLECTIONS = 500;
const MAX_SAMPLES = 2000;
/** Comparisons by which collections are completed, a path with one of them each; the rest stay as their configuration has them. */
const mostSettled = 20_000_000;
/** Collections a file is said to be in. */
const mostSharing = 10;

/**
 * Finds the collections of a site and their schemas by reading: configuration files first, then what the entries themselves show.
 * Nothing of the site is ever executed. What cannot be understood becomes a warning, never a failure.
 */
export async function discoverSchemas(files: SiteFiles, options: DiscoveryOptions): Promise<Discovery> {
  const site = budgeted(files);
  const paths = await mapYielding(site.paths, (file) => file.path);
  const { origin, others, ...layout } = await findSite(paths, options.contentRoot);
  const warnings: Warning[] = [];
  if (others.length > 0) {
    const message = `The repository has several sites; "${layout.root || '/'}" is used, set the content root for: ${others.slice(0, 10).join(', ')}`;
    warnings.push({ code: 'several_sites', message });
  }
  const present = await setYielding(site.paths, ({ path }) => path);
  const reading: SiteReading = { site, paths, present, layout, warnings, dependencies: new Set(), settings: new Set() };
  const described = new Map<string, Draft>();
  for (const reader of readers) {
    await yieldLoop();
    for (const draft of await reader.read(reading)) addDraft(described, draft, warnings);
  }
  const drafts = [...described.values()];
  let hidden = bound(drafts);
  const settled = drafts.filter(({ settle }) => settle).slice(0, Math.ceil(mostSettled / Math.max(1, paths.length)));
  for (const draft of settled) await draft.settle?.(paths);
  const { owned, firsts } = await assign(drafts, paths, warnings);
  const covered = dropCovered(drafts, owned, firsts, warnings);
  const claimed = new Set<string>();
  for (const own of owned.values()) await forEachYielding(own, (path) => claimed.add(path));
  const rejected = membership(union(...drafts.map((draft) => draft.rejects)));
  const free = await filterYielding(paths, (path) => !claimed.has(path) && !rejected(path));
  const taken = new Set(drafts.map((draft) => draft.schema.collection));
  const declared = [...drafts];
  for (const group of await groupFiles(free, layout, taken)) {
    const draft = schemaOfGroup(group, layout, declared);
    drafts.push(draft);
    owned.set(draft, group.paths);
  }
  hidden += bound(drafts);
  if (hidden > 0) {
    const message = `The site has ${drafts.length + hidden} collections; the first ${MAX_COLLECTIONS} by name are shown`;
    warnings.push({ code: 'too_many_collections', message });
  }
  await inferMissing(drafts, owned, options.sampleEntries);
  const room = new SchemaRoom();
  const ofSite = room.warnings(warnings);
  await forEachYielding(drafts, ({ schema }) => room.fit(schema));
  const precedence = drafts.map(({ schema }) => schema.collection);
  const byName = drafts.map(({ schema }) => schema).sort((a, b) => (a.collection < b.collection ? -1 : 1));
  const schemas = withMatches(byName, precedence);
  const inferred = drafts.some(({ infer }) => infer);
  const byTree = inferred || covered > 0 || reading.readsListing || warnings.some(({ code }) => ofTree.has(code));
  return {
    schemas,
    precedence,
    scope: byTree ? 'tree' : 'configuration',
    warnings: [...ofSite, ...schemas.flatMap((schema) => schema.warnings)],
    dependencies: [...reading.dependencies].sort(),
    settings: [...reading.settings].filter((path) => dataExtensions.some((one) => path.endsWith(`.${one}`))).sort(),
    contentRoot: layout.root,
    rootOrigin: origin,
    mediaRoots: withFilesBeside(reading.layout.mediaRoots ?? (await mediaRootsOf(paths, layout)), schemas, layout),
    locales: reading.layout.locales,
  };
}

/** Adds the directories of collections whose entries may have files beside them; where these are published follows from each entry. */
function withFilesBeside(roots: MediaRoot[], schemas: readonly CollectionSchema[], layout: SiteLayout): MediaRoot[] {
  const found = [...roots];
  const directories = schemas.filter((schema) => hasFilesBeside(schema, layout)).map(({ path }) => path);
  for (const path of directories.sort())
    if (!found.some((root) => root.path === path || below(root.path, path) !== null))
      found.push({ path, public_path: null });
  return found;
}

function addDraft(drafts: Map<string, Draft>, draft: Draft, warnings: Warning[]): void {
  const { collection, source } = draft.schema;
  const rival = drafts.get(collection);
  if (rival === undefined) drafts.set(collection, draft);
  else {
    const message = `Collection "${collection}" is also described here; ${rival.schema.source.path} is used`;
    warnings.push({ code: 'described_twice', message, path: source.path, collection });
  }
}

/** Gives each file to the first collection that matches it. @returns the files of each, and the first of those it shares */
async function assign(drafts: readonly Draft[], paths: readonly string[], warnings: Warning[]) {
  const owned = new Map<Draft, string[]>(drafts.map((draft) => [draft, []]));
  const firsts = new Map<Draft, { path: string; owner: Draft }>();
  const overlaps = new Set<string>();
  const setsOf = placing(drafts.map(({ schema }) => schema.paths));
  await forEachYielding(paths, (path) => {
    const [owner, ...others] = setsOf(path, mostSharing).flatMap((at) => drafts[at] ?? []);
    if (owner === undefined) return;
    owned.get(owner)?.push(path);
    for (const other of others) if (!firsts.has(other)) firsts.set(other, { path, owner });
    if (others[0]) overlaps.add(`${owner.schema.collection}" and "${others[0].schema.collection}`);
  });
  for (const pair of overlaps) {
    warnings.push({ code: 'overlap', message: `Collections "${pair}" share files; they belong to the first` });
  }
  return { owned, firsts };
}

/** A framework's collection under another name than the CMS gave the same files is that collection once more. @returns how many there were */
function dropCovered(
  drafts: Draft[],
  owned: ReadonlyMap<Draft, string[]>,
  firsts: ReadonlyMap<Draft, { owner: Draft }>,
  warnings: Warning[],
): number {
  const count = drafts.length;
  for (const draft of drafts.filter((one) => owned.get(one)?.length === 0)) {
    const { collection, source } = draft.schema;
    const owner = firsts.get(draft)?.owner.schema;
    if (owner === undefined || owner.source.kind === source.kind) continue;
    drafts.splice(drafts.indexOf(draft), 1);
    const message = `The files of collection "${collection}" are described in ${owner.source.path} as "${owner.collection}"`;
    warnings.push({ code: 'described_twice', message, path: source.path, collection });
  }
  return count - drafts.length;
}

/** Keeps the first collections by name, in the order they have. @returns how many are left out */
function bound(drafts: Draft[]): number {
  const hidden = drafts.length - MAX_COLLECTIONS;
  if (hidden <= 0) return 0;
  const names = drafts.map(({ schema }) => schema.collection).sort();
  const shown = new Set(names.slice(0, MAX_COLLECTIONS));
  drafts.splice(0, drafts.length, ...drafts.filter(({ schema }) => shown.has(schema.collection)));
  return hidden;
}

/** Up to `count` of the paths, evenly spread. */
function spread(paths: readonly string[], count: number): string[] {
  if (paths.length <= count) return [...paths];
  return Array.from({ length: count }, (_, at) => paths[Math.floor((at * paths.length) / count)] ?? '');
}

async function inferMissing(
  drafts: readonly Draft[],
  owned: ReadonlyMap<Draft, string[]>,
  sampleEntries: (paths: readonly string[]) => Promise<EntrySample[]>,
): Promise<void> {
  const missing = drafts.filter((draft) => draft.infer);
  if (missing.length === 0) return;
  const slugs = new Map<string, ReadonlySet<string>>();
  for (const draft of drafts) {
    const { entries } = await finishYielding(slugSteps(draft.schema, owned.get(draft) ?? []));
    slugs.set(draft.schema.collection, await setYielding(entries, ({ slug }) => slug));
  }
  for (const draft of missing) {
    const samples = await sampleEntries(spread(owned.get(draft) ?? [], MAX_SAMPLES));
    const parsed = samples.flatMap((sample) => (sample.frontmatter === null ? [] : [sample.frontmatter]));
    // What the framework declares stays; the entries add their own keys.
    const declared = draft.schema.fields;
    const names = new Set(declared.map((field) => field.name));
    const shown = await finishYielding(inferSteps(parsed, draft.schema.collection, slugs));
    const seen = shown.filter((field) => !names.has(field.name));
    draft.schema.fields = [...declared, ...seen];
    const identifier = ['title', 'name', 'label'].find((key) =>
      draft.schema.fields.some((field) => field.name === key),
    );
    if (identifier !== undefined) draft.schema.identifier_field ??= identifier;
  }
}
