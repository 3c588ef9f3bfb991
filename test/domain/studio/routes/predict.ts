import { parseFile } from '../../../../src/domain/studio/frontmatter/parse-file.ts';
import { readRoutes, type SiteRoutes } from '../../../../src/domain/studio/routes/routes-cache.ts';
import { siteOf } from '../schema/sites.ts';

/** A page with these lines of frontmatter. */
export const page = (...lines: string[]) => `---\n${['title: A page', ...lines].join('\n')}\n---\nText\n`;

export const packageWith = (...names: string[]) =>
  JSON.stringify({ dependencies: Object.fromEntries(names.map((name) => [name, '1.0.0'])) });

/** The address of every file that has one, by its path. */
export async function predict(
  files: Record<string, string>,
): Promise<{ routes: SiteRoutes; urls: Record<string, string> }> {
  const routes = await readRoutes(siteOf(files));
  const urls: Record<string, string> = {};
  for (const [path, text] of Object.entries(files)) {
    const { frontmatter } = parseFile(Buffer.from(text), path);
    const url = routes.urlOf({ path, frontmatter: frontmatter ?? {} });
    if (url !== null) urls[path] = url;
  }
  return { routes, urls };
}
