import { describe, expect, it } from 'vitest';
import { dateKind } from '../../../../src/domain/studio/schema/dates.ts';
import { inferFields, inferSteps } from '../../../../src/domain/studio/schema/infer-fields.ts';
import { isExcluded } from '../../../../src/domain/studio/schema/site-layout.ts';
import fc from '../../../support/properties.ts';
import { discover } from './sites.ts';

const none = new Map<string, ReadonlySet<string>>();
const infer = (values: unknown[], slugs: ReadonlyMap<string, ReadonlySet<string>> = none) =>
  inferFields(
    values.map((it) => (it === undefined ? {} : { it })),
    'posts',
    slugs,
  )[0];
const times = <T>(count: number, make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at));

describe('fields out of values', () => {
  it('have keys and options of a length that can be shown', () => {
    const key = (length: number) => 'k'.repeat(length);
    const found = inferFields([{ [key(201)]: 1, [key(200)]: 1, inner: { [key(201)]: 1, a: 1 } }], 'posts', none);
    expect(found.map(({ name }) => name)).toEqual([key(200), 'inner']);
    expect(found[1]?.fields?.map(({ name }) => name)).toEqual(['a']);
    expect(infer(times(30, () => 'v'.repeat(200)))).toMatchObject({ type: 'enum' });
    expect(infer(times(30, () => 'v'.repeat(201)))).toMatchObject({ type: 'text' });
    expect(infer(times(30, () => 'v'.repeat(201)))?.options).toBeUndefined();
  });

  it('are required when 98 % of at least 20 entries have them', () => {
    expect(infer(times(20, () => 'x'))?.required).toBe(true);
    expect(infer(times(19, () => 'x'))?.required).toBe(false);
    expect(infer(times(100, (at) => (at < 2 ? undefined : `x${at}`)))?.required).toBe(true);
    expect(infer(times(100, (at) => (at < 3 ? undefined : `x${at}`)))?.required).toBe(false);
  });

  it('are enums with few values that repeat', () => {
    expect(infer(times(30, (at) => `v${at % 12}`))).toMatchObject({ type: 'enum' });
    expect(infer(times(29, (at) => `v${at % 2}`))).toMatchObject({ type: 'string' });
    expect(infer(times(30, (at) => (at === 0 ? 'once' : 'often')))).toMatchObject({ type: 'string' });
    expect(infer(times(60, (at) => `v${at % 13}`))).toMatchObject({ type: 'string' });
  });

  it('have the type of nearly all values', () => {
    expect(infer([true, false])?.type).toBe('boolean');
    expect(infer([1, 2, 3])?.type).toBe('integer');
    expect(infer([1, 2.5])?.type).toBe('number');
    expect(infer([1, 'a'])?.type).toBe('any');
    expect(infer(times(100, (at) => (at === 0 ? 'no' : at)))?.type).toBe('integer');
    expect(infer(['2024-01-31', '2024-02-01'])?.type).toBe('date');
    expect(infer(['2024-01-31 10:00:00 +0100', '2024-02-01T10:00:00Z'])?.type).toBe('datetime');
    expect(infer(['2024-01-31', 'soon'])?.type).toBe('string');
    expect(infer(['/a.png', 'b.jpg'])?.type).toBe('image');
    expect(infer(['https://a.example/', 'http://b.example/x'])?.type).toBe('link');
    expect(infer(['x', 'a\nb'])?.type).toBe('text');
    expect(infer([null, 'x'])).toMatchObject({ type: 'string', nullable: true });
    expect(infer([['a'], ['b', 'c']])).toMatchObject({ type: 'string', list: true });
    expect(infer([{ a: 1 }, { a: 2, b: 'x' }])?.fields).toMatchObject([
      { name: 'a', type: 'integer' },
      { name: 'b', type: 'string' },
    ]);
  });

  it('are references when the values are slugs of another collection', () => {
    const slugs = new Map([
      ['authors', new Set(['ann', 'bob'])],
      ['posts', new Set(['ann', 'bob'])],
    ]);
    expect(
      infer(
        times(10, (at) => (at % 2 ? 'ann' : 'bob')),
        slugs,
      ),
    ).toMatchObject({ type: 'reference', relation: { collection: 'authors', multiple: false } });
    expect(
      infer(
        times(10, (at) => [at % 2 ? 'ann' : 'bob']),
        slugs,
      ),
    ).toMatchObject({ type: 'reference', list: true, relation: { multiple: true } });
    expect(
      infer(
        times(10, (at) => `x${at}`),
        slugs,
      )?.type,
    ).toBe('string');
  });

  it('are those of the first hundred items of each list', () => {
    const items = [...times(100, (at) => `x${at}`), ...times(1_000, (at) => at)];
    expect(infer([items, items])).toMatchObject({ type: 'string', list: true });
    expect(infer([items.toReversed()])).toMatchObject({ type: 'integer', list: true });
  });

  it('let others have their turn between samples and between fields', () => {
    const samples = times(10, () => ({ a: 1, b: [{ c: 1, d: 2 }] }));
    const steps = inferSteps(samples, 'posts', none);
    let count = 0;
    while (!steps.next().done) count += 1;
    expect(count).toBe(10 + 2 + 10 + 2);
  });

  it('never fail, whatever the values', () => {
    fc.assert(
      fc.property(
        fc.array(fc.dictionary(fc.string(), fc.jsonValue())),
        (samples) => void inferFields(samples, 'posts', none),
      ),
    );
  });
});

describe('dates', () => {
  it.each(['2024-02-29', '2024-1-1', '0999-01-01'])('%s is a date', (text) => expect(dateKind(text)).toBe('date'));
  it.each(['2024-02-29T10:00:00Z', '2024-02-29 10:00', '2024-02-29 10:00:00.5 -0800', '2024-01-01t00:00:00+01:00'])(
    '%s is a datetime',
    (text) => expect(dateKind(text)).toBe('datetime'),
  );
  it.each(['2023-02-29', '2024-13-01', '2024-01-01T25:00:00', '20240101', '2024-01-01x', '', 'Jul 08 2022'])(
    '%s is neither',
    (text) => expect(dateKind(text)).toBe(null),
  );
});

const names = async (paths: string[], root?: string) => {
  const { schemas } = await discover(Object.fromEntries(paths.map((path) => [path, ''])), root);
  return Object.fromEntries(
    paths.map((path) => [
      path,
      schemas
        .filter((one) => one.matches(path))
        .map((one) => one.collection)
        .join(),
    ]),
  );
};

describe('directories become collections', () => {
  it('below the content directory', async () => {
    expect(
      await names([
        'src/content/blog/a.md',
        'src/content/tags/x.json',
        'content/notes/b/c.md',
        'src/pages/index.md',
        'src/lib/data.json',
      ]),
    ).toEqual({
      'src/content/blog/a.md': 'blog',
      'src/content/tags/x.json': 'tags',
      'content/notes/b/c.md': 'notes',
      'src/pages/index.md': 'pages',
      'src/lib/data.json': '',
    });
  });

  it('at the top, with loose files as pages', async () => {
    expect(
      await names([
        'about.md',
        '_posts/2024-01-01-a.md',
        'docs/x/y.markdown',
        'README.md',
        'LICENSE.md',
        'changelog.md',
        'docs/README.md',
      ]),
    ).toEqual({
      'about.md': 'pages',
      '_posts/2024-01-01-a.md': '_posts',
      'docs/x/y.markdown': 'docs',
      'README.md': '',
      'LICENSE.md': '',
      'changelog.md': '',
      'docs/README.md': 'docs',
    });
  });

  it('of the site found inside the repository, and of the rest', async () => {
    expect(
      await names(['docs/_config.yml', 'docs/_posts/a.md', 'docs/pages/x.md', 'docs/index.md', 'notes/n.md']),
    ).toEqual({
      'docs/_config.yml': '',
      'docs/_posts/a.md': '_posts',
      'docs/pages/x.md': 'pages',
      'docs/index.md': 'docs',
      'notes/n.md': 'notes',
    });
    expect(await names(['site/blog/a.md', 'other/b.md', 'site/README.md'], 'site')).toEqual({
      'site/blog/a.md': 'blog',
      'other/b.md': '',
      'site/README.md': '',
    });
  });

  it('but not packages, hidden directories, outputs, archetypes and scaffolds', async () => {
    const paths = [
      'node_modules/a/x.md',
      'a/node_modules/x.md',
      '.github/x.md',
      'vendor/x.md',
      '_site/x.md',
      'dist/x.md',
      'archetypes/x.md',
      'scaffolds/x.md',
    ];
    expect(Object.values(await names(paths)).join('')).toBe('');
    expect(await names(['content/guides/build/x.md'])).toEqual({ 'content/guides/build/x.md': 'guides' });
  });

  it('so that every Markdown file that is not excluded is in exactly one', async () => {
    const part = fc.constantFrom(
      'src',
      'content',
      'docs',
      'blog',
      'a b',
      'é',
      'pages',
      '_posts',
      'dist',
      '.x',
      '..x',
      'site',
      'index',
      '日本',
    );
    const path = fc
      .tuple(fc.array(part, { maxLength: 4 }), fc.constantFrom('a.md', 'b.mdx', 'index.markdown', 'README.md'))
      .map(([parts, leaf]) => [...parts, leaf].join('/'));
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(path, { maxLength: 25 }), async (paths) => {
        const found = await names(paths);
        for (const [file, collection] of Object.entries(found)) {
          const excluded = isExcluded(file, { root: '', given: false, framework: null });
          expect([file, collection]).toEqual([
            file,
            excluded ? '' : expect.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/),
          ]);
        }
      }),
    );
  });
});
