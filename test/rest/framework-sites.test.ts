import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { acme, seed, startTestApp, type TestApp } from '../support/app.ts';
import { filesBelow } from '../support/routes/built-pages.ts';
import { fixtureSites, sourceOf } from '../support/routes/fixture-sites.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app?.stop());

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** What becomes of an entry with an image, as the framework's documentation has it. */
interface Course {
  collection: string;
  frontmatter?: object;
  /** Where its image lies, and the path of the site that it has there, if it has one. */
  image: string;
  published?: string;
  body: string;
  created: { slug: string; path: string; url: string };
  /** The slug it is renamed to, where that is not the one it has then. */
  to?: string;
  renamed: { slug: string; path: string; url: string; body?: string };
  /** Where the image lies when it moved along with the entry. */
  moved?: string;
}

const courses: Record<string, Course> = {
  astro: {
    collection: 'posts',
    image: 'src/content/posts/photo.png',
    body: '![A](./photo.png)\n',
    created: { slug: 'new', path: 'src/content/posts/new.md', url: '/base/blog/new/' },
    renamed: {
      slug: 'deep/other',
      path: 'src/content/posts/deep/other.md',
      url: '/base/blog/deep/other/',
      body: '![A](../photo.png)\n',
    },
  },
  starlight: {
    collection: 'docs',
    image: 'src/assets/photo.png',
    body: '![A](../../../assets/photo.png)\n',
    created: { slug: 'guides/new', path: 'src/content/docs/guides/new.md', url: '/handbook/guides/new/' },
    renamed: {
      slug: 'new',
      path: 'src/content/docs/new.md',
      url: '/handbook/new/',
      body: '![A](../../assets/photo.png)\n',
    },
  },
  docusaurus: {
    collection: 'docs',
    image: 'docs/img/photo.png',
    body: '![A](./img/photo.png)\n',
    created: { slug: '04-new', path: 'docs/04-new.md', url: '/base/handbook/coming/new' },
    renamed: {
      slug: 'deep/05-other',
      path: 'docs/deep/05-other.md',
      url: '/base/handbook/coming/deep/other',
      body: '![A](../img/photo.png)\n',
    },
  },
  hugo: {
    collection: 'posts',
    image: 'content/posts/new/photo.png',
    body: '![A](photo.png)\n',
    created: { slug: 'new', path: 'content/posts/new/index.md', url: '/base/posts/new/' },
    renamed: { slug: 'other', path: 'content/posts/other/index.md', url: '/base/posts/other/' },
    moved: 'content/posts/other/photo.png',
  },
  hexo: {
    collection: 'posts',
    image: 'source/_posts/2023-05-06-new/photo.png',
    body: '{% asset_img photo.png A %}\n',
    created: {
      slug: '2023-05-06-new',
      path: 'source/_posts/2023-05-06-new.md',
      url: '/base/en/2023/5/06/new/',
    },
    renamed: {
      slug: '2023-05-07-other',
      path: 'source/_posts/2023-05-07-other.md',
      url: '/base/en/2023/5/07/other/',
    },
    moved: 'source/_posts/2023-05-07-other/photo.png',
  },
  eleventy: {
    collection: 'guide',
    image: 'src/assets/photo.png',
    published: '/base/assets/photo.png',
    body: '![A](/assets/photo.png)\n',
    created: { slug: 'new', path: 'src/guide/new.md', url: '/base/guide/new/' },
    renamed: { slug: 'deep/other', path: 'src/guide/deep/other.md', url: '/base/guide/deep/other/' },
  },
  mkdocs: {
    collection: 'text',
    image: 'text/guide/photo.png',
    published: '/base/guide/photo.png',
    body: '![A](photo.png)\n',
    created: { slug: 'guide/new', path: 'text/guide/new.md', url: '/base/guide/new/' },
    renamed: { slug: 'new', path: 'text/new.md', url: '/base/new/', body: '![A](guide/photo.png)\n' },
  },
  'nuxt-content': {
    collection: 'blog',
    image: 'public/photo.png',
    published: '/base/photo.png',
    body: '![A](/photo.png)\n',
    created: { slug: '03.new', path: 'content/blog/03.new.md', url: '/base/blog/new' },
    renamed: { slug: 'other', path: 'content/blog/other.md', url: '/base/blog/other' },
  },
  jekyll: {
    collection: 'posts',
    image: 'assets/photo.png',
    published: '/base/assets/photo.png',
    body: '![A](/base/assets/photo.png)\n',
    created: { slug: '_posts/2020-03-04-new', path: '_posts/2020-03-04-new.md', url: '/base/2020/03/04/new.html' },
    renamed: {
      slug: 'blog/_posts/2020-03-05-other',
      path: 'blog/_posts/2020-03-05-other.md',
      url: '/base/blog/2020/03/05/other.html',
    },
  },
  vitepress: {
    collection: 'pages',
    image: 'pages/public/photo.png',
    published: '/base/photo.png',
    body: '![A](/photo.png)\n',
    created: { slug: 'guide/new', path: 'pages/guide/new.md', url: '/base/guide/new' },
    to: 'guide/other/index',
    renamed: { slug: 'guide/other', path: 'pages/guide/other/index.md', url: '/base/guide/other/' },
  },
};

it.each(Object.entries(courses))(
  'lists, creates with an image, renames and deletes an entry as %s has it',
  async (name, course) => {
    const site = Object.values(fixtureSites).find((one) => one.name === name);
    const directory = sourceOf(site ?? fixtureSites.astro, resolve(import.meta.dirname, '../..'));
    const paths = (await filesBelow(directory)).filter((path) => !/(^|\/)node_modules\//.test(path));
    const files = await Promise.all(paths.map(async (path) => [path, await readFile(join(directory, path))] as const));
    await app.run(createProject, { organization: 'acme', name, machine_name: name });
    await seed(app, Object.fromEntries(files), name);
    const studio = `${acme}/projects/${name}/studio`;
    const manager = await app.makeToken(['browse_studio', 'manage_studio', 'edit_studio', 'delete_studio']);
    const editor = await app.makeToken(['browse_studio', 'edit_studio', 'delete_studio']);
    const ask = (method: string, path: string, body?: object) =>
      app.ask(method, `${studio}/${path}`, { token: editor, ...(body && { body }) });
    const saved = await app.ask('POST', `${studio}/route-patterns/detect`, { token: manager, body: { save: true } });
    expect(saved.body.framework?.id).toBe(site?.framework);

    const { collection, image, published, body, frontmatter, created, to, renamed, moved } = course;
    const uploaded = await ask('POST', 'media', { path: image, content: pixel });
    expect(uploaded.status, JSON.stringify(uploaded.body)).toBe(201);
    expect(uploaded.body.public_path).toBe(published);
    const title = { title: 'New', ...frontmatter };
    const slug = moved === undefined || name === 'hexo' ? created.slug : `${created.slug}/index`;
    expect((await ask('POST', `collections/${collection}`, { slug, frontmatter: title, body })).body).toMatchObject(
      created,
    );
    const entry = (of: string) => `collections/${collection}/${encodeURIComponent(of)}`;
    const listed = await ask('GET', `collections/${collection}?per_page=100`);
    expect(listed.body).toContainEqual(expect.objectContaining(created));
    const { body: text = body, ...place } = renamed;
    expect((await ask('PUT', entry(created.slug), { slug: to ?? renamed.slug })).body).toMatchObject(place);
    expect((await ask('GET', entry(renamed.slug))).body).toMatchObject({ ...place, body: text });
    const deleted = await ask('DELETE', `${entry(renamed.slug)}?assets=true`);
    expect(deleted.body).toMatchObject({ deleted: true, ...(moved !== undefined && { assets: [moved] }) });
    expect((await ask('GET', entry(renamed.slug))).status).toBe(404);
  },
);
