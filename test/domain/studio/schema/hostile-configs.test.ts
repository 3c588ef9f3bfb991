import { describe, expect, it } from 'vitest';
import { buildSite } from '../../../../src/domain/studio/content/site-index.ts';
import { SchemaRoom } from '../../../../src/domain/studio/schema/collection-schema.ts';
import { discoverSchemas } from '../../../../src/domain/studio/schema/discover.ts';
import type { SchemaField } from '../../../../src/domain/studio/schema/schema.schema.ts';
import { tally } from '../../../../src/ports/tally.ts';
import { hostileConfigs } from './hostile-texts.ts';
import { discover, siteOf } from './sites.ts';

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

  it('aliases that repeat more than the longest configuration are not read', async () => {
    const described = async (times: number) => {
      const fields = Array.from(
        { length: times },
        (_, at) => `      - { name: f${at}, type: text, description: *d }\n`,
      );
      const found = await discover({
        'studio.config.yml': `about: &d ${'x'.repeat(1_000)}\ncollections:\n  c:\n    path: c\n    fields:\n${fields.join('')}`,
      });
      return found.schemas.flatMap(({ fields }) => fields.filter(({ description }) => description !== undefined))
        .length;
    };
    expect(await described(400)).toBe(400);
    expect(await described(4_000)).toBeLessThan(1_100);
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

  it('a long text that thousands of options, fields or collections name is kept as often as there is room for it', async () => {
    const text = 'a'.repeat(10_000);
    const property = `{ "type": "string", "title": "${text}", "description": "${text}", "pattern": "${text}" }`;
    const fields = Array.from({ length: 1_000 }, (_, at) => `"f${at}": { "$ref": "#/properties/long" }`).join(',');
    const collection = `{ "path": "c", "schema": { "type": "object", "additionalProperties": false, "properties": {
      "long": ${property}, ${fields} } } }`;
    const found = await discover({
      'studio.config.json': `{ "collections": { "c": ${collection}, "d": { "path": "d", "schema": { "type": "object", "properties": { "a": { "enum": [${text.length}, "${text}"] } } } } } }`,
      '.pages.yml': `content: [{ name: e, type: collection, path: e, fields: [{ name: s, type: select, options: { values: [a, &l ${text}${', *l'.repeat(90)}] } }] }]`,
    });
    const [c, d, e] = found.schemas;
    // Counted without the signs between its values.
    expect(JSON.stringify(c).length).toBeLessThan(1.1 * 1024 * 1024);
    const long = c?.fields.find(({ name }) => name === 'long');
    expect(long).toEqual({
      ...{ name: 'long', type: 'string', required: false, list: false },
      ...{ label: `${'a'.repeat(2_000)}…`, description: `${'a'.repeat(2_000)}…` },
    });
    expect(c?.fields.length).toBeGreaterThan(100);
    expect(c?.fields.length).toBeLessThan(1_000);
    expect(c?.strict).toBe(false);
    expect(c?.warnings[0]).toMatchObject({ code: 'schema_too_large', path: 'studio.config.json', collection: 'c' });
    expect(d?.fields).toEqual([{ name: 'a', type: 'any', required: false, list: false }]);
    expect(JSON.stringify(e).length).toBeLessThan(20_000);
  });

  it('a schema is not looked at beyond the first field there is no room for', async () => {
    let looks = 0;
    const member = (name: string, value: unknown): SchemaField => ({
      ...{ name, type: 'any', required: false, list: false, default: value },
    });
    const inner = Array.from({ length: 100 }, (_, at) => member(`i${at}`, 'a'.repeat(16_000)));
    const watched = new Proxy(inner, {
      get(target, key, receiver) {
        looks += 1;
        return Reflect.get(target, key, receiver);
      },
    });
    const outer = Array.from({ length: 1_000 }, (_, at): SchemaField => {
      return { name: `o${at}`, type: 'object', required: false, list: false, fields: watched };
    });
    const found = await discover({ 'posts/a.md': '{"title":"A"}' });
    const [posts] = found.schemas;
    if (!posts) throw new Error('no collection');
    const schema = { ...posts, fields: [member('long', ['a'.repeat(20_000)]), ...outer], warnings: [] };
    new SchemaRoom().fit(schema);
    expect(schema.fields[0]).toEqual({ name: 'long', type: 'any', required: false, list: false });
    expect(schema.fields).toHaveLength(2);
    expect(schema.fields[1]?.fields?.length).toBeLessThan(66);
    expect(looks).toBeLessThan(1_000);
  });

  it('archetypes and fields of many collections are kept as far as there is room in the site', async () => {
    const body = `---\ntitle: A\n---\n${'a'.repeat(250_000)}`;
    const files: Record<string, string> = { 'hugo.toml': '', 'archetypes/default.md': body };
    for (let at = 0; at < 60; at += 1) files[`content/s${at}/a.md`] = '{"title":"A"}';
    const found = await discover(files);
    expect(found.schemas.length).toBeGreaterThanOrEqual(60);
    expect(JSON.stringify(found.schemas).length).toBeLessThan(9 * 1024 * 1024);
    expect(found.warnings.some(({ code }) => code === 'schema_too_large')).toBe(true);
  });

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

describe('a configuration of more collections than are shown', () => {
  const count = 2_000;
  const pages = Array.from({ length: 500 }, (_, at) => [`content/c${at}/p.md`, '{"title":"A"}'] as const);

  /** Discovers the site of a Decap configuration. @returns it, and how often a path was compared with a collection */
  async function compared(collection: (at: number) => string) {
    const list = Array.from(
      { length: count },
      (_, at) => `{ name: c${String(at).padStart(4, '0')}, ${collection(at)}, fields: [{ name: t }] }`,
    );
    const files = Object.fromEntries([['static/admin/config.yml', `collections: [${list.join(', ')}]`], ...pages]);
    let comparisons = 0;
    const onComparison = () => void comparisons++;
    tally.compare.subscribe(onComparison);
    const found = await discoverSchemas(siteOf(files), { sampleEntries: async () => [] }).finally(() =>
      tally.compare.unsubscribe(onComparison),
    );
    return { found, comparisons };
  }

  it('is compared with the files of those that are shown', async () => {
    // Its `index` files, and others that are there already, have to be looked for.
    const { found, comparisons } = await compared(() => 'folder: content, path: "{{slug}}/index"');
    expect(found.schemas).toHaveLength(500);
    expect(found.warnings.filter(({ code }) => code === 'too_many_collections')).toHaveLength(1);
    expect(comparisons).toBeGreaterThanOrEqual(500 * 501);
    expect(comparisons).toBeLessThan(4 * 500 * 501);
  });

  it('compares a file with the collections of its directories', async () => {
    const { found, comparisons } = await compared((at) => `folder: content/c${at}`);
    expect(found.schemas).toHaveLength(500);
    expect(comparisons).toBeGreaterThan(0);
    expect(comparisons).toBeLessThan(2 * 501);
    let again = 0;
    const onComparison = () => void again++;
    tally.compare.subscribe(onComparison);
    const tree = pages.map(([path], at) => ({ path, mode: '100644', oid: String(at).padStart(40, '0'), size: 1 }));
    const site = await buildSite(found, 'key', tree).finally(() => tally.compare.unsubscribe(onComparison));
    expect([...site.collections.values()].reduce((sum, { size }) => sum + size, 0)).toBe(500);
    expect(again).toBeLessThanOrEqual(500);
  });

  it('compares a file with collections of its extension', async () => {
    const { found, comparisons } = await compared((at) => `folder: content, extension: x${at}`);
    expect(found.schemas).toHaveLength(500);
    expect(comparisons).toBeLessThan(2 * 501);
  });
});
