import { beforeAll, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';

const collections = `${studio}/collections`;
const files = {
  'hugo.toml': 'title = "x"\n',
  'content/posts/shown.md': '---\ntitle: Shown\n---\n',
  'content/posts/draft.md': '---\ntitle: Draft\ndraft: true\n---\n',
  'content/posts/headless/index.md': '---\ntitle: Headless\nheadless: true\n---\n',
  'content/posts/headless/part.md': 'A resource.\n',
  'content/posts/never.md': '---\nbuild: { render: never }\n---\n',
  'content/posts/broken.md': '---\ntitle: [\n---\n',
  'data/team/ada.yaml': '# The first\nname: Ada\n',
  'data/cities.json': '["Bern"]\n',
};

const app = shared(startTestApp);
beforeAll(() => seed(app, files));

const entryOf = async (path: string) => (await app.ask('GET', `${collections}/${path}`)).body;

it('says that an entry of data has no address, before and after route patterns are saved', async () => {
  const reason = { code: 'data', message: 'Its collection is data: the site makes no page of it' };
  expect(await entryOf('data/team/ada')).toMatchObject({ no_url: reason });
  expect(await entryOf('posts/shown')).not.toHaveProperty('no_url');
  await app.ask('POST', `${studio}/route-patterns/detect`, { body: { save: true } });
  expect(await entryOf('data/team/ada')).toMatchObject({ no_url: reason });
  expect((await app.ask('GET', collections)).body).toMatchObject([
    { name: 'data', kind: 'data', schema: { kind: 'data' } },
    { name: 'posts', kind: 'page', schema: { kind: 'page' } },
  ]);
});

it('says why an entry has no address', async () => {
  await app.ask('POST', `${studio}/route-patterns/detect`, { body: { save: true } });
  const shown = await entryOf('posts/shown');
  expect(shown.url).toBe('/posts/shown/');
  expect(shown).not.toHaveProperty('no_url');
  const reasons = {
    draft: { code: 'draft', message: 'It is a draft' },
    headless: { code: 'no_page', message: 'It is a headless bundle: its content is for other pages' },
    'headless/part': { code: 'no_page', message: expect.stringContaining('a resource of the page beside it') },
    never: { code: 'no_page', message: 'Its build options have "render: never"' },
    broken: { code: 'unreadable' },
  };
  for (const [slug, no_url] of Object.entries(reasons)) {
    const entry = await entryOf(`posts/${slug}`);
    expect(entry).toMatchObject({ no_url });
    expect(entry).not.toHaveProperty('url');
  }
});

it('edits, makes and deletes data as any entry, and leaves the other bytes as they are', async () => {
  const change = { frontmatter: { role: 'Engine' } };
  expect((await app.ask('PUT', `${collections}/data/team/ada`, { body: change })).status).toBe(200);
  const entry = (await app.ask('GET', `${collections}/data/team/ada?raw=true`)).body;
  expect(entry.raw).toBe('# The first\nname: Ada\nrole: Engine\n');
  const made = { slug: 'team/bob', format: 'toml', frontmatter: { name: 'Bob' } };
  const created = await app.ask('POST', `${collections}/data`, { body: made });
  expect(created).toMatchObject({ status: 201, body: { path: 'data/team/bob.toml' } });
  expect((await app.ask('DELETE', `${collections}/data/team/bob`)).status).toBe(200);
  const list = { raw: '["Bern", "Basel"]\n' };
  expect(await app.ask('PUT', `${collections}/data/cities`, { body: list })).toMatchObject({ status: 200 });
  expect(await entryOf('data/cities?raw=true')).toMatchObject({ raw: list.raw, frontmatter: null });
  const broken = { raw: '["Bern", "Basel"\n' };
  expect((await app.ask('PUT', `${collections}/data/cities`, { body: broken })).status).toBe(422);
  const page = { raw: '---\n- a\n---\n' };
  expect((await app.ask('PUT', `${collections}/posts/shown`, { body: page })).status).toBe(422);
});
