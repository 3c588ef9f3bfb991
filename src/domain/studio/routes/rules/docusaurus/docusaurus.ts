import type { Frontmatter } from '../../../frontmatter/types.ts';
import { codeExtensions, findConfig, readCodeConfig } from '../../../schema/config/config-file.ts';
import { compileGlob } from '../../../schema/glob.ts';
import { below, joinPath } from '../../../schema/site-layout.ts';
import { at, isFalse, textsOf } from '../../../schema/static/read-value.ts';
import { routeOfFile } from '../file-routes.ts';
import { basePath, urlPath } from '../paths.ts';
import { lessUnknown, type RouteReading, type RouteRule } from '../rule.ts';
import { Settings } from '../settings.ts';
import { documentPath, postPath } from './document-paths.ts';
import { type ContentKind, instancesOf } from './instances.ts';
import { versionsOf } from './versions.ts';

/** A directory of content and the route its files are published below. */
interface Area {
  directory: string;
  route: string;
  kind: ContentKind;
  stripsNumbers: boolean;
  excluded: (rest: string) => boolean;
}

/** Docusaurus: documents, posts and pages of every instance, version and language. */
export async function readDocusaurusRule(reading: RouteReading): Promise<RouteRule> {
  const path = findConfig(reading, ['docusaurus.config'], codeExtensions);
  const read = path === undefined ? null : await readCodeConfig(path, reading);
  const settings = new Settings(read?.value, path ?? reading.layout.root, reading);
  const slash = settings.flag('trailingSlash');
  const areas = await areasOf(settings, reading);
  return {
    base: basePath(settings.text('baseUrl')),
    urlOf({ path: file, frontmatter }) {
      for (const area of areas) {
        const rest = below(area.directory, file);
        if (rest === null) continue;
        const address = addressIn(area, rest, frontmatter);
        return address === null ? null : ended(urlPath(area.route, address), slash);
      }
      return null;
    },
    evidenceOf: () => ({
      confidence: lessUnknown(read?.value == null ? 0.7 : 0.9, settings.unknown),
      source: { path: settings.path },
    }),
  };
}

function addressIn(area: Area, rest: string, frontmatter: Frontmatter): string | null {
  const page = area.kind === 'pages' ? /\.(mdx?|jsx?|tsx?)$/ : /\.mdx?$/;
  const hidden = /(^|\/)(_|__tests__\/)|\.test\.[jt]sx?$|\.d\.ts$/.test(rest) || area.excluded(rest);
  if (!page.test(rest) || hidden || frontmatter.draft === true) return null;
  if (area.kind === 'docs') return documentPath(rest, frontmatter, area.stripsNumbers);
  if (area.kind === 'blog') return postPath(rest, frontmatter);
  const slug = frontmatter.slug;
  if (typeof slug === 'string' && slug !== '') return urlPath(slug);
  return /(^|\/)index\.\w+$/.test(rest) ? urlPath(routeOfFile(rest), '/') : urlPath(routeOfFile(rest));
}

/** `undefined` leaves the path as it is: documents without a slash, indexes with one. */
function ended(path: string, slash: boolean | undefined): string {
  if (path === '/' || slash === undefined) return path;
  return slash ? `${path.replace(/\/$/, '')}/` : path.replace(/\/$/, '');
}

async function areasOf(settings: Settings, reading: RouteReading): Promise<Area[]> {
  const { root } = reading.layout;
  const fallback = settings.text('i18n', 'defaultLocale') ?? 'en';
  const locales = settings.texts('i18n', 'locales').filter((locale) => locale !== fallback);
  const areas: Area[] = [];
  for (const instance of instancesOf(settings)) {
    const { kind, id, route, options } = instance;
    const globs = textsOf(at(options, 'exclude')).flatMap((pattern) => compileGlob(pattern) ?? []);
    const excluded = (rest: string) => globs.some((glob) => glob.matches(rest));
    const parser = at(options, 'numberPrefixParser');
    const shared = { kind, excluded, stripsNumbers: !(parser && isFalse(parser)) };
    const plugin = `docusaurus-plugin-content-${kind}${id === 'default' ? '' : `-${id}`}`;
    const versions =
      kind === 'docs'
        ? await versionsOf(instance, reading)
        : [{ name: '', directory: joinPath(root, instance.path), route: '' }];
    for (const version of versions) {
      areas.push({ ...shared, directory: version.directory, route: urlPath(route, version.route) });
      const folder = version.name === '' ? '' : version.name === 'current' ? 'current' : `version-${version.name}`;
      for (const locale of locales) {
        const directory = joinPath(root, 'i18n', locale, plugin, folder);
        areas.push({ ...shared, directory, route: urlPath(locale, route, version.route) });
      }
    }
  }
  // The deepest directory owns a file.
  return areas.sort((a, b) => b.directory.length - a.directory.length);
}
