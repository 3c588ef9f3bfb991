import { describe, expect, it } from 'vitest';
import { expandPattern } from '../../../../src/domain/studio/routes/entry-routes.ts';
import { pageKey, pathOf } from '../../../../src/domain/studio/routes/published-pages.ts';
import { readRoutes } from '../../../../src/domain/studio/routes/routes-cache.ts';
import fc from '../../../support/properties.ts';
import { siteOf } from '../schema/sites.ts';

/** Segments of slugs as people write them, none of which a generator reads as an index or an extension. */
const segment = fc
  .string({ unit: fc.constantFrom(...'abcz09-_~éß漢 %#?&+'), minLength: 1, maxLength: 8 })
  .filter((text) => text.trim() === text && !/^[-_~.]|%[0-9a-f]{2}/i.test(text));
const slug = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
const slugs = fc.uniqueArray(slug, { minLength: 1, maxLength: 12 });
const pattern = fc
  .tuple(fc.constantFrom('', '/b', '/a b', '/é'), fc.constantFrom('/', '', '.html'))
  .map(([before, after]) => ({ url_pattern: `${before}/{slug}${after}`, index_rule: 'directory' as const }));

describe('a pattern with a slug', () => {
  it('gives different slugs different addresses, and each address leads back', () => {
    fc.assert(
      fc.property(slugs, pattern, (all, written) => {
        const byAddress = new Map(all.map((one) => [expandPattern(written, { slug: one, frontmatter: {} }), one]));
        expect(byAddress.size).toBe(all.length);
        const [before = '', after = ''] = written.url_pattern.split('{slug}');
        for (const [url, one] of byAddress) {
          expect(pathOf(url ?? '')).toBe(`${before}${one}${after}`.normalize('NFC'));
          expect(new URL(url ?? '', 'https://x.org').pathname).toBe(url);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('has an address only when each of its names has a value', () => {
    const written = { url_pattern: '/{year}/{topic}/{slug}', index_rule: 'directory' as const };
    const at = (frontmatter: Record<string, unknown>) => expandPattern(written, { slug: 'a', frontmatter });
    expect(at({ date: '2024-05-06', topic: 'x y' })).toBe('/2024/x%20y/a');
    expect(at({ topic: 'x' })).toBeUndefined();
    expect(at({ date: '2024-05-06', topic: ['x'] })).toBeUndefined();
    expect(expandPattern(written, { slug: '2023-01-02-b', frontmatter: { topic: 1 } })).toBe('/2023/1/2023-01-02-b');
  });
});

describe('rules that keep names', () => {
  const configs: [string, Record<string, string>, string][] = [
    ['vitepress', { '.vitepress/config.mts': 'export default { cleanUrls: true };' }, ''],
    ['mkdocs', { 'mkdocs.yml': 'site_name: x\n', 'requirements.txt': 'mkdocs' }, 'docs/'],
    ['eleventy', { '.eleventy.js': 'module.exports = {};' }, ''],
  ];
  it.each(configs)('%s: one page, one address', async (framework, files, directory) => {
    await fc.assert(
      fc.asyncProperty(slugs, async (all) => {
        const paths = all.map((one) => `${directory}${one}.md`);
        const routes = await readRoutes(siteOf({ ...files, ...Object.fromEntries(paths.map((path) => [path, ''])) }));
        expect(routes.detected.framework?.id).toBe(framework);
        // Eleventy folds `a/a` into `a/`.
        const plain = paths.filter((path) => !/(^|\/)([^/]+)\/\2\.md$/.test(path));
        const urls = plain.map((path) => routes.urlOf({ path, frontmatter: {} }) ?? '');
        expect(new Set(urls.map(pageKey)).size).toBe(plain.length);
      }),
      { numRuns: 60 },
    );
  });
});
