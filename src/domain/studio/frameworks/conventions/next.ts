import { below, joinPath } from '../../schema/site-layout.ts';
import { isTrue } from '../../schema/static/values.ts';
import { routeOfFile } from '../routing/file-routes.ts';
import { basePath, directoryOf, nameOf, urlPath } from '../routing/paths.ts';
import type { RouteContext, RouteRule } from '../routing/route-rule.ts';
import { byConvention, codeSettings, contentUrl, dynamicPages } from './convention.ts';

const appPage = /(^|\/)page\.(tsx?|jsx?|mdx?)$/;
const pagesPage = /\.(tsx?|jsx?|mdx?)$/;

/** Route of a file of the App Router; null when it is none: groups and slots drop, private directories are left out. */
function appRoute(rest: string): string | null {
  const parts = directoryOf(rest).split('/').filter(Boolean);
  if (!appPage.test(rest) || parts.some((part) => part.startsWith('_'))) return null;
  return parts.filter((part) => !/^(\(.*\)|@.*)$/.test(part)).join('/');
}

function pagesRoute(rest: string): string | null {
  if (!pagesPage.test(rest) || /^api\//.test(rest) || /^_/.test(nameOf(rest))) return null;
  return routeOfFile(rest);
}

/** Next.js and Nextra: files of `app` and `pages`; content directories by the page with parameters that is called like them. */
export async function readNextRule(reading: RouteContext): Promise<RouteRule> {
  const settings = await codeSettings(reading, ['next.config']);
  const slash = isTrue(settings.at('trailingSlash'));
  const { root } = reading.layout;
  const nextra = reading.detected.framework?.id === 'nextra';
  const routeOf = (path: string): string | null => {
    for (const home of ['', 'src']) {
      const app = below(joinPath(root, home, 'app'), path);
      const pages = below(joinPath(root, home, 'pages'), path);
      const content = nextra ? below(joinPath(root, home, 'content'), path) : null;
      if (app !== null) return appRoute(app);
      if (pages !== null) return pagesRoute(pages);
      if (content !== null) return /\.mdx?$/.test(content) ? routeOfFile(content) : null;
    }
    return null;
  };
  const routes = reading.paths.flatMap((path) => {
    const route = path.includes('[') ? routeOf(path) : null;
    return route === null ? [] : [{ path, route }];
  });
  const pages = dynamicPages(routes);
  return byConvention(
    settings,
    { base: basePath(settings.text('basePath')), undetermined: settings.firstUnknown('basePath', 'trailingSlash') },
    ({ path }) => {
      const route = routeOf(path);
      if (route?.includes('[')) return null;
      const url = route === null ? contentUrl(path, reading, pages) : urlPath(route);
      return url === null || url === '/' || !slash ? url : `${url}/`;
    },
    (path) => (routeOf(path) === null ? 0.4 : 0.7),
  );
}
