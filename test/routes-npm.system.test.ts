import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copySite, fixtureSites, runProgram, type SiteCopy } from './support/routes/fixture-sites.ts';
import { buildAndJudge } from './support/routes/real-build.ts';

const repository = resolve(import.meta.dirname, '..');
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'portico-routes-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const copyOf = (name: keyof typeof fixtureSites): Promise<SiteCopy> => copySite(fixtureSites[name], repository, home);

// Docusaurus and Nuxt need minutes: `npm run bench -- sites` builds them.
describe.concurrent('the pages that were predicted are written', () => {
  it('by Astro, of the demo site', async () => {
    const directory = join(home, 'demo');
    const source = join(repository, 'demo');
    await cp(source, directory, { recursive: true, filter: (path) => !/node_modules|dist$/.test(path) });
    const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
    await runProgram(directory, 'npm', 'ci', '--include=dev', ...quietly);
    const found = await buildAndJudge({
      directory,
      output: join(directory, 'dist'),
      build: () => runProgram(directory, join(directory, 'node_modules/.bin/astro'), 'build').then(() => undefined),
      version: async () => undefined,
      remove: async () => {},
    });
    expect(found).toMatchObject({ framework: 'astro', wrong: [], unknown: [] });
    expect(found.right.length).toBeGreaterThan(20);
  });

  it.each([
    ['astro', 'astro', 17],
    ['starlight', 'starlight', 13],
    ['hexo', 'hexo', 12],
    ['eleventy', 'eleventy', 32],
    ['vitepress', 'vitepress', 15],
  ] as const)('of the site %s', async (name, framework, least) => {
    const found = await buildAndJudge(await copyOf(name));
    expect(found).toMatchObject({ framework, wrong: [], unknown: [] });
    expect(found.right.length).toBeGreaterThan(least);
  });

  it('of the site vitepress, without clean addresses', async () => {
    const copy = await copySite(fixtureSites.vitepress, repository, join(home, 'html'));
    const config = join(copy.directory, '.vitepress/config.mts');
    await writeFile(config, (await readFile(config, 'utf8')).replace('cleanUrls: true', 'cleanUrls: false'));
    const found = await buildAndJudge(copy);
    expect(found).toMatchObject({ framework: 'vitepress', wrong: [], unknown: [] });
    expect(found.right.length).toBeGreaterThan(15);
  });
});
