import { codeExtensions, findConfig, readCodeConfig } from '../../schema/config/config-file.ts';
import { below, extensionOf, joinPath } from '../../schema/site-layout.ts';
import { type AnyNode, isNode, MAX_SOURCE, nodesOf, parseModule } from '../../schema/static/syntax.ts';
import { fillRoute, type RouteSegment, routeOfFile, routeSegments } from '../routing/file-routes.ts';
import { basePath, entryId, urlPath, withoutExtension } from '../routing/paths.ts';
import { type PageFile, penalizeUnknown, type RouteContext, type RouteRule } from '../routing/route-rule.ts';
import { Settings } from '../routing/settings.ts';
import { astroReader } from './schema.ts';

/** The collections of a site, as far as the ids of their entries go. */
interface AstroCollections {
  /** Name of a file's collection and its path below the collection's base; null outside all. */
  of(path: string): { name: string; rest: string } | null;
  /** The loaders make ids by functions of their own. */
  ownIds: boolean;
}

async function readCollections(reading: RouteContext): Promise<AstroCollections> {
  // Warnings about schemas are given with the schemas.
  const drafts = await astroReader.read({ ...reading, layout: { ...reading.layout, locales: null }, warnings: [] });
  const declared = drafts.map(({ schema }) => schema);
  const content = joinPath(reading.layout.root, 'src/content');
  return {
    of(path) {
      const schema = declared.find((one) => one.matches(path));
      if (schema) return { name: schema.collection, rest: below(schema.path, path) ?? path };
      // Older sites need no declaration: every directory is a collection.
      const rest = declared.length > 0 ? null : below(content, path);
      const slash = rest?.indexOf('/') ?? -1;
      if (rest === null || slash === -1 || rest.split('/').some((part) => part.startsWith('_'))) return null;
      return { name: rest.slice(0, slash), rest: rest.slice(slash + 1) };
    },
    ownIds: await hasOwnIds(declared[0]?.source.path, reading),
  };
}

async function hasOwnIds(path: string | undefined, { site }: RouteContext): Promise<boolean> {
  const text = path === undefined ? null : await site.read(path);
  if (path === undefined || !text?.includes('generateId')) return false;
  try {
    for (const node of nodesOf(await parseModule(path, text, site.budget)))
      if (node.type === 'Identifier' && node.name === 'generateId') return true;
  } catch {
    return false;
  }
  return false;
}

/** What a parameter of a page takes from an entry: its id, or a field; `unclear` when the code does not say it plainly. */
type ParameterSource = { kind: 'id' } | { kind: 'field'; name: string } | { kind: 'unclear' };

/** A page that is written once for each entry of collections. */
interface PageTemplate {
  path: string;
  segments: RouteSegment[];
  /** Its file is called `index`. */
  index: boolean;
  collections: ReadonlySet<string>;
  parameters: ReadonlyMap<string, ParameterSource>;
  /** It gives the entry itself on to the page, so that each is a page of its own, whatever field its address is made of. */
  passesEntry: boolean;
  /** Its code leaves drafts out. */
  hidesDrafts: boolean;
}

const maxTemplates = 300;

/** The pages with parameters whose `getStaticPaths` reads collections. Their code is parsed, never run. */
async function readTemplates(reading: RouteContext, pages: string): Promise<PageTemplate[]> {
  const paths = reading.paths.filter((path) => {
    const rest = below(pages, path);
    return rest?.includes('[') && rest.endsWith('.astro') && !rest.split('/').some((part) => part.startsWith('_'));
  });
  const templates = await Promise.all(paths.slice(0, maxTemplates).map((path) => readTemplate(path, pages, reading)));
  return templates.filter((one) => one !== null);
}

async function readTemplate(path: string, pages: string, reading: RouteContext): Promise<PageTemplate | null> {
  const rest = below(pages, path) ?? '';
  const segments = routeSegments(routeOfFile(rest));
  const script = scriptOf((await reading.site.read(path)) ?? '');
  reading.dependencies.add(path);
  if (segments === null || script === null) return null;
  try {
    const program = await parseModule(`${path}.ts`, script, reading.site.budget);
    return { path, segments, index: /(^|\/)index\.astro$/.test(rest), ...inspect(program) };
  } catch {
    const message = 'The code of the page cannot be read; what it publishes is not known';
    reading.warnings.push({ code: 'page_unreadable', message, path });
    return null;
  }
}

/** The code between the first two fences. */
function scriptOf(text: string): string | null {
  if (text.length > MAX_SOURCE) return null;
  return /^\s*---[ \t]*\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1] ?? null;
}

function inspect(program: unknown): Pick<PageTemplate, 'collections' | 'parameters' | 'passesEntry' | 'hidesDrafts'> {
  const collections = new Set<string>();
  const parameters = new Map<string, ParameterSource>();
  /** Names that parameters take fields of, and names that are given on to the page. */
  const [sources, passed] = [new Set<string>(), new Set<string>()];
  let hidesDrafts = false;
  for (const node of nodesOf(staticPaths(program) ?? program)) {
    if (node.type === 'CallExpression') {
      const [first] = Array.isArray(node.arguments) ? node.arguments : [];
      const name = isNode(node.callee) && node.callee.type === 'Identifier' ? node.callee.name : '';
      const reads = name === 'getCollection' || name === 'getLiveCollection';
      if (reads && isNode(first) && first.type === 'StringLiteral') collections.add(String(first.value));
    } else if (node.type === 'ObjectProperty' && keyOf(node) === 'params' && isNode(node.value)) {
      for (const member of Array.isArray(node.value.properties) ? node.value.properties : []) {
        const key = isNode(member) && member.type === 'ObjectProperty' ? keyOf(member) : null;
        if (key === null) continue;
        const { value } = member as AnyNode;
        parameters.set(key, sourceOf(value));
        sources.add(entryOf(value));
      }
    } else if (node.type === 'ObjectProperty' && keyOf(node) === 'props' && isNode(node.value)) {
      const members = Array.isArray(node.value.properties) ? node.value.properties : [];
      const values = [node.value, ...members.map((member) => (isNode(member) ? member.value : null))];
      for (const value of values) if (isNode(value) && value.type === 'Identifier') passed.add(String(value.name));
    } else if (node.type === 'Identifier' && node.name === 'draft') hidesDrafts = true;
  }
  return { collections, parameters, passesEntry: [...sources].some((name) => passed.has(name)), hidesDrafts };
}

/** `post` of `post.data.topic`; `''` for what is no field of anything. */
function entryOf(value: unknown): string {
  let current = value;
  while (isNode(current) && /MemberExpression$/.test(current.type)) current = current.object;
  return isNode(current) && current.type === 'Identifier' && current !== value ? String(current.name) : '';
}

const keyOf = (node: AnyNode): string | null =>
  isNode(node.key) ? String(node.key.name ?? node.key.value ?? '') : null;

/** The function a page exports as `getStaticPaths`. */
function staticPaths(program: unknown): AnyNode | null {
  for (const node of nodesOf(program)) {
    const named = isNode(node.id) && node.id.name === 'getStaticPaths';
    if (named && (node.type === 'FunctionDeclaration' || node.type === 'VariableDeclarator')) return node;
  }
  return null;
}

/** `post.id` is the id, `post.data.topic` a field; anything made of them is unclear. */
function sourceOf(value: unknown): ParameterSource {
  if (!isNode(value)) return { kind: 'unclear' };
  if (value.type === 'Identifier') return /^(id|slug)$/.test(String(value.name)) ? { kind: 'id' } : { kind: 'unclear' };
  if (!/MemberExpression$/.test(value.type) || !isNode(value.property)) return { kind: 'unclear' };
  const name = String(value.property.name ?? value.property.value ?? '');
  const { object } = value;
  if (isNode(object) && object.type === 'Identifier' && (name === 'id' || name === 'slug')) return { kind: 'id' };
  const data = isNode(object) && isNode(object.property) ? object.property.name : object && (object as AnyNode).name;
  return data === 'data' ? { kind: 'field', name } : { kind: 'unclear' };
}

/** Directory of the pages. */
const pagesDirectory = (root: string, source: string | undefined): string =>
  joinPath(root, (source ?? 'src').replace(/^(\.?\/)+|(?<!\/)\/+$/g, ''), 'pages');

/** The page that publishes the entries of a collection. */
interface CollectionRoute {
  template: PageTemplate;
  /** 0.9 when the code says that a parameter is the id, else 0.4. */
  confidence: number;
  /** The id is divided over two parameters: its first segment, and the rest. */
  split: { first: string } | null;
}

const names = ({ segments }: PageTemplate) => segments.flatMap((one) => ('name' in one ? [one] : []));

/** Whether a template publishes entries one by one, and how surely. */
function routeOf(template: PageTemplate): CollectionRoute | null {
  const all = names(template);
  const kinds = all.map(({ name }) => template.parameters.get(name)?.kind);
  if (kinds.includes('id') && kinds.every((kind) => kind === 'id' || kind === 'field'))
    return { template, confidence: 0.9, split: null };
  if (kinds.length > 0 && kinds.every((kind) => kind === 'field') && template.passesEntry)
    return { template, confidence: 0.7, split: null };
  const [first, second] = all;
  const known = kinds.every((kind) => kind !== undefined);
  if (all.length === 2 && first && second?.rest && known && !first.rest)
    return { template, confidence: 0.4, split: { first: first.name } };
  return all.length === 1 && kinds[0] === 'unclear' ? { template, confidence: 0.4, split: null } : null;
}

/** By collection the page that publishes its entries: the surest, then the one with the fewest parameters. */
function routesOf(templates: readonly PageTemplate[]): (collection: string) => CollectionRoute | null {
  const routes = templates
    .flatMap((template) => routeOf(template) ?? [])
    .sort((a, b) => b.confidence - a.confidence || names(a.template).length - names(b.template).length);
  const known = new Map<string, CollectionRoute | null>();
  return (collection) => {
    const found = known.get(collection);
    if (found !== undefined) return found;
    const reading = routes.find(({ template }) => template.collections.has(collection));
    const route = reading ?? beside(templates, collection);
    known.set(collection, route);
    return route;
  };
}

/** A guess: the page with one parameter in the directory that is called like the collection, whose code does not say what it reads. */
function beside(templates: readonly PageTemplate[], collection: string): CollectionRoute | null {
  const template = templates.find((one) => {
    const [only, ...more] = names(one);
    const directory = one.segments.at(-2);
    const named = directory !== undefined && 'text' in directory && directory.text === collection;
    return only && more.length === 0 && named && one.collections.size === 0;
  });
  return template ? { template, confidence: 0.4, split: null } : null;
}

const pageFile = new Set(['astro', 'md', 'mdx', 'markdown', 'mdown', 'mkdn', 'mkd', 'mdwn', 'html']);

/**
 * Astro and Starlight: files below `src/pages` are pages; an entry of a collection is where the page with a parameter that reads the
 * collection puts its id; Starlight publishes the collection `docs` at the top.
 */
export async function readAstroRule(reading: RouteContext): Promise<RouteRule> {
  const { layout, detected } = reading;
  const path = findConfig(reading, ['astro.config'], codeExtensions);
  const read = path === undefined ? null : await readCodeConfig(path, reading);
  const settings = new Settings(read?.value, path ?? layout.root, reading);
  const pages = pagesDirectory(layout.root, settings.text('srcDir'));
  const collections = await readCollections(reading);
  const routes = routesOf(await readTemplates(reading, pages));
  if (collections.ownIds) settings.warn('generateId');
  const base = basePath(settings.text('base'));
  const end = endings(settings, base);
  const starlight = detected.framework?.id === 'starlight';

  const routeFor = ({ path: file }: PageFile) => {
    const at = collections.of(file);
    return at && { ...at, route: routes(at.name), docs: starlight && at.name === 'docs' };
  };
  return {
    base,
    undetermined: settings.firstUnknown('base', 'build.format', 'trailingSlash', 'srcDir'),
    urlOf(file) {
      const rest = below(pages, file.path);
      if (rest !== null) return pageUrl(rest, end);
      const at = routeFor(file);
      if (at === null) return null;
      const id = entryId(withoutExtension(at.rest), file.frontmatter.slug);
      if (at.docs) return file.frontmatter.draft === true ? null : end(id === 'index' ? '' : id, false);
      return at.route && entryUrl(at.route, id, file, end);
    },
    evidenceOf(file) {
      const at = below(pages, file) === null ? routeFor({ path: file, frontmatter: {} }) : null;
      const confidence = penalizeUnknown(at?.route && !at.docs ? at.route.confidence : 0.9, settings.unknown);
      return { confidence, source: { path: (!at?.docs && at?.route?.template.path) || settings.path } };
    },
  };
}

type End = (route: string, index: boolean) => string;

/** How the path of a route ends; `index`: its file is an index. */
function endings(settings: Settings, base: string): End {
  const format = settings.text('build', 'format') ?? 'directory';
  const slash = settings.text('trailingSlash') ?? 'ignore';
  return (route, index) => {
    const path = urlPath(route);
    if (path === '/') return slash === 'never' && format !== 'file' && base !== '' ? '' : path;
    if (/^\/(404|500)$/.test(path)) return `${path}.html`;
    if (format === 'file' || (format === 'preserve' && !index)) return `${path}.html`;
    return slash === 'never' ? path : `${path}/`;
  };
}

function pageUrl(rest: string, end: End): string | null {
  if (!pageFile.has(extensionOf(rest)) || rest.includes('[')) return null;
  if (rest.split('/').some((part) => part.startsWith('_'))) return null;
  return end(routeOfFile(rest), /(^|\/)index\.\w+$/.test(rest));
}

function entryUrl({ template, split }: CollectionRoute, id: string, file: PageFile, end: End): string | null {
  if (template.hidesDrafts && file.frontmatter.draft === true) return null;
  const [first = '', ...others] = id.split('/');
  const route = fillRoute(template.segments, (name) => {
    if (split) return name === split.first ? first : others.join('/');
    const source = template.parameters.get(name) ?? { kind: 'unclear' };
    if (source.kind !== 'field') return id;
    const value = file.frontmatter[source.name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  });
  return route === null ? null : end(route, template.index);
}
