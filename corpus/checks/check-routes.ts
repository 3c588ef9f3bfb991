import { parseFile } from '../../src/domain/studio/frontmatter/parse-file.ts';
import { readRoutes } from '../../src/domain/studio/routes/routes-cache.ts';
import type { SourceReport } from '../report.ts';
import { textReader } from '../sources/read-text.ts';
import type { Source } from '../sources/source.ts';

/** Files that generators make pages of. */
const page = /\.(?:md|mdx|markdown|html|njk|liquid|astro|11ty\.js)$/;
const mostSamples = 5;

/** Where a source's pages would be published: its framework, how many addresses are predicted, and how many of them are taken twice. */
export async function checkRoutes(source: Source, report: SourceReport, signal: AbortSignal): Promise<void> {
  const began = performance.now();
  const routes = await readRoutes({ paths: [...source.files], read: textReader(source) });
  report.times.routes = { count: 1, milliseconds: performance.now() - began };
  const { framework, root } = routes.detected;
  const found: SourceReport['routes'] = {
    ...{ framework: framework && [framework.id, framework.version].filter(Boolean).join(' '), root, base: routes.base },
    ...{ predicted: 0, no_page: 0, collisions: 0, samples: [], warnings: routes.warnings.length },
  };
  report.routes = found;
  const taken = new Set<string>();
  // Without a framework there is no rule to predict by.
  for (const file of framework ? source.files : []) {
    if (!page.test(file.path)) continue;
    signal.throwIfAborted();
    const bytes = await source.read(file);
    if (bytes === null) continue;
    const url = routes.urlOf({ path: file.path, frontmatter: parseFile(bytes, file.path).frontmatter ?? {} });
    if (url === null) found.no_page++;
    else if (taken.has(url)) found.collisions++;
    if (url === null) continue;
    taken.add(url);
    found.predicted++;
    if (found.samples.length < mostSamples) found.samples.push({ path: file.path, url });
  }
}
