import { beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';

const app = shared(startTestApp);
beforeAll(async () => {
  app.clock.now = new Date('2026-03-07T08:09:10Z');
  await seed(app, {
    'static/admin/config.yml': `
i18n: { structure: multiple_files, locales: [en, de], default_locale: en }
collections:
  - { name: posts, folder: posts, slug: '{{year}}-{{slug}}', fields: [{ name: title }, { name: layout, default: wide }, { name: date, widget: date }, { name: body, widget: markdown, default: Begin here. }] }
  - { name: notes, folder: notes, i18n: true, fields: [{ name: title }] }
  - { name: texts, files: [{ name: about, file: about.md, fields: [{ name: title }] }] }
`,
    'posts/2026-first-frost.md': '---\ntitle: First frost\n---\n',
    'posts/2026-Second.md': '---\ntitle: Second\n---\n',
    'posts/template.md': '---\ntitle: A post of that name\n---\n',
    'notes/a.de.md': '---\ntitle: A\n---\n',
  });
});

const templateOf = (collection: string, query: string) =>
  app.ask('GET', `${studio}/entry-templates/${collection}${query}`);

describe('200', () => {
  it('gives what createEntry takes as it is', async () => {
    const { status, body } = await templateOf('posts', '?title=Third');
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        slug: '2026-third',
        frontmatter: { layout: 'wide', title: 'Third', date: '2026-03-07' },
        body: 'Begin here.',
        source: { kind: 'decap', path: 'static/admin/config.yml', line: 4 },
      },
    });
    const { slug, frontmatter } = body;
    const made = await app.ask('POST', `${studio}/collections/posts`, { body: { slug, frontmatter } });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ slug: '2026-third', path: 'posts/2026-third.md', warnings: [] });
    expect((await templateOf('posts', '?title=Third')).body.slug).toBe('2026-third-2');
  });

  it('numbers names that are taken, also by letters of another case', async () => {
    expect((await templateOf('posts', '?title=First%20frost')).body.slug).toBe('2026-first-frost-2');
    expect((await templateOf('posts', '?title=second')).body.slug).toBe('2026-second-2');
  });

  it('looks for a free name in the language of the entry', async () => {
    expect((await templateOf('notes', '?title=A&locale=en')).body.slug).toBe('a');
    expect((await templateOf('notes', '?title=A&locale=de')).body.slug).toBe('a-2');
  });

  it('names an entry without a title, and sets none', async () => {
    expect((await templateOf('notes', '')).body).toMatchObject({ slug: 'untitled', frontmatter: {} });
  });

  it('leaves an entry called template where it is', async () => {
    expect((await app.ask('GET', `${studio}/collections/posts/template`)).body.title).toBe('A post of that name');
  });

  it('is a field of a collection in GraphQL', async () => {
    const query = `{ project(organization: "acme", project: "site") { studio { collection(name: "posts") {
      template(title: "Fifth") { slug frontmatter body source { kind path } } } } } }`;
    const { body } = await app.ask('POST', '/graphql', { body: { query } });
    expect(body.errors).toBeUndefined();
    expect(body.data.project.studio.collection.template).toMatchObject({ slug: '2026-fifth', body: 'Begin here.' });
  });
});

describe('refusals', () => {
  it('returns 404 for an unknown collection', async () => {
    expectRefusal(await templateOf('nowhere', '?title=A'), 404, 'not_found', 'Collection nowhere does not exist');
  });

  it('returns 422 for a language the site does not have, and for a collection of one file', async () => {
    expectRefusal(
      await templateOf('notes', '?title=A&locale=fr'),
      422,
      'invalid_name',
      'locale: The site has no locale "fr"',
    );
    expectRefusal(await templateOf('texts.about', '?title=A'), 422, 'invalid_name', /has no place for "a"$/);
  });

  it('returns 400 for a title of more than 1,000 characters', async () => {
    expectRefusal(
      await templateOf('notes', `?title=${'a'.repeat(1_001)}`),
      400,
      'invalid_request',
      'title: must be at most 1000 characters',
    );
  });
});
