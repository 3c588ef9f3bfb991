import { describe, expect, it } from 'vitest';
import { nameProblem, pathProblem } from '../../../../src/domain/studio/path-rules.ts';
import {
  type EntryTemplate,
  fillText,
  fillValue,
  slugOf,
  type TemplateValues,
} from '../../../../src/domain/studio/schema/entry-template.ts';
import fc from '../../../support/properties.ts';
import { named } from './discovered.ts';
import { discover } from './sites.ts';

const now = new Date('2026-03-07T08:09:10.011Z');
const values = (title: string, frontmatter: Record<string, unknown> = {}): TemplateValues => ({
  title,
  now,
  frontmatter: { title, ...frontmatter },
});
const slug = (pattern: string, title = 'First frost', frontmatter = {}) =>
  slugOf({ slug: pattern }, values(title, frontmatter));

/** The slug and the frontmatter a site gives a new entry. */
async function begun(files: Record<string, string>, collection: string, title = "Don't panic, Zoë!") {
  const { template = {} } = named(await discover(files), collection);
  return {
    slug: slugOf(template, values(title)),
    frontmatter: fillValue(template.frontmatter ?? {}, { ...values(title), name: 'dont-panic' }),
    template,
  };
}

describe('what a template makes', () => {
  const refused = /^title: .* more than 1048576 characters; use a shorter title, or a shorter template$/;
  const many = '{{title .Name}}{{title}}'.repeat(1_100);

  it('is refused where it is too long, in one text or in all together', () => {
    const long = values('a'.repeat(1_000));
    expect(() => fillText(many, long)).toThrow(refused);
    expect(() => fillValue({ list: Array(1_100).fill('{{title}}') }, long)).toThrow(refused);
    expect(fillText('{{title}}'.repeat(1_000), long)).toHaveLength(1_000_000);
  });

  it('counts what filters work on, though the placeholder comes to nothing', () => {
    const filtered = `{{kind${' | upper'.repeat(50)} | unknown}}`.repeat(100);
    expect(() => fillText(filtered, values('A', { kind: 'a'.repeat(100_000) }))).toThrow(refused);
  });

  it('counts a text that several members share as often as it is there', () => {
    const shared = Array(1_000).fill('a'.repeat(10_000));
    expect(() => fillValue({ shared }, values('A'))).toThrow(refused);
  });
});

describe('slugs', () => {
  it.each([
    ['{{slug}}', 'first-frost'],
    ['{{year}}-{{month}}-{{day}}-{{slug}}', '2026-03-07-first-frost'],
    ['{{ hour }}{{minute}}{{second}}', '080910'],
    ['{{fields.kind}}/{{slug}}', 'long-read/first-frost'],
    ['{{kind | upper}}-{{missing | default("x")}}', 'long-read-x'],
    ["{{now | date('YYYY/MM')}}", '2026-03'],
    ['{{missing}}', 'first-frost'],
    ['{{constructor}}-{{fields.__proto__}}-{{slug}}', 'first-frost'],
    ['{{slug}}/{{slug', 'first-frost/slug'],
    ['../{{slug}}/./.git', 'first-frost/git'],
    ['aux', 'entry-aux'],
  ])('are made by %s', (pattern, expected) => {
    expect(slug(pattern, 'First frost', { kind: 'Long read' })).toBe(expected);
  });

  it('keep letters of any script unless the site has only those of ASCII', () => {
    expect(slug('{{slug}}', 'Über uns: 日本語 हिन्दी')).toBe('über-uns-日本語-हिन्दी');
    expect(slugOf({ letters: 'unaccented' }, values('Über uns'))).toBe('uber-uns');
    expect(slugOf({ letters: 'ascii' }, values('Über 日本 uns'))).toBe('uber-uns');
  });

  it('of a title without letters are a name all the same', () => {
    expect(slug('{{slug}}', '?!')).toBe('untitled');
    expect(slug('{{slug}}', '../..')).toBe('untitled');
  });

  it('pass the path rules, whatever pattern and title are', () => {
    const piece = fc.oneof(
      fc.constantFrom('{{slug}}', '{{title}}', '{{year}}', '{{fields.x}}', '{{', '}}', '/', '..', '.git', 'con', '\\'),
      fc.string({ unit: 'binary', maxLength: 300 }),
    );
    const pattern = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
    const title = fc.oneof(fc.string({ unit: 'binary', maxLength: 400 }), pattern);
    const letters = fc.constantFrom(undefined, 'ascii' as const, 'unaccented' as const);
    fc.assert(
      fc.property(pattern, title, title, letters, (one, text, x, set) => {
        const template: EntryTemplate = { slug: one, ...(set && { letters: set }) };
        const made = slugOf(template, values(text, { x }));
        expect([pathProblem(made), nameProblem(made)]).toEqual([null, null]);
        expect(made).toBe(made.normalize('NFC'));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('values', () => {
  it('are filled at any depth, and left out where nothing is left of them', () => {
    const template = {
      at: '{{now}}',
      on: '{{now | date(DD.MM.YYYY)}}',
      by: '{{author}}',
      list: ['{{-}}', 'a {{title}}'],
    };
    expect(fillValue({ ...template, deep: { n: 1, empty: '' } }, values('T'))).toEqual({
      at: '2026-03-07T08:09:10Z',
      on: '07.03.2026',
      list: ['a T'],
      deep: { n: 1, empty: '' },
    });
  });
});

describe('of sites', () => {
  it('Decap gives slug, path, letters and the present time', async () => {
    const config = `
slug: { encoding: ascii, clean_accents: true }
collections:
  - name: posts
    folder: posts
    slug: '{{year}}-{{month}}-{{day}}-{{slug}}'
    fields: [{ name: title }, { name: date, widget: datetime }, { name: day, widget: date, default: '{{now}}' },
      { name: when, widget: datetime, format: DD.MM.YYYY }, { name: none, widget: datetime, default: '' }]
  - { name: docs, folder: docs, path: '{{kind}}/{{slug}}/index', slug: 'd-{{slug}}', identifier_field: name, fields: [{ name: name }, { name: kind }] }
`;
    const files = { 'static/admin/config.yml': config };
    expect(await begun(files, 'posts')).toMatchObject({
      slug: '2026-03-07-dont-panic-zoe',
      frontmatter: { date: '2026-03-07T08:09:10Z', day: '2026-03-07', when: '07.03.2026' },
    });
    const docs = await begun(files, 'docs');
    expect(docs.template.slug).toBe('{{kind}}/d-{{slug}}');
    expect(docs.slug).toBe('d-dont-panic-zoe');
  });

  it('Hugo fills the archetype of the section, else the default one', async () => {
    const files = {
      'hugo.toml': 'title = "x"',
      'content/posts/a.md': '',
      'content/docs/a.md': '',
      'archetypes/default.md': `+++
date = '{{ .Date }}'
draft = true
title = '{{ replace .File.ContentBaseName "-" " " | title }}'
+++
`,
      'archetypes/posts.md': `---
title: "{{ replace .Name "-" " " | title }}"
date: {{ now.Format "2006-01-02" }}
id: {{ .File.UniqueID }}
permalink: /{{ .Type }}/{{ .Name }}/
layout: wide
---
# {{ .Name | humanize | title }}

{{< toc >}}
{{ .Site.Title }}`,
    };
    const posts = await begun(files, 'posts');
    expect(posts.frontmatter).toEqual({
      title: "Don't panic, Zoë!",
      date: '2026-03-07',
      permalink: '/posts/dont-panic/',
      layout: 'wide',
    });
    expect(posts.template.body).toBe('# {{title}}\n\n{{< toc >}}\n{{-}}');
    expect(posts.template.source).toEqual({ kind: 'hugo', path: 'archetypes/posts.md' });
    expect((await begun(files, 'docs')).frontmatter).toEqual({
      date: '2026-03-07T08:09:10Z',
      draft: true,
      title: "Don't panic, Zoë!",
    });
  });

  it('Jekyll dates posts, and nothing else', async () => {
    const files = { '_config.yml': 'collections: [tips]', '_posts/2020-01-01-a.md': '', '_tips/a.md': '' };
    expect((await begun(files, 'posts')).slug).toBe('2026-03-07-dont-panic-zoë');
    expect((await begun(files, 'tips')).slug).toBe('dont-panic-zoë');
  });

  it('Pages CMS has file names in single braces', async () => {
    const filename = (value: string) => ({
      '.pages.yml': `content: [{ name: posts, type: collection, path: posts, filename: ${value}, fields: [{ name: title, type: string }] }]`,
    });
    const plain = await begun(filename("'{year}-{month}-{primary}.md'"), 'posts');
    expect(plain.slug).toBe('2026-03-dont-panic-zoë');
    expect((await begun(filename("{ template: 'n-{title}.md' }"), 'posts')).slug).toBe('n-dont-panic-zoë');
  });

  it('TinaCMS has default items, of which functions are left out', async () => {
    const config = `export default { schema: { collections: [{ name: 'posts', path: 'posts', ui: { defaultItem:
      { draft: true, date: () => new Date(), tags: ['new'] } }, fields: [{ name: 'title', type: 'string', isTitle: true }] }] } }`;
    const posts = await begun({ 'tina/config.ts': config }, 'posts');
    expect(posts).toMatchObject({ slug: 'dont-panic-zoë', frontmatter: { draft: true, tags: ['new'] } });
    expect(posts.frontmatter).not.toHaveProperty('date');
  });

  it('Keystatic dates what has the present day as default', async () => {
    const config = `import { config, collection, fields } from '@keystatic/core';
      export default config({ collections: { posts: collection({ path: 'posts/*', slugField: 'title', schema: {
        title: fields.slug({ name: { label: 'T' } }), on: fields.date({ label: 'On', defaultValue: { kind: 'today' } }) } }) } });`;
    const files = { 'keystatic.config.ts': config };
    expect(await begun(files, 'posts')).toMatchObject({ slug: 'dont-panic-zoë', frontmatter: { on: '2026-03-07' } });
    expect(named(await discover(files), 'posts').fields.find(({ name }) => name === 'on')).not.toHaveProperty(
      'default',
    );
  });

  it('Front Matter CMS has prefixes and placeholders of content types', async () => {
    const config = {
      'frontMatter.content.pageFolders': [{ title: 'posts', path: '[[workspace]]/posts' }],
      'frontMatter.templates.prefix': 'yyyy-MM-dd',
      'frontMatter.taxonomy.contentTypes': [
        {
          name: 'post',
          fields: [
            { name: 'title', type: 'string' },
            { name: 'at', type: 'datetime', default: '{{now}}' },
          ],
        },
      ],
    };
    expect(await begun({ 'frontmatter.json': JSON.stringify(config) }, 'posts')).toMatchObject({
      slug: '2026-03-07-dont-panic-zoë',
      frontmatter: { at: '2026-03-07T08:09:10Z' },
    });
  });
});
