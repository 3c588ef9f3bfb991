import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { parseFile } from '../../../src/domain/studio/frontmatter/parse-file.ts';
import { readRoutes } from '../../../src/domain/studio/routes/routes-cache.ts';
import type { SiteFiles } from '../../../src/domain/studio/schema/collection-schema.ts';

const run = promisify(execFile);
const notSource = /(^|\/)(node_modules|\.git|\.astro|\.jekyll-cache|resources\/_gen)(\/|$)|\.hugo_build\.lock$/;

export async function writeSite(directory: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
}

/** Runs one program to its end; a program that is not there fails by its name. */
export async function build(directory: string, program: string, ...args: string[]): Promise<void> {
  // npm's settings and certificates are those of whoever runs the tests.
  const plain = { CI: 'true', LANG: 'C.UTF-8', TZ: 'UTC', NO_COLOR: '1', ASTRO_TELEMETRY_DISABLED: '1' };
  const env: NodeJS.ProcessEnv = { ...process.env, ...plain, NODE_ENV: 'production' };
  // A deployment has none of these of the test runner, which make drafts pages.
  for (const name of ['MODE', 'DEV', 'PROD', 'SSR', 'TEST', 'VITEST']) delete env[name];
  try {
    await run(program, args, { cwd: directory, env, timeout: 170_000 });
  } catch (error) {
    const { code, stderr = '', stdout = '' } = error as { code?: string; stderr?: string; stdout?: string };
    throw new Error(`${program} ${args.join(' ')}: ${code}\n${stdout.slice(-2000)}\n${stderr.slice(-2000)}`);
  }
}

export async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .sort();
}

/** What a directory holds, as a repository would give it. */
export async function siteIn(directory: string, output: string): Promise<SiteFiles> {
  const paths = (await filesBelow(directory)).filter((path) => !notSource.test(path) && !path.startsWith(`${output}/`));
  const read = (path: string) => readFile(join(directory, path), 'utf8').catch(() => null);
  return { paths: paths.map((path) => ({ path, oid: path })), read };
}

const isPage = /\.(md|mdx|markdown|mkd|mkdn|mdown|html|njk|liquid|astro|11ty\.js)$/;

/** Files of the output that a URL may be; the site's base is not part of what is written. */
function candidates(url: string, base: string): string[] {
  const path = decodeURIComponent(url).slice(base.length + 1);
  if (path === '' || path.endsWith('/')) return [`${path}index.html`];
  return [path, `${path}.html`, `${path}/index.html`];
}

export interface Comparison {
  framework: string | undefined;
  predicted: number;
  /** Predicted pages that the generator did not write. */
  missing: string[];
  /** Written pages that nothing predicted. */
  unpredicted: string[];
}

/**
 * Compares the predicted paths of all source files with the pages a generator wrote.
 * @param made pages the generator makes out of no file of their own
 */
export async function compare(directory: string, output: string, made: RegExp): Promise<Comparison> {
  const site = await siteIn(directory, output);
  const routes = await readRoutes(site);
  const written = new Set(await filesBelow(join(directory, output)));
  const explained = new Set<string>();
  const missing: string[] = [];
  let predicted = 0;
  const now = new Date();
  for (const { path } of site.paths) {
    if (!isPage.test(path)) continue;
    const { frontmatter } = parseFile(Buffer.from((await site.read(path)) ?? ''), path);
    const file = { path, frontmatter: frontmatter ?? {} };
    const url = routes.urlOf(file);
    if (url === null || !routes.isDue(file, now)) continue;
    predicted++;
    const found = candidates(url, routes.base).find((one) => written.has(one));
    if (found === undefined) missing.push(`${path} → ${url}`);
    else explained.add(found);
  }
  return {
    framework: routes.detected.framework?.id,
    predicted,
    missing,
    unpredicted: [...written].filter((path) => /\.html?$/.test(path) && !explained.has(path) && !made.test(path)),
  };
}
