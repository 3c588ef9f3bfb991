import { below, joinPath } from '../../schema/site-layout.ts';
import { basePath, directoryOf, urlPath } from '../routing/paths.ts';
import type { RouteContext, RouteRule } from '../routing/route-rule.ts';
import { byConvention, codeSettings, contentUrl, dynamicPages } from './convention.ts';

const page = /(^|\/)\+page\.(svelte|md|svx|mdx)$/;

/** SvelteKit: directories of `src/routes` with a page; groups drop. Content directories by the page with parameters called like them. */
export async function readSveltekitRule(reading: RouteContext): Promise<RouteRule> {
  const settings = await codeSettings(reading, ['svelte.config']);
  const routes = joinPath(reading.layout.root, 'src/routes');
  const routeOf = (path: string): string | null => {
    const rest = page.test(path) ? below(routes, path) : null;
    if (rest === null) return null;
    return directoryOf(rest)
      .split('/')
      .filter((part) => !/^\(.*\)$/.test(part))
      .join('/');
  };
  const pages = dynamicPages(
    reading.paths.flatMap((path) => {
      const route = path.includes('[') ? routeOf(path) : null;
      return route === null ? [] : [{ path, route }];
    }),
  );
  return byConvention(
    settings,
    { base: basePath(settings.text('kit', 'paths', 'base')), undetermined: settings.firstUnknown('kit.paths.base') },
    ({ path }) => {
      const route = routeOf(path);
      if (route?.includes('[')) return null;
      return route === null ? contentUrl(path, reading, pages) : urlPath(route);
    },
    (path) => (routeOf(path) === null ? 0.4 : 0.7),
  );
}
