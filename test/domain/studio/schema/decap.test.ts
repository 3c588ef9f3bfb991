import { describe, expect, it } from 'vitest';
import { pathForSlug } from '../../../../src/domain/studio/slug.ts';
import { faults, named, shape } from './discovered.ts';
import { discover } from './sites.ts';

describe('Decap', () => {
  const yml = `
backend: { name: git-gateway }
media_folder: static/img/uploads
public_folder: /img/uploads
i18n: { structure: multiple_files, locales: [en, de], default_locale: en }
common: &common
  - &title { label: Title, name: title, widget: string }
  - { name: body, widget: markdown }
collections:
  - name: blog
    label: Blog
    folder: content/blog
    path: '{{slug}}/index'
    fields:
      - *title
      - { name: layout, widget: hidden, default: post }
      - { name: date, widget: datetime }
      - { name: when, widget: datetime, format: DD.MM.YYYY, required: false }
      - { name: rating, widget: number, value_type: int, min: 1, max: 5, required: false }
      - { name: author, widget: relation, collection: people, value_field: '{{slug}}', search_fields: [name] }
      - { name: team, widget: relation, collection: people, value_field: name, required: false }
      - { name: kinds, widget: select, multiple: true, options: [a, { label: B, value: b }], required: false }
      - { name: tags, widget: list, required: false }
      - { name: parts, widget: list, required: false, types: [{ name: hero, widget: object, fields: [{ name: h }] }, { name: cta, widget: object, fields: [{ name: to }] }] }
      - { name: odd, widget: acme-map, required: false }
      - { name: body, widget: markdown }
  - { name: people, folder: data/people, extension: yml, i18n: true, fields: [{ name: name }, { name: body, widget: text, required: false }] }
  - name: settings
    label: Settings
    files:
      - { name: general, label: General, file: data/general.json, fields: [{ name: site, widget: object, fields: [{ name: name }] }] }
      - { name: about, file: content/about.md, fields: *common }
`;
  const files = {
    'static/admin/config.yml': yml,
    'content/blog/old.md': '',
    'content/blog/new/index.md': '',
    'data/people/ann.yml': '',
  };

  it('gives folder and file collections their fields', async () => {
    const found = await discover(files);
    expect(found.schemas.map((one) => one.collection)).toEqual([
      'blog',
      'people',
      'settings.about',
      'settings.general',
    ]);
    expect(shape(found, 'blog')).toEqual({
      title: 'string!',
      layout: 'any',
      date: 'datetime!',
      when: 'string',
      rating: 'integer',
      author: 'reference!',
      team: 'any',
      kinds: 'enum[]',
      tags: 'string[]',
      parts: 'object[]',
      odd: 'any',
    });
    expect(shape(found, 'people')).toEqual({ name: 'string!', body: 'text' });
    expect(shape(found, 'settings.about')).toEqual({ title: 'string!' });
    expect(named(found, 'settings.general')).toMatchObject({
      label: 'Settings: General',
      format: 'json',
      source: { kind: 'decap' },
    });
    expect(found.mediaRoots).toEqual([{ path: 'static/img/uploads', public_path: '/img/uploads' }]);
    expect(named(found, 'blog').warnings.map((one) => one.code)).toEqual(['relation_unchecked', 'widget_unknown']);
  });

  it('says how the CMS shows fields, which decides nothing about their values', async () => {
    const found = await discover({
      'static/admin/config.yml': `
backend: { name: git-gateway }
collections:
  - name: notes
    folder: content/notes
    fields:
      - { name: accent, widget: color, required: false }
      - { name: layout, widget: hidden, default: note }
      - { name: code, pattern: ['^[A-Z]{3}$', 'must be three capitals'] }
      - { name: mood, widget: select, options: [calm, { label: Very happy, value: happy }] }
      - { name: place, widget: object, collapsed: true, summary: '{{fields.city}}', fields: [{ name: city }] }
      - { name: links, widget: list, label_singular: link, collapsed: true, minimize_collapsed: true, fields: [{ name: url }] }
      - { name: open, widget: object, collapsed: false, fields: [{ name: city }] }
`,
      'content/notes/a.md': '',
    });
    const editors = named(found, 'notes').fields.map(({ name, editor }) => [name, editor]);
    expect(editors).toEqual([
      ['accent', { widget: 'color' }],
      ['layout', { widget: 'hidden' }],
      ['code', { pattern_message: 'must be three capitals' }],
      ['mood', { option_labels: [{ value: 'happy', label: 'Very happy' }] }],
      ['place', { collapsed: true, summary: '{{fields.city}}' }],
      ['links', { collapsed: true, minimized: true, item_label: 'link' }],
      ['open', undefined],
    ]);
    const entry = {
      accent: 'no colour',
      code: 'abc',
      mood: 'happy',
      place: { city: 'x' },
      links: [],
      open: { city: 'y' },
    };
    expect(await faults(found, 'notes', entry)).toEqual(['/code pattern']);
  });

  it('has the media folders of the site, of collections and of fields', async () => {
    const found = await discover({
      'static/admin/config.yml': `
media_folder: static/img
public_folder: /img
collections:
  - { name: people, folder: people, media_folder: '/{{media_folder}}/people', public_folder: '{{public_folder}}/people', fields: [{ name: title }] }
  - { name: bare, folder: bare, media_folder: /static/bare, fields: [{ name: title }] }
  - { name: beside, folder: beside, media_folder: images, fields: [{ name: title }] }
  - { name: each, folder: each, media_folder: '/static/{{slug}}', fields: [{ name: title }] }
  - { name: out, folder: out, media_folder: '/../x', fields: [{ name: title }] }
  - { name: fields, folder: fields, fields: [{ name: cover, widget: image, media_folder: /static/covers }, { name: icon, widget: image, media_folder: '' }, { name: up, widget: image, media_folder: /a/.. }] }
singletons:
  - { name: home, file: home.md, media_folder: /static/home, fields: [{ name: title }] }
`,
      'people/a.md': '',
    });
    expect(found.mediaRoots).toEqual([
      { path: 'static/img', public_path: '/img' },
      { path: 'static/img/people', public_path: '/img/people' },
      { path: 'static/bare', public_path: '/static/bare' },
      { path: 'beside/images', public_path: null },
      { path: 'static/home', public_path: '/static/home' },
    ]);
    const paths = ['people', 'bare', 'beside', 'each', 'out'].map((name) => named(found, name).media_path);
    expect(paths).toEqual(['static/img/people', 'static/bare', 'beside/images', undefined, undefined]);
    expect(named(found, 'fields').fields.map(({ editor }) => editor)).toEqual([
      { media_path: 'static/covers' },
      undefined,
      undefined,
    ]);
  });

  it('has the media folders of the first hundred collections that have one', async () => {
    const collections = Array.from(
      { length: 101 },
      (_, at) => `  - { name: c${at}, folder: c${at}, media_folder: /m${at}, fields: [{ name: title }] }\n`,
    );
    const found = await discover({ 'static/admin/config.yml': `collections:\n${collections.join('')}`, 'c0/a.md': '' });
    expect(found.mediaRoots.length).toBe(100);
    expect(found.mediaRoots.at(-1)).toEqual({ path: 'm99', public_path: '/m99' });
  });

  it('places new entries where the path template says', async () => {
    const found = await discover(files);
    expect(pathForSlug(named(found, 'blog'), 'x')).toBe('content/blog/x/index.md');
    expect(named(found, 'blog').matches('content/blog/old.md')).toBe(true);
    expect(pathForSlug(named(found, 'people'), 'bob', { locale: 'de' })).toBe('data/people/bob.de.yml');
  });

  it('validates entries as the CMS writes them', async () => {
    const found = await discover(files);
    const good = {
      title: 'T',
      date: '2024-01-01T10:00:00.000Z',
      when: '01.02.2024',
      author: 'ann',
      tags: ['a'],
      parts: [{ type: 'cta', to: '/' }],
    };
    expect(await faults(found, 'blog', good)).toEqual([]);
    expect(await faults(found, 'blog', { title: 1, date: 'soon', author: 'ann', rating: 9 })).toEqual([
      '/title type',
      '/date date',
      '/rating max',
    ]);
  });

  it('reads JSON and TOML, and leaves other admin configurations alone', async () => {
    const toml = await discover({
      'public/admin/config.toml': '[[collections]]\nname = "a"\nfolder = "a"\n[[collections.fields]]\nname = "t"\n',
    });
    expect(shape(toml, 'a')).toEqual({ t: 'string!' });
    const json = await discover({
      'admin/config.json': '{"singletons": [{"name": "a", "file": "a.yml", "fields": [{"name": "t"}]}]}',
    });
    expect(shape(json, 'a')).toEqual({ t: 'string!' });
    const other = await discover({ 'admin/config.yml': 'server: {port: 1}', 'a/b.md': '' });
    expect(other.schemas.map((one) => one.source.kind)).toEqual(['inference']);
  });
});
