import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { build, compare, writeSite } from './support/routes/real-build.ts';
import { eleventySite } from './support/routes/sites/eleventy.ts';
import { starlightSite } from './support/routes/sites/starlight.ts';
import { vitepressSite } from './support/routes/sites/vitepress.ts';

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'portico-routes-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const quiet = ['--ignore-scripts', '--no-audit', '--no-fund'];

/** A directory with packages of exactly these versions, from the npm registry; their scripts are not run. */
async function withPackages(name: string, packages: Record<string, string>): Promise<string> {
  const directory = join(home, name);
  await mkdir(directory);
  await writeFile(join(directory, 'package.json'), JSON.stringify({ type: 'module', dependencies: packages }));
  await build(directory, 'npm', 'install', ...quiet);
  return directory;
}

describe('the pages that were predicted are written', () => {
  it('by Astro, of the demo site', async () => {
    const directory = join(home, 'demo');
    const source = join(import.meta.dirname, '../demo');
    await cp(source, directory, { recursive: true, filter: (path) => !/node_modules|dist$/.test(path) });
    await build(directory, 'npm', 'ci', ...quiet);
    await build(directory, 'npx', 'astro', 'build');
    // Lists of posts and of tags, and the homes of the languages, have parameters that are no entries.
    const made = /^(en|de)\/(index\.html|posts\/|tags\/)/;
    const found = await compare(directory, 'dist', made);
    expect(found).toMatchObject({ framework: 'astro', missing: [], unpredicted: [] });
    expect(found.predicted).toBeGreaterThan(20);
  });

  it('by Starlight, with a base and two languages', async () => {
    const directory = await withPackages('starlight', { astro: '7.3.5', '@astrojs/starlight': '0.42.4' });
    await writeSite(directory, starlightSite);
    await build(directory, 'npx', 'astro', 'build');
    // What is not translated is shown in the root language, out of no file of its own.
    const made = /^404\.html$|^de\/(elsewhere|reference|guides\/(component|v12-notes))\//;
    const found = await compare(directory, 'dist', made);
    expect(found).toMatchObject({ framework: 'starlight', missing: [], unpredicted: [] });
    expect(found.predicted).toBeGreaterThan(9);
  });

  it('by Eleventy', async () => {
    const directory = await withPackages('eleventy', { '@11ty/eleventy': '3.1.2' });
    await writeSite(directory, eleventySite);
    await build(directory, 'npx', 'eleventy');
    const found = await compare(directory, 'www', /^$/);
    expect(found).toMatchObject({ framework: 'eleventy', missing: [], unpredicted: [] });
    expect(found.predicted).toBeGreaterThan(18);
  });

  it('by VitePress, with clean addresses and without', async () => {
    const directory = await withPackages('vitepress', { vitepress: '1.6.4' });
    for (const clean of [true, false]) {
      await writeSite(directory, vitepressSite(clean));
      await build(directory, 'npx', 'vitepress', 'build');
      const found = await compare(directory, '.vitepress/dist', /^404\.html$|^items\//);
      expect(found).toMatchObject({ framework: 'vitepress', missing: [], unpredicted: [] });
      expect(found.predicted).toBeGreaterThan(11);
    }
  });
});
