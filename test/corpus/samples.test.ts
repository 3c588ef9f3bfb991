import { describe, expect, it } from 'vitest';
import { checkNames, formNames } from '../../corpus/report.ts';
import { corpus, reportOf, siteOf } from './support.ts';

const yaml = `---
# what it is about
title: "First frost" # never long
date: 2024-11-03
tags:
  - winter # cold
  - garden
author:
  name: Ines
  site: https://example.org
---

Text
`;
const toml = `+++
# what it is about
title = 'First frost' # never long
date = 2024-11-03
tags = ["winter", "garden"]

[author]
name = "Ines"
+++

Text
`;
const json =
  '{\n  "title": "First frost",\n  "draft": false,\n  "tags": ["winter", "garden"],\n  "author": { "name": "Ines" }\n}\n\nText\n';

describe('one file of a format', () => {
  it.each([
    ['yaml', { 'a.md': yaml }],
    ['toml', { 'a.md': toml }],
    ['json', { 'a.md': json }],
    ['json', { 'a.md': `;;;\n${json.replace('\n\nText\n', '\n;;;\nText\n')}` }],
    ['yaml', { 'content/people/a.yml': yaml.split('---\n')[1] ?? '' }],
    ['toml', { 'content/people/a.toml': toml.split('+++\n')[1] ?? '' }],
    ['json', { 'content/people/a.json': json.replace('\nText\n', '') }],
  ] as const)('%s goes through every edit in every form', async (format, files) => {
    const { code, source } = await reportOf(files, '--random', '5');
    expect(code).toBe(0);
    expect(source).toMatchObject({ files: 1, unparsable: [], reproductions: [] });
    expect(source.formats[format]).toBe(1);
    for (const form of formNames) {
      if (form === format) continue; // the file itself
      for (const check of checkNames) {
        expect([form, check, source.checks[form][check]]).toEqual([
          form,
          check,
          expect.objectContaining({ exact: 1, refused: 0, wrong: 0 }),
        ]);
      }
    }
    expect(source.merges.adjacent_keys).toMatchObject({ merged: 1, conflicts: 0, wrong: 0 });
    expect(source.merges.random_pairs).toMatchObject({ merged: 1, conflicts: 0, wrong: 0 });
    const { merged, conflicts, wrong, not_tried } = source.merges.random_merges;
    expect([merged + conflicts + not_tried, wrong]).toEqual([5, 0]);
    expect(source.times.edit.milliseconds).toBeGreaterThan(0);
  });

  it('merges two neighbouring fields where git sees a conflict', async () => {
    const { source } = await reportOf({ 'a.md': '---\ntitle: A\ndraft: true\n---\n' });
    expect(source.merges.adjacent_keys).toMatchObject({ merged: 1, conflicts: 0, git_conflicts: 1 });
  });

  it('without frontmatter gets a first key and nothing else', async () => {
    const { source } = await reportOf({ 'a.md': '# Title\n', 'b.md': '\n\n---\n' });
    expect(source.formats.none).toBe(2);
    expect(source.checks.own).toEqual({
      no_op: expect.objectContaining({ exact: 2 }),
      add_key: expect.objectContaining({ exact: 2, wrong: 0 }),
    });
  });

  it('with CRLF line ends keeps them', async () => {
    const { source } = await reportOf({ 'a.md': yaml.replaceAll('\n', '\r\n') });
    expect(source.checks.crlf).toEqual({});
    expect(source.crlf).toEqual({ files: 1, stayed: 1 });
  });

  it('that cannot be read is listed with the place and the reason', async () => {
    const { code, source } = await reportOf({ 'a.md': yaml, 'posts/b.md': '---\ntitle: a\ntitle: b\n---\n' });
    expect(code).toBe(0);
    expect(source).toMatchObject({ files: 2, formats: { yaml: 1, unparsable: 1 } });
    expect(source.unparsable).toEqual([
      { path: 'posts/b.md', line: 3, column: 1, reason: 'the key title is given twice' },
    ]);
  });

  it('that cannot be edited is refused, with reasons that count together', async () => {
    const block = (name: string) => `---\n1: x\ntitle: ${name}\n---\n`;
    const { code, source } = await reportOf({ 'a.md': block('a'), 'b.md': block('b') });
    expect(code).toBe(0);
    expect(source.checks.own.add_key).toEqual({
      ...{ exact: 0, refused: 2, wrong: 0, faults: {} },
      refusals: { 'has the key …, which is not a string': 2 },
    });
    expect(source.merges.adjacent_keys.not_tried).toBe(2);
  });
});

describe('what is no entry', () => {
  it('is not looked at', async () => {
    const files = Object.fromEntries(
      [
        'archetypes/default.md',
        'themes/x/archetypes/a.md',
        'node_modules/x/README.md',
        '.github/a.md',
        'a/.hidden/b.md',
        'package.json',
        'notes.txt',
        'content/posts/a.md',
      ].map((path) => [path, '---\ntitle: x\n---\n']),
    );
    const { source } = await reportOf(files);
    expect(source.files).toBe(1);
  });

  it('is left out by --sample, evenly', async () => {
    const files = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`${at}.md`, `---\nt: {${at}\n---\n`]));
    const { source } = await reportOf(files, '--sample', '5');
    expect(source.unparsable.map(({ path }) => path)).toEqual(['0.md', '2.md', '4.md', '6.md', '8.md']);
  });
});

describe('the schema of a site', () => {
  const post = '---\ntitle: A\n---\n';
  it.each([
    [
      'astro',
      {
        'astro.config.mjs': 'export default {}',
        'src/content.config.ts': `import { defineCollection, z } from 'astro:content';\nimport { glob } from 'astro/loaders';\nexport const collections = { posts: defineCollection({ loader: glob({ pattern: '*.md', base: './src/content/posts' }), schema: z.object({ title: z.string(), draft: z.boolean().optional() }) }) };`,
        'src/content/posts/a.md': post,
        'src/content/posts/b.md': '---\ntitle: 4\n---\n',
      },
      { collection: 'posts', source: 'astro src/content.config.ts', inferred: false, fields: 2, entries: 2, valid: 1 },
    ],
    [
      'jekyll',
      { '_config.yml': 'title: x\n', '_posts/2024-01-01-a.md': post },
      { collection: 'posts', source: 'jekyll _config.yml', entries: 1, valid: 1 },
    ],
    [
      'hugo',
      {
        'hugo.toml': 'title = "x"\n',
        'archetypes/posts.md': '---\ntitle: ""\ndraft: true\n---\n',
        'content/posts/a.md': post,
      },
      { collection: 'posts', source: 'hugo hugo.toml', entries: 1, valid: 1 },
    ],
    [
      'decap',
      {
        'public/admin/config.yml':
          'backend: { name: git-gateway }\ncollections:\n  - name: posts\n    folder: content/posts\n    fields:\n      - { name: title, widget: string }\n',
        'content/posts/a.md': post,
      },
      {
        collection: 'posts',
        source: 'decap public/admin/config.yml',
        inferred: false,
        fields: 1,
        entries: 1,
        valid: 1,
      },
    ],
    [
      'no framework',
      { 'posts/a.md': post, 'posts/b.md': '---\ntitle: [\n---\n' },
      { collection: 'posts', source: 'inference posts', inferred: true, fields: 1, entries: 2, valid: 1 },
    ],
  ] as const)('of %s is found, and its entries held against it', async (_, files, wanted) => {
    const { source } = await reportOf(files as unknown as Record<string, string>);
    expect(source.schema.collections).toContainEqual(expect.objectContaining(wanted));
  });
});

describe('the routes of a site', () => {
  const hugo = {
    'hugo.toml': "baseURL = 'https://x.org/docs/'\n",
    'content/posts/one.md': '---\ntitle: One\n---\n',
    'content/posts/same.md': '---\nurl: /posts/one/\n---\n',
    'archetypes/default.md': '---\ntitle: x\n---\n',
  };

  it('are predicted by its framework, and printed', async () => {
    const site = await siteOf(hugo);
    const { out } = await corpus([site]);
    expect(out).toContain('hugo below /docs: 2 pages predicted, 1 files are no page, 1 collisions, 0 warnings\n');
    expect(out).toContain('    content/posts/one.md → /docs/posts/one/\n');
    const { report } = await corpus([site, await siteOf({ 'a.md': '# A\n' }), '--json']);
    const [first, second] = report.sources;
    expect(first?.routes).toMatchObject({ framework: 'hugo', predicted: 2, collisions: 1 });
    expect(second?.routes).toMatchObject({ framework: null, predicted: 0, samples: [] });
    expect(report.total.routes).toMatchObject({ framework: null, predicted: 2, no_page: 1 });
    expect(first?.times.routes.count).toBe(1);
  });
});
