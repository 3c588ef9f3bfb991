import { codeExtensions, findConfig, readCodeConfig } from '../../schema/config/config-file.ts';
import { below, extensionOf, joinPath } from '../../schema/site-layout.ts';
import { fillRoute, type RouteSegment, routeSegments } from '../routing/file-routes.ts';
import { withoutExtension } from '../routing/paths.ts';
import { penalizeUnknown, type RouteContext, type RouteRule } from '../routing/route-rule.ts';
import { Settings } from '../routing/settings.ts';

/** The settings of the first configuration there is of these names. */
export async function codeSettings(reading: RouteContext, names: readonly string[]): Promise<Settings> {
  const path = findConfig(reading, names, codeExtensions);
  const read = path === undefined ? null : await readCodeConfig(path, reading);
  return new Settings(read?.value, path ?? reading.layout.root, reading);
}

/** A rule by convention: at most 0.7 sure, whatever the configuration says. */
export const byConvention = (
  settings: Settings,
  { base, links, undetermined }: Pick<RouteRule, 'base' | 'links' | 'undetermined'>,
  urlOf: RouteRule['urlOf'],
  confidence: (path: string) => number = () => 0.7,
): RouteRule => ({
  base,
  ...(links && { links }),
  ...(undetermined !== undefined && { undetermined }),
  urlOf,
  evidenceOf: (path) => ({
    confidence: penalizeUnknown(confidence(path), settings.unknown),
    source: { path: settings.path },
  }),
});

/** A page that a framework writes once for each value of its last parameter. */
interface DynamicPage {
  path: string;
  segments: RouteSegment[];
}

/** Pages with parameters, out of files and the routes they stand for. */
export function dynamicPages(routes: readonly { path: string; route: string }[]): DynamicPage[] {
  return routes.flatMap(({ path, route }) => {
    const segments = route.includes('[') ? routeSegments(route) : null;
    return segments ? [{ path, segments }] : [];
  });
}

const directories = ['content', 'src/content', 'posts', 'src/posts', '_posts', 'data', 'src/data', 'src/lib/content'];
const markdown = new Set(['md', 'mdx', 'svx', 'markdown']);

/**
 * Where Markdown of a content directory may be published: by the page with one parameter whose fixed part is called like the directory the file
 * is in, else by one at the top that takes any number of segments. A guess: what such a page reads is code.
 */
export function contentUrl(path: string, { layout }: RouteContext, pages: readonly DynamicPage[]): string | null {
  if (!markdown.has(extensionOf(path))) return null;
  for (const directory of directories) {
    const rest = below(joinPath(layout.root, directory), path);
    if (rest === null) continue;
    const stem = withoutExtension(rest).replace(/\/index$/, '');
    const slash = stem.indexOf('/');
    const collection = slash === -1 ? (directory.split('/').at(-1) ?? '') : stem.slice(0, slash);
    const slug = slash === -1 ? stem : stem.slice(slash + 1);
    const own = pages.find(({ segments }) => {
      const names = segments.filter((one) => 'name' in one);
      const before = segments.at(-2);
      return names.length === 1 && before !== undefined && 'text' in before && before.text === collection;
    });
    const any = pages.find(({ segments: [only, ...more] }) => only && 'name' in only && only.rest && more.length === 0);
    const page = own ?? any;
    if (page) return fillRoute(page.segments, () => (own ? slug : stem));
  }
  return null;
}
