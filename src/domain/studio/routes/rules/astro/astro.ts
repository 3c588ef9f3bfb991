import { codeExtensions, findConfig, readCodeConfig } from '../../../schema/config/config-file.ts';
import { below, extensionOf } from '../../../schema/site-layout.ts';
import { fillRoute, routeOfFile } from '../file-routes.ts';
import { basePath, urlPath, withoutExtension } from '../paths.ts';
import { lessUnknown, type PageFile, type RouteReading, type RouteRule } from '../rule.ts';
import { Settings } from '../settings.ts';
import { readCollections } from './collections.ts';
import { pagesDirectory, readTemplates } from './page-templates.ts';
import { entryId } from './slugs.ts';
import { type CollectionRoute, routesOf } from './template-choice.ts';

const pageFile = new Set(['astro', 'md', 'mdx', 'markdown', 'mdown', 'mkdn', 'mkd', 'mdwn', 'html']);

/**
 * Astro and Starlight: files below `src/pages` are pages; an entry of a collection is where the page with a parameter that reads the
 * collection puts its id; Starlight publishes the collection `docs` at the top.
 */
export async function readAstroRule(reading: RouteReading): Promise<RouteRule> {
  const { layout, detected } = reading;
  const path = findConfig(reading, ['astro.config'], codeExtensions);
  const read = path === undefined ? null : await readCodeConfig(path, reading);
  const settings = new Settings(read?.value, path ?? layout.root, reading);
  const pages = pagesDirectory(layout.root, settings.text('srcDir'));
  const collections = await readCollections(reading);
  const routes = routesOf(await readTemplates(reading, pages));
  if (collections.ownIds) settings.warn('generateId');
  const end = endings(settings);
  const starlight = detected.framework?.id === 'starlight';

  const routeFor = ({ path: file }: PageFile) => {
    const at = collections.of(file);
    return at && { ...at, route: routes(at.name), docs: starlight && at.name === 'docs' };
  };
  return {
    base: basePath(settings.text('base')),
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
      const confidence = lessUnknown(at?.route && !at.docs ? at.route.confidence : 0.9, settings.unknown);
      return { confidence, source: { path: (!at?.docs && at?.route?.template.path) || settings.path } };
    },
  };
}

type End = (route: string, index: boolean) => string;

/** How the path of a route ends; `index`: its file is an index. */
function endings(settings: Settings): End {
  const format = settings.text('build', 'format') ?? 'directory';
  const slash = settings.text('trailingSlash') ?? 'ignore';
  return (route, index) => {
    const path = urlPath(route);
    if (path === '/') return path;
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
