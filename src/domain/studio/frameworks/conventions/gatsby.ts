import { below, extensionOf, joinPath } from '../../schema/site-layout.ts';
import { at, textAt } from '../../schema/static/values.ts';
import { routeOfFile } from '../routing/file-routes.ts';
import { basePath, urlPath } from '../routing/paths.ts';
import type { RouteContext, RouteRule } from '../routing/route-rule.ts';
import { byConvention, codeSettings } from './convention.ts';

const markdown = new Set(['md', 'mdx', 'markdown']);

/** Directories that `gatsby-source-filesystem` reads: `${__dirname}/content/blog` is below the site. */
function sources(plugins: Awaited<ReturnType<typeof codeSettings>>): string[] {
  const found = plugins.items('plugins').flatMap((plugin) => {
    const path = textAt(at(plugin, 'options'), 'path');
    return textAt(plugin, 'resolve') === 'gatsby-source-filesystem' && path !== undefined ? [path] : [];
  });
  return found.map((path) => path.replace(/^(\.?\/)+|(?<!\/)\/+$/g, ''));
}

/** Gatsby: files of `src/pages`, and Markdown by its path below its source, as `createFilePath` makes it. */
export async function readGatsbyRule(reading: RouteContext): Promise<RouteRule> {
  const settings = await codeSettings(reading, ['gatsby-config']);
  const { root } = reading.layout;
  const never = settings.text('trailingSlash') === 'never';
  const own = reading.paths.some((path) => below(root, path)?.startsWith('gatsby-node.'));
  const directories = [...sources(settings), 'content/blog', 'content'].map((path) => joinPath(root, path));
  const end = (route: string) => (route === '' ? '/' : never ? urlPath(route) : urlPath(route, '/'));
  return byConvention(
    settings,
    { base: basePath(settings.text('pathPrefix')), undetermined: settings.firstUnknown('pathPrefix', 'trailingSlash') },
    ({ path }) => {
      const page = below(joinPath(root, 'src/pages'), path);
      if (page !== null) return /\.(jsx?|tsx?|mdx?)$/.test(page) && !page.includes('{') ? end(routeOfFile(page)) : null;
      if (!markdown.has(extensionOf(path))) return null;
      const rest = directories.map((directory) => below(directory, path)).find((one) => one !== null);
      return rest == null ? null : end(routeOfFile(rest));
    },
    () => (own ? 0.4 : 0.7),
  );
}
