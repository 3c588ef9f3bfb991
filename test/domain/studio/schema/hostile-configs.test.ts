import { describe, expect, it } from 'vitest';
import type { SchemaField } from '../../../../src/domain/studio/schema/schema.schema.ts';
import { hostileConfigs } from './hostile-texts.ts';
import { discover } from './sites.ts';

const data = [
  '.pages.yml',
  'static/admin/config.yml',
  'studio.config.yml',
  '_config.yml',
  'admin/config.toml',
  'frontmatter.json',
  'studio.config.json',
  'hugo.toml',
  'hugo.yaml',
];
const scripts = [
  'studio.config.ts',
  'tina/config.tsx',
  'keystatic.config.ts',
  'content.config.ts',
  'docusaurus.config.js',
  '.vitepress/config.ts',
  '.eleventy.js',
];
const cases = [
  ...data.flatMap((path) => hostileConfigs.data.map((text, at): [string, number, string] => [path, at, text])),
  ...scripts.flatMap((path) => hostileConfigs.code.map((text, at): [string, number, string] => [path, at, text])),
];

describe('configurations that want to do harm', () => {
  it.each(cases)('%s, case %i: the entries are still found, soon', async (path, _at, text) => {
    const before = performance.now();
    const found = await discover({ [path]: text, 'posts/a.md': '{"title":"A"}', 'content/docs/b.md': '{}' });
    expect(performance.now() - before).toBeLessThan(30_000);
    expect((globalThis as Record<string, unknown>).__ran).toBeUndefined();
    expect(found.schemas.some((one) => one.matches('posts/a.md'))).toBe(true);
    expect(found.schemas.some((one) => one.matches('content/docs/b.md'))).toBe(true);
  });

  it('aliases in circles, components in circles and schemas in circles end', async () => {
    const pages =
      'components: { a: { type: object, fields: [{ name: x, component: a }, { name: y, component: a }] } }\ncontent: [{ name: p, type: collection, path: p, fields: [{ name: s, component: a }] }]';
    const studio =
      '{"collections":{"c":{"path":"c","schema":{"type":"object","properties":{"x":{"$ref":"#/properties/x"},"y":{"$ref":"#"}}}}}}';
    const found = await discover({ '.pages.yml': pages, 'studio.config.json': studio });
    expect(found.schemas.map((one) => one.collection)).toEqual(['c', 'p']);
    expect(found.warnings.map(({ message }) => message)).toContain(
      'The fields are too many or circular; the rest is left out',
    );
  });

  it('components that name one another many times over are read as far as they may be', async () => {
    const fields = Array.from({ length: 9 }, (_, at) => `{ name: f${at}, component: a }`).join(', ');
    const pages = `components: { a: { type: object, fields: [${fields}] } }\ncontent: [{ name: p, type: collection, path: p, fields: [${fields}] }]`;
    const found = await discover({ '.pages.yml': pages });
    const count = (list: readonly SchemaField[] = []): number =>
      list.reduce((sum, one) => sum + 1 + count(one.fields), 0);
    expect(count(found.schemas[0]?.fields)).toBeLessThanOrEqual(5_000);
  });

  it.each([60, 3_000, 10_000])(
    'JSON of %i levels that a configuration imports is read as far as it may be',
    async (levels) => {
      const deep = `${'{"a":'.repeat(levels)}0${'}'.repeat(levels)}`;
      const found = await discover({
        'astro.config.mjs': 'export default {}',
        'deep.json': `{"collections": [${deep}], "more": ${deep}}`,
        'studio.config.ts': 'import deep from "./deep.json"; export default { ...deep, ...deep.more };',
        'posts/a.md': '{"title":"A"}',
      });
      expect(found.schemas.some((one) => one.matches('posts/a.md'))).toBe(true);
    },
  );

  it('paths outside the repository are left out', async () => {
    const found = await discover({
      'admin/config.yml':
        'media_folder: ../../etc\ncollections: [{ name: a, folder: ../../etc, fields: [{ name: t }] }, { name: b, files: [{ name: c, file: ../x.yml, fields: [] }] }]',
      '.pages.yml': 'media: ../../x\ncontent: [{ name: d, type: file, path: ../../etc/passwd, fields: [] }]',
    });
    expect(found.schemas).toEqual([]);
    expect(found.mediaRoots).toEqual([{ path: 'public', public_path: '/' }]);
    expect(found.warnings.filter((one) => one.code === 'schema_unknown')).toHaveLength(3);
  });
});

describe('time', () => {
  it('of a hundred thousand files grows no faster than they do', async () => {
    const files: Record<string, string> = {
      'hugo.toml': '',
      'static/admin/config.yml': 'collections: [{ name: a, folder: content/s1, fields: [{ name: t }] }]',
    };
    for (let at = 0; at < 100_000; at++) files[`content/s${at % 50}/d${at % 1000}/p${at}.md`] = '';
    await discover({ 'hugo.toml': '', 'content/a/b.md': '' });
    const before = performance.now();
    const found = await discover(files);
    const spent = performance.now() - before;
    expect(found.schemas.length).toBeGreaterThan(49);
    // About a second; what grew with their square would take hours.
    expect(spent).toBeLessThan(60_000);
  });
});
