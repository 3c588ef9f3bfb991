import { describe, expect, it } from 'vitest';
import { environmentDefaults } from '../../../../src/domain/studio/frameworks/environment-defaults.ts';
import { RoutesCache, readRoutes } from '../../../../src/domain/studio/routes/routes-cache.ts';
import type { Repository } from '../../../../src/ports/git.ts';
import type { Oid, Snapshot, TreeFile } from '../../../../src/ports/git-records.ts';
import { hostileConfigs } from '../schema/hostile-texts.ts';
import { siteOf } from '../schema/sites.ts';

const data = [
  '_config.yml',
  'hugo.toml',
  'hugo.yaml',
  'mkdocs.yml',
  'config/_default/permalinks.toml',
  'package.json',
  'package-lock.json',
  'Gemfile',
  'pyproject.toml',
  'versions.json',
  'posts/posts.json',
];
const code = [
  'astro.config.mjs',
  'src/content.config.ts',
  'docusaurus.config.js',
  '.vitepress/config.mts',
  'eleventy.config.js',
  'next.config.mjs',
  'gatsby-config.js',
  'nuxt.config.ts',
  'svelte.config.js',
  'posts/posts.11tydata.js',
];
/** What makes the file in question count. */
const beside: Record<string, Record<string, string>> = {
  'config/_default/permalinks.toml': { 'hugo.toml': '' },
  'versions.json': { 'docusaurus.config.js': 'export default {};' },
  'posts/posts.json': { 'eleventy.config.js': '' },
  'posts/posts.11tydata.js': { 'eleventy.config.js': '' },
  'src/content.config.ts': { 'astro.config.mjs': 'export default {};' },
};
const cases = [
  ...data.flatMap((path) => hostileConfigs.data.map((text, at): [string, number, string] => [path, at, text])),
  ...code.flatMap((path) => hostileConfigs.code.map((text, at): [string, number, string] => [path, at, text])),
];

describe('configurations that want to do harm', () => {
  it.each(cases)('%s, case %i: routes are read, soon, and nothing is run', async (path, _at, text) => {
    const site = siteOf({
      ...beside[path],
      [path]: text,
      'posts/a.md': '',
      'content/b.md': '',
      'docs/c.md': '',
      'src/pages/[...slug].astro': `---\n${text}\n---\n`,
    });
    const before = performance.now();
    const routes = await readRoutes(site);
    for (const file of ['posts/a.md', 'content/b.md', 'docs/c.md', 'src/pages/x.md', path])
      expect(routes.urlOf({ path: file, frontmatter: {} }) ?? '/').toMatch(/^\//);
    await environmentDefaults(site, routes.detected);
    expect(performance.now() - before).toBeLessThan(30_000);
    expect((globalThis as Record<string, unknown>).__ran).toBeUndefined();
  });
});

describe('malicious frontmatter', () => {
  const values: unknown[] = [
    { a: 1 },
    [[]],
    1e308,
    '../../etc/passwd',
    '//evil.example/',
    `/${'a:'.repeat(5000)}`,
    '\ud800',
    '{{'.repeat(5000),
  ];
  const sites: Record<string, string>[] = [
    { 'hugo.toml': "[permalinks]\nposts = '/:sections[9999999999:]/:title/:slug'" },
    { '_config.yml': 'permalink: /:categories/:title' },
    { 'eleventy.config.js': '' },
    { 'docusaurus.config.js': 'export default {};' },
    { '_config.yml': '', 'scaffolds/a.md': '', 'source/_posts/a.md': '' },
  ];
  it.each(sites)('%o: an address is a path on this site, or there is none', async (config) => {
    const files = [
      'content/posts/a.md',
      '_posts/2020-01-02-a.md',
      'posts/a.md',
      'docs/a.md',
      'blog/2020-01-02-a.md',
      'source/_posts/a.md',
    ];
    const routes = await readRoutes(siteOf({ ...config, ...Object.fromEntries(files.map((path) => [path, ''])) }));
    for (const path of files) {
      for (const value of values) {
        const keys = ['slug', 'url', 'permalink', 'title', 'date', 'categories', 'id', 'draft', '__proto__'];
        const url = routes.urlOf({ path, frontmatter: Object.fromEntries(keys.map((key) => [key, value])) });
        if (url !== null) expect(url).toMatch(/^\/(?!\/)/);
      }
    }
  });
});

describe('the routes of many versions', () => {
  /** Reads the routes of versions of a site of so many files, then those of the first again. @returns how often the files were listed */
  async function listings(files: number, versions: number): Promise<number> {
    const cache = new RoutesCache();
    const git = { id: 'site', sizes: async (oids: readonly Oid[]) => oids.map(() => null) } as unknown as Repository;
    const listed: TreeFile[] = Array.from({ length: files }, (_, n) => ({
      path: `content/${n}.md`,
      oid: `${n}`.padStart(40, '0') as Oid,
      mode: '100644',
    }));
    let count = 0;
    const at = (version: number) =>
      cache.at(
        git,
        {
          tree: `${version}`,
          async files() {
            count += 1;
            return listed;
          },
          changesSince: async () => null,
        } as unknown as Snapshot,
        null,
      );
    for (let version = 0; version < versions; version += 1) await at(version);
    await at(0);
    return count;
  }

  it('are kept by the files of all of them together', async () => {
    expect(await listings(10, 30)).toBe(30);
    expect(await listings(100_000, 3)).toBe(3);
    expect(await listings(100_001, 3)).toBe(4);
  });
});
