/**
 * Sites that cannot be built, only read: how Portico classifies each of their files. Every file is an entry, a part of pages, data or media, or is left
 * out for a reason; what has none is named.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseFile } from '../src/domain/studio/frontmatter/parse-file.ts';
import { mimeOf } from '../src/domain/studio/mime.ts';
import { readRoutes } from '../src/domain/studio/routes/routes-cache.ts';
import type { Discovery, SiteFiles } from '../src/domain/studio/schema/collection-schema.ts';
import { discoverSchemas } from '../src/domain/studio/schema/discover.ts';
import { toolFiles } from '../src/domain/studio/schema/inferred-groups.ts';
import { membership } from '../src/domain/studio/schema/path-set.ts';
import { below, configurationFiles, extensionOf, isExcluded } from '../src/domain/studio/schema/site-layout.ts';
import { filesBelow } from '../test/support/routes/built-pages.ts';
import type { Bench, Report } from './benchmark.ts';
import { corpusIn } from './support/corpora.ts';

const mostNamed = 50;

async function siteIn(directory: string): Promise<SiteFiles> {
  const paths = (await filesBelow(directory)).map((file) => ({ path: file, oid: file }));
  const read = async (file: string) => {
    const bytes = await readFile(path.join(directory, file)).catch(() => null);
    return bytes === null || bytes.length > 1024 * 1024 ? null : bytes.toString('utf8');
  };
  return { paths, read };
}

const projectFile = /^(?:readme|changelog|licen[cs]e|contributing|code_of_conduct|authors|notice)(?:[._-].*)?$/i;
const code = /^(?:[cm]?[jt]sx?|astro|vue|svelte|css|s[ac]ss|less|styl|html?|njk|liquid|ejs|pug|rb|py|go|sh|snap|lock)$/;

const isToolFile = membership(toolFiles);

/** Why a file is no entry; null: no reason is known. */
function reasonOf(file: string, { contentRoot, mediaRoots }: Discovery, configurations: ReadonlySet<string>) {
  const name = path.posix.basename(file);
  if (file.split('/').some((part) => part.startsWith('.'))) return 'hidden';
  if (configurations.has(file) || isToolFile(file)) return 'configuration';
  if (mediaRoots.some((root) => below(root.path, file) !== null) && !/\.mdx?$/.test(file)) return 'media';
  if (/(?:^|\/)(?:public|static)\//.test(file)) return 'published as it is';
  if (/^(?:image|video|audio|font)\/|pdf$|zip$/.test(mimeOf(file, false))) return 'media elsewhere';
  if (code.test(extensionOf(file))) return 'code or template';
  if (projectFile.test(name)) return 'document of the project';
  if (isExcluded(file, { root: contentRoot, given: false, framework: null })) return 'package, test, build output';
  if (below(contentRoot, file) === null) return 'outside of the site';
  return path.posix.dirname(`/${file}`) === `/${contentRoot}` ? 'beside the configuration' : null;
}

interface Explained {
  counts: Map<string, number>;
  unexplained: string[];
  milliseconds: number;
}

async function explain(directory: string): Promise<Explained> {
  const site = await siteIn(directory);
  const begun = performance.now();
  const content = async (file: string) => readFile(path.join(directory, file));
  const sampleEntries = (files: readonly string[]) =>
    Promise.all(
      files.map(async (file) => ({ path: file, frontmatter: parseFile(await content(file), file).frontmatter })),
    );
  const discovery = await discoverSchemas(site, { sampleEntries });
  const routes = await readRoutes(site, { root: discovery.contentRoot });
  const milliseconds = performance.now() - begun;
  const configurations = new Set([
    ...discovery.dependencies,
    ...routes.dependencies,
    ...(await configurationFiles(site.paths)).map((file) => file.path),
  ]);
  const counts = new Map<string, number>();
  const unexplained: string[] = [];
  for (const { path: file } of site.paths) {
    const owner = discovery.schemas.find(({ matches }) => matches(file));
    const what = owner ? owner.kind : reasonOf(file, discovery, configurations);
    if (what === null) unexplained.push(file);
    else counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return { counts, unexplained, milliseconds };
}

/** Explains every file of every site. */
export async function explainCorpus(directory: string, bench: Bench): Promise<Report> {
  const cases: Report['cases'][number][] = [];
  const notes: string[] = [];
  for (const [name, at] of await corpusIn(directory, bench)) {
    const { counts, unexplained, milliseconds } = await explain(at);
    const kinds = [...counts].sort(([, a], [, b]) => b - a).map(([what, count]) => `${count} ${what}`);
    cases.push({ name: `${name}: ${kinds.join(', ')}; unexplained`, unit: '', value: unexplained.length, atMost: 0 });
    cases.push({ name: `${name}: schemas and routes`, unit: 'ms', value: milliseconds });
    notes.push(...unexplained.slice(0, mostNamed).map((file) => `${name}: unexplained: ${file}`));
    bench.say(`${name}: explained`);
  }
  return { cases, notes };
}
