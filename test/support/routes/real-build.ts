import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseFile } from '../../../src/domain/studio/frontmatter/parse-file.ts';
import { readRoutes, type SiteRoutes } from '../../../src/domain/studio/routes/routes-cache.ts';
import { filesBelow, type Judgement, judge, markSources, readPages } from './built-pages.ts';
import type { SiteCopy } from './fixture-sites.ts';

/** The rule of the site in a directory, and the addresses it gives to files of it, as a repository would give them. */
export async function predictedIn(directory: string, files?: Iterable<string>) {
  const paths = await filesBelow(directory);
  const read = (path: string) => readFile(join(directory, path), 'utf8').catch(() => null);
  const routes: SiteRoutes = await readRoutes({ paths: paths.map((path) => ({ path, oid: path })), read });
  const [urls, aliases, held] = [new Map<string, string>(), new Map<string, string>(), new Set<string>()];
  for (const path of files ?? paths) {
    const file = { path, frontmatter: parseFile(Buffer.from((await read(path)) ?? ''), path).frontmatter ?? {} };
    const url = routes.urlOf(file);
    if (url !== null) urls.set(path, url);
    for (const alias of routes.aliasesOf(file)) aliases.set(alias, path);
    if (!routes.isDue(file, new Date())) held.add(path);
  }
  return { routes, urls, aliases, held };
}

/** Builds a site and judges the addresses that are predicted for its files. */
export async function buildAndJudge(copy: SiteCopy): Promise<Judgement & { framework: string | undefined }> {
  const marks = await markSources(copy.directory);
  const { routes, urls, aliases, held } = await predictedIn(copy.directory, marks.keys());
  await copy.build();
  const pages = await readPages(copy.output);
  const judgement = judge(marks, pages, { base: routes.base, urls, aliases, isHeld: (path) => held.has(path) });
  return { framework: routes.detected.framework?.id, ...judgement };
}
