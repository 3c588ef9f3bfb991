import { filterYielding, forEachYielding } from '../../../lib/concurrency.ts';
import type { LocaleRules } from '../slug.ts';
import type { CollectionSchema, Discovery, MediaRoot } from './collection-schema.ts';
import type { SchemaField, SchemaSourceKind } from './schema.schema.ts';

/** Extensions of Markdown entries, the preferred one first (studio slug rules). */
export const markdownExtensions = ['md', 'mdx', 'markdown', 'mdoc', 'mkd', 'mkdn', 'mdown', 'mdwn'] as const;
export const dataExtensions = ['yml', 'yaml', 'json', 'toml'] as const;

/** Lower-case extension without its dot; `''` when the name has none. */
export function extensionOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : '';
}

/** A path of a configuration without slashes at its ends. */
export const trimmedPath = (path: string): string => path.replace(/^\.?\/+|(?<!\/)\/+$/g, '');

export const joinPath = (...parts: string[]) => parts.filter((part) => part !== '').join('/');
/** `path` relative to directory `base`; null when it is not below it. */
export function below(base: string, path: string): string | null {
  if (base === '') return path;
  return path.startsWith(`${base}/`) ? path.slice(base.length + 1) : null;
}

/** Files that tell the root of a site, relative to that root. */
const frameworkFiles: [RegExp, string][] = [
  [/^studio\.config\.(json|ya?ml|ts|js)$/, 'studio'],
  [/^src\/(content\.config|content\/config)\.(ts|js|mjs|mts)$/, 'astro'],
  [/^astro\.config\.(mjs|js|ts|mts|cjs)$/, 'astro'],
  [/^(hugo\.(toml|ya?ml|json)|config\/_default\/(hugo|config)\.(toml|ya?ml|json))$/, 'hugo'],
  [/^docusaurus\.config\.(js|ts|mjs|cjs|mts)$/, 'docusaurus'],
  [/^mkdocs\.ya?ml$/, 'mkdocs'],
  [/^\.vitepress\/config\.(js|ts|mjs|mts)$/, 'vitepress'],
  [/^nuxt\.config\.(js|ts|mjs|mts)$/, 'nuxt'],
  [/^(\.eleventy\.c?js|eleventy\.config\.(js|mjs|cjs|ts))$/, 'eleventy'],
  [/^gatsby-config\.(js|ts|mjs)$/, 'gatsby'],
  [/^svelte\.config\.(js|ts|mjs)$/, 'sveltekit'],
  [/^next\.config\.(js|ts|mjs|cjs)$/, 'next'],
  [/^_config\.ya?ml$/, 'jekyll'],
  [/^config\.(toml|ya?ml|json)$/, 'maybe hugo'],
  [/^(keystatic\.config\.[jt]sx?|tina\/config\.[jt]sx?)$/, 'none'],
];
/** Of Decap, wherever it lies. */
export const decapConfig = /(^|\/)admin\/config\.(ya?ml|toml|json)$/;

/** Say where a site is, but not what builds it. */
const weak: ReadonlySet<string> = new Set(['none', 'studio', 'maybe hugo']);

/** Depth of configuration files, so of sites inside a repository. */
const MAX_SITE_DEPTH = 3;
const configLeaf =
  /(^|\/)([\w.-]*config[\w.-]*\.\w+|mkdocs\.ya?ml|\.eleventy\.c?js|hugo\.\w+|\.pages\.yml|frontmatter\.json|config\/[\w-]+\/[\w.-]+|archetypes\/.+)$/;
const notASite = /(^|\/)(node_modules|vendor|tests?|__tests__|fixtures|examples?|exampleSite|templates|themes)(\/|$)/;

const isConfiguration = (path: string) => configLeaf.test(path) && !notASite.test(path);

/** How the directory of a site was found: named by the caller, by a framework's configuration, or neither, which leaves the repository root. */
export type RootOrigin = 'given' | 'configured' | 'assumed';

export interface SiteLayout {
  /** The site's directory in the repository; `''` is the repository root. */
  root: string;
  /** The root was named by the caller: nothing outside is looked at, and its README is the site's, not an entry. */
  given: boolean;
  framework: string | null;
  locales: LocaleRules | null;
  /** Declared by a configuration; absent: the framework's usual ones. */
  mediaRoots?: MediaRoot[];
  /** Every page may have files beside it, as a configuration says. */
  filesBeside?: true;
  /** Fields every page has that no collection declares, of frameworks that have no collections. */
  pages?: { kind: SchemaSourceKind; path: string; fields: readonly SchemaField[] };
}

/** Directories of the first levels, each with its parents. */
async function directoriesOf(paths: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  await forEachYielding(paths, (path) => {
    let slash = path.indexOf('/');
    for (let depth = 0; slash !== -1 && depth <= MAX_SITE_DEPTH + 1; depth++) {
      found.add(path.slice(0, slash));
      slash = path.indexOf('/', slash + 1);
    }
  });
  return found;
}

/** Configurations of one name belong to several tools: the directories beside them tell which. */
function settleName(framework: string, root: string, directories: ReadonlySet<string>): string {
  const has = (name: string) => directories.has(joinPath(root, name));
  if (framework === 'jekyll') return has('scaffolds') || (has('source/_posts') && !has('_posts')) ? 'hexo' : framework;
  if (framework !== 'maybe hugo') return framework;
  return has('content') && ['archetypes', 'layouts', 'themes'].some(has) ? 'hugo' : framework;
}

/** Hugo's directories of configuration, one for each environment, are part of the site above them. */
export const isConfigDirectory = (directory: string) => /(^|\/)config\/[\w-]+$/.test(directory);

/** The directory that a file configures a framework in, if it does by its name. */
function siteOf(path: string): { root: string; framework: string } | null {
  const parts = path.split('/');
  for (let depth = 0; depth < Math.min(parts.length, MAX_SITE_DEPTH + 1); depth++) {
    const rest = parts.slice(depth).join('/');
    const framework = frameworkFiles.find(([one]) => one.test(rest))?.[1];
    if (framework === undefined) continue;
    const root = parts.slice(0, depth).join('/');
    return isConfigDirectory(root) ? null : { root, framework };
  }
  return null;
}

/** `[root, framework]` of each site whose configuration is in the tree, the shallowest first, then by path. */
async function sitesOf(paths: readonly string[]): Promise<[string, string][]> {
  const found = new Map<string, string>();
  const configurations = await filterYielding(paths, isConfiguration);
  if (configurations.length === 0) return [];
  const directories = await directoriesOf(paths);
  await forEachYielding(configurations, (path) => {
    const site = siteOf(path);
    if (site === null) return;
    const framework = settleName(site.framework, site.root, directories);
    const known = found.get(site.root);
    if (framework === 'maybe hugo' || known === 'astro' || (known !== undefined && weak.has(framework))) return;
    found.set(site.root, framework);
  });
  return [...found].sort(([a], [b]) => bySite(a, b));
}

/** By depth, then by path: the first of several sites is the one that is used. */
const depthOf = (root: string) => (root === '' ? 0 : root.split('/').length);
const bySite = (a: string, b: string) => depthOf(a) - depthOf(b) || (a < b ? -1 : 1);

/** Finds the site's directory: the one given, else the shallowest with a framework's configuration, else the repository root. */
export async function findSite(
  paths: readonly string[],
  given: string | undefined,
): Promise<SiteLayout & { origin: RootOrigin; others: string[] }> {
  const sites = await sitesOf(paths);
  const root = given ?? sites[0]?.[0] ?? '';
  const framework = sites.find(([path, name]) => path === root && !weak.has(name))?.[1] ?? null;
  const others = given === undefined ? sites.slice(1).map(([path]) => path) : [];
  const origin = given !== undefined ? 'given' : sites.length > 0 ? 'configured' : 'assumed';
  return { root, given: given !== undefined, framework, locales: null, origin, others };
}

/** A directory that can be the content root: a site of its own. */
interface ContentRoot {
  path: string;
  framework: string | null;
  /** Markdown files below it that are not below another such directory. */
  files: number;
}

/** Directories with a framework's configuration and content of their own, the shallowest first. */
export async function contentRootsOf(paths: readonly string[]): Promise<ContentRoot[]> {
  const sites = await sitesOf(paths);
  const found = new Map<string, ContentRoot>(
    sites.map(([path, name]) => [path, { path, framework: weak.has(name) ? null : name, files: 0 }]),
  );
  if (found.size === 0) return [];
  await forEachYielding(paths, (path) => {
    if (!markdownExtensions.some((extension) => path.endsWith(`.${extension}`))) return;
    let directory = path;
    let owner: ContentRoot | undefined;
    while (!owner && directory !== '') {
      directory = directory.slice(0, Math.max(0, directory.lastIndexOf('/')));
      owner = found.get(directory);
    }
    if (owner && !isExcluded(path, { root: owner.path, given: true, framework: owner.framework })) owner.files += 1;
  });
  return [...found.values()].filter(({ files }) => files > 0);
}

/** Names that stand for their directory in this framework. */
export function indexNames(framework: string | null): string[] {
  if (framework === 'hugo') return ['index', '_index'];
  return framework === 'mkdocs' || framework === 'docusaurus' ? ['index', 'README'] : ['index'];
}

const buildOutputs = ['dist', 'build', '_site', 'out', 'public'];
const excludedAtRoot = new Set([...buildOutputs, 'vendor', 'archetypes', 'scaffolds']);
/** Directories of programs and their tests, of sites whose content has a directory of its own. */
const besideContent = new Set(['test', 'tests', 'fixtures', 'scripts', 'e2e', 'example', 'examples']);
const withContentDirectory = new Set(['astro', 'hugo', 'hexo', 'docusaurus', 'mkdocs', 'nuxt', 'gatsby', 'sveltekit']);
/** Where designs lie that bring examples of content with them. */
const withThemes = new Set(['hugo', 'hexo']);
const ofTests = new Set(['__tests__', '__fixtures__', '__mocks__']);
const packages = new Set(['packages', 'libs', 'crates']);

/** Whether what lies below these directories is what the site is built and tested with. */
function isTooling([top = '', ...more]: readonly string[], framework: string | null): boolean {
  if (framework === null) return false;
  if (withThemes.has(framework) && top === 'themes') return true;
  // Templates of other formats than HTML may be called `single.md`.
  if (framework === 'hugo' && top === 'layouts') return true;
  if (!withContentDirectory.has(framework)) return false;
  return besideContent.has(top) || (packages.has(top) && more.some((name) => besideContent.has(name)));
}

const projectFile = /^(readme|changelog|licen[cs]e)([._-].*)?$/i;

/** Whether a file is no content wherever collections are: packages, tests, hidden directories, build outputs, the project's own papers. */
export function isExcluded(path: string, layout: Pick<SiteLayout, 'root' | 'given' | 'framework'>): boolean {
  if (path.split('/').some((part) => part === 'node_modules' || part.startsWith('.') || ofTests.has(part))) return true;
  const roots = layout.given ? [layout.root] : [...new Set(['', layout.root])];
  for (const root of roots) {
    const rest = below(root, path);
    if (rest === null) continue;
    const slash = rest.indexOf('/');
    if (slash !== -1 && excludedAtRoot.has(rest.slice(0, slash))) return true;
    if (slash !== -1 && isTooling(rest.split('/').slice(0, -1), layout.framework)) return true;
    // Of a root that was only found, the README may well be a page: the readme of the repository is the one at its top.
    if (slash === -1 && projectFile.test(rest) && (root === '' || layout.given)) return true;
  }
  return false;
}

const staticDirectories: [string, string | null][] = [
  ['public', '/'],
  ['static', '/'],
  ['source/images', '/images'],
  ['assets', '/assets'],
  ['images', '/images'],
  ['img', '/img'],
  ['src/assets', null],
  ['src/images', null],
];

/** Frameworks that write the site to `public`. */
const publishingToPublic = new Set(['hugo', 'hexo', 'gatsby']);
/** Where a framework takes files from, whether there are any yet; those of `null` are published only as pages use them. */
const usualDirectories: Readonly<Record<string, readonly (readonly [string, string | null])[]>> = {
  astro: [
    ['public', '/'],
    ['src/assets', null],
  ],
  docusaurus: [['static', '/']],
  gatsby: [['static', '/']],
  hugo: [
    ['static', '/'],
    ['assets', null],
  ],
  jekyll: [['assets', '/assets']],
  sveltekit: [['static', '/']],
};

/** Directories of media files: those of the usual names that exist, and the framework's own. */
export async function mediaRootsOf(paths: readonly string[], layout: SiteLayout): Promise<MediaRoot[]> {
  const present = new Set<string>();
  const from = layout.root === '' ? 0 : layout.root.length + 1;
  await forEachYielding(paths, (path) => {
    if (below(layout.root, path) === null) return;
    const first = path.indexOf('/', from);
    const second = first === -1 ? -1 : path.indexOf('/', first + 1);
    if (first !== -1) present.add(path.slice(from, first));
    if (second !== -1) present.add(path.slice(from, second));
  });
  const framework = layout.framework ?? '';
  const isBuilt = (directory: string) => directory === 'public' && publishingToPublic.has(framework);
  const own = new Map(usualDirectories[framework]);
  const others = staticDirectories.filter(([directory]) => !own.has(directory) && present.has(directory));
  const roots = [...own, ...others.filter(([directory]) => !isBuilt(directory))];
  return (roots.length > 0 ? roots : [['public', '/'] as const]).map(([directory, public_path]) => ({
    path: joinPath(layout.root, directory),
    public_path,
  }));
}

/** Frameworks whose pages may have files beside them. */
const withFilesBeside = new Set(['astro', 'hugo', 'docusaurus', 'vitepress', 'mkdocs']);

/** Whether entries of a collection may have files beside them, in its own directory or a deeper one. */
export const hasFilesBeside = (
  { path, source: { kind }, extensions }: Pick<CollectionSchema, 'path' | 'source' | 'extensions'>,
  { framework, root, filesBeside }: SiteLayout,
): boolean =>
  path !== '' &&
  path !== root &&
  kind !== 'studio_config' &&
  markdownExtensions.some((one) => extensions.includes(one)) &&
  (kind === 'keystatic' ||
    filesBeside === true ||
    (withFilesBeside.has(framework ?? '') && (kind !== 'inference' || /(^|\/)(content|docs)(\/|$)/.test(path))));

/**
 * Files that a reader looks for by name in the site's directory, beside those of frameworks, and Hugo's that say which programs run and how pages are
 * made; case does not count in their names.
 */
const besideFrameworks =
  /^(frontmatter\.json|config\/[\w-]+\/(build|caches|cascade|config|deployment|hugo|languages|markup|mediatypes|module|outputformats|outputs|security|server)(\.[\w-]+)?\.(toml|ya?ml|json))$/i;

/**
 * Whether a site is read by what a file of this name holds, or would be if it were there: it says where the site is, which files are content, or how
 * pages are made. Such a file is code, whatever collection it lies in: who may change content alone could make any file content by it.
 */
export function isSettings(
  { contentRoot, rootOrigin, settings }: Pick<Discovery, 'contentRoot' | 'rootOrigin' | 'settings'>,
  path: string,
): boolean {
  if (path === '.pages.yml' || decapConfig.test(path) || settings.includes(path)) return true;
  const rest = below(contentRoot, path);
  if (rest !== null && (besideFrameworks.test(rest) || frameworkFiles.some(([one]) => one.test(rest)))) return true;
  const site = rootOrigin === 'given' || !isConfiguration(path) ? null : siteOf(path);
  return site !== null && (rootOrigin === 'assumed' || bySite(site.root, contentRoot) < 0);
}

/** Files whose appearance or change can change what discovery finds, for the caller's cache key. */
export function configurationFiles<T extends { path: string }>(files: readonly T[]): Promise<T[]> {
  return filterYielding(files, ({ path }) => isConfiguration(path));
}
