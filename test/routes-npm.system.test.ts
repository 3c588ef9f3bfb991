import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { build, compare, writeSite } from './support/routes/real-build.ts';
import { eleventySite } from './support/routes/sites/eleventy.ts';
import { hexoSites } from './support/routes/sites/hexo.ts';
import { starlightSite } from './support/routes/sites/starlight.ts';
import { vitepressSite } from './support/routes/sites/vitepress.ts';

/** All generators but the demo site's, installed together: much of what they need is the same. */
const packages = {
  '@11ty/eleventy': '3.1.2',
  '@astrojs/starlight': '0.42.4',
  astro: '7.3.5',
  hexo: '8.1.2',
  'hexo-renderer-marked': '7.0.1',
  vitepress: '1.6.4',
};
/** Their scripts are not run, and what npm has fetched before is not asked for again. */
const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];

let home: string;
let demo: string;

/** Whoever builds waits for what is installed for it alone. */
const installed: Record<'demo' | 'others', Promise<void>> = { demo: Promise.resolve(), others: Promise.resolve() };

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'portico-routes-'));
  demo = join(home, 'demo');
  const source = join(import.meta.dirname, '../demo');
  await cp(source, demo, { recursive: true, filter: (path) => !/node_modules|dist$/.test(path) });
  await writeFile(join(home, 'package.json'), JSON.stringify({ dependencies: packages }));
  installed.demo = build(demo, 'npm', 'ci', ...quietly);
  installed.others = build(home, 'npm', 'install', ...quietly);
  for (const install of Object.values(installed)) install.catch(() => {});
});
afterAll(async () => {
  await Promise.allSettled(Object.values(installed));
  await rm(home, { recursive: true, force: true });
});

/** A directory for a site that names its packages; Node finds them above it. */
async function siteOf(name: string, ...used: (keyof typeof packages)[]): Promise<string> {
  const directory = join(home, name);
  const dependencies = Object.fromEntries(used.map((one) => [one, packages[one]]));
  await writeSite(directory, { 'package.json': JSON.stringify({ type: 'module', dependencies }) });
  return directory;
}

/** Runs a program of the packages. */
async function generate(directory: string, program: string, ...args: string[]): Promise<void> {
  await installed.others;
  await build(directory, join(home, 'node_modules/.bin', program), ...args);
}

describe.concurrent('the pages that were predicted are written', () => {
  it('by Astro, of the demo site', async () => {
    await installed.demo;
    await build(demo, join(demo, 'node_modules/.bin/astro'), 'build');
    // Lists of posts and of tags, and the homes of the languages, have parameters that are no entries.
    const made = /^(en|de)\/(index\.html|posts\/|tags\/)/;
    const found = await compare(demo, 'dist', made);
    expect(found).toMatchObject({ framework: 'astro', missing: [], unpredicted: [] });
    expect(found.predicted).toBeGreaterThan(20);
  });

  it('by Starlight, with a base and two languages', async () => {
    const directory = await siteOf('starlight', 'astro', '@astrojs/starlight');
    await writeSite(directory, starlightSite);
    await generate(directory, 'astro', 'build');
    // What is not translated is shown in the root language, out of no file of its own.
    const made = /^404\.html$|^de\/(elsewhere|reference|guides\/(component|v12-notes))\//;
    const found = await compare(directory, 'dist', made);
    expect(found).toMatchObject({ framework: 'starlight', missing: [], unpredicted: [] });
    expect(found.predicted).toBeGreaterThan(9);
  });

  it('by Eleventy', async () => {
    const directory = await siteOf('eleventy', '@11ty/eleventy');
    await writeSite(directory, eleventySite);
    await generate(directory, 'eleventy');
    const found = await compare(directory, 'www', /^$/);
    expect(found).toMatchObject({ framework: 'eleventy', missing: [], unpredicted: [] });
    expect(found.predicted).toBeGreaterThan(18);
  });

  it.each(Object.entries(hexoSites))('by Hexo, %s', async (name, files) => {
    const directory = join(home, name.replaceAll(' ', '-'));
    await writeSite(directory, files);
    await generate(directory, 'hexo', 'generate');
    // A post without a date has that of its file; what is not a post in an asset folder is a page beside one.
    const made = /\/2023-02-03-named\/index\.html$|\/plain\/note\.html$/;
    const found = await compare(directory, 'public', made);
    expect(found).toMatchObject({ framework: 'hexo', missing: [], unpredicted: [] });
    expect(found.predicted).toBeGreaterThan(23);
  });

  it.each([true, false])('by VitePress, clean addresses: %s', async (clean) => {
    const directory = await siteOf(`vitepress-${clean}`, 'vitepress');
    await writeSite(directory, vitepressSite(clean));
    await generate(directory, 'vitepress', 'build');
    const found = await compare(directory, '.vitepress/dist', /^404\.html$|^items\//);
    expect(found).toMatchObject({ framework: 'vitepress', missing: [], unpredicted: [] });
    expect(found.predicted).toBeGreaterThan(11);
  });
});
