import { beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';

const files: Record<string, string | Buffer> = {
  'astro.config.mjs': 'export default {};\n',
  'tsconfig.json': '{ "compilerOptions": { "baseUrl": ".", "paths": { "@pictures/*": ["src/assets/*"] } } }\n',
  'src/content.config.ts': `import { defineCollection } from 'astro:content';
import { glob } from 'astro/loaders';
import { z } from 'astro/zod';
const posts = defineCollection({
  loader: glob({ pattern: '**/*.md', base: './src/content/posts' }),
  schema: ({ image }) => z.object({
    title: z.string(),
    cover: image().optional(),
    gallery: z.array(z.object({ picture: image() })).optional(),
  }),
});
export const collections = { posts };
`,
  'src/content/posts/plain.md': '---\ntitle: Plain\n---\n',
  'src/content/posts/old.md': '---\ntitle: Old\ncover: ./gone.png\n---\n',
  'src/content/posts/bundle/index.md': '---\ntitle: Bundle\ncover: ./own.png\n---\n',
  'src/content/posts/bundle/own.png': Buffer.from(pixel, 'base64'),
  'src/content/posts/näh bild.png': Buffer.from(pixel, 'base64'),
  'src/assets/one.png': Buffer.from(pixel, 'base64'),
  'public/images/two.png': Buffer.from(pixel, 'base64'),
  'notes/a.md': '---\nimage: /images/two.png\n---\n',
  'notes/b.md': '---\nimage: /images/two.png\n---\n',
};

const app = shared(startTestApp);
beforeAll(() => seed(app, files));

const entries = `${studio}/collections/posts`;
let made = 0;
const create = (frontmatter: object, collection = 'posts') =>
  app.ask('POST', `${studio}/collections/${collection}`, {
    body: { slug: `made-${made++}`, frontmatter: { title: 'Made', ...frontmatter } },
  });
const update = (slug: string, frontmatter: object) => app.ask('PUT', `${entries}/${slug}`, { body: { frontmatter } });

describe('an image or file', () => {
  it.each([
    ['a path from the entry', './bundle/own.png'],
    ['a path to the assets', '../../assets/one.png'],
    ['a plain path from the entry', 'bundle/own.png'],
    ['a URL of the site', '/images/two.png'],
    ['a URL below a base', '/docs/images/two.png'],
    ['a path from the root', '/src/assets/one.png'],
    ['an alias of the configuration', '@pictures/one.png'],
    ['an encoded path', './n%C3%A4h%20bild.png'],
    ['a URL with a query', '/images/two.png?width=100#x'],
    ['another site', 'https://example.com/nothing.png'],
    ['another site without a scheme', '//example.com/nothing.png'],
    ['a data URL', `data:image/png;base64,${pixel}`],
    ['an unknown alias', '@unknown/nothing.png'],
    ['a template', '/images/{{ name }}.png'],
  ])('may be %s', async (_what, cover) => {
    const { status, body } = await create({ cover });
    expect({ status, body }).toMatchObject({ status: 201, body: { warnings: [] } });
  });

  it.each([
    ['a path without a file', './nothing.png'],
    ['a path out of the repository', '../../../../nothing.png'],
    ['a directory', './bundle/'],
    ['a plain path without a file', 'nothing.png'],
    ['a URL of the site without a file', '/images/nothing.png'],
    ['a known alias without a file', '@pictures/nothing.png'],
  ])('must not be %s', async (_what, cover) => {
    const { status, body } = await create({ cover });
    expect({ status, body }).toMatchObject({
      status: 422,
      body: { code: 'validation_failed', details: { errors: [{ field: '/frontmatter/cover', code: 'file' }] } },
    });
  });

  it('is named by its place in a list', async () => {
    const gallery = [{ picture: './bundle/own.png' }, { picture: './nothing.png' }];
    const { status, body } = await create({ gallery });
    expect(status).toBe(422);
    expect(body.details.errors).toMatchObject([{ field: '/frontmatter/gallery/1/picture', code: 'file' }]);
  });

  it('that was missing before is only warned about, wherever it moves, and another missing one is refused', async () => {
    const kept = await update('old', { title: 'New' });
    expect(kept).toMatchObject({ status: 200, body: { warnings: [{ code: 'file', path: expect.any(String) }] } });
    const moved = await update('old', { cover: null, gallery: [{ picture: './gone.png' }] });
    expect(moved).toMatchObject({ status: 200, body: { warnings: [{ code: 'file' }] } });
    expect(await update('old', { cover: './also-gone.png' })).toMatchObject({ status: 422 });
  });

  it('may come in the same commit, and must not leave in it', async () => {
    const upload = { op: 'upload_media', path: 'public/images/three.png', content: pixel };
    const post = (slug: string) => ({
      op: 'create',
      collection: 'posts',
      slug,
      frontmatter: { title: 'x', cover: '/images/three.png' },
    });
    const change = (actions: object[]) => app.ask('POST', `${studio}/changes`, { body: { actions } });
    expect((await change([post('alone')])).status).toBe(422);
    expect(await change([post('together'), upload])).toMatchObject({
      status: 201,
      body: { results: [{ warnings: [] }, {}] },
    });
  });

  it('stays with an entry that is renamed together with its directory', async () => {
    const renamed = await app.ask('PUT', `${entries}/bundle`, {
      body: { slug: 'parcel', frontmatter: { title: 'P' } },
    });
    expect(renamed).toMatchObject({ status: 200, body: { slug: 'parcel', warnings: [] } });
  });

  it('of an inferred collection is only warned about', async () => {
    const { status, body } = await create({ image: '/images/nothing.png' }, 'notes');
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { warnings: [{ code: 'file', collection: 'notes' }] },
    });
    expect((await create({ image: '/images/two.png' }, 'notes')).body.warnings).toEqual([]);
  });

  it('is reported by a validation as well', async () => {
    const validate = (cover: string) =>
      app.ask('POST', `${studio}/validate`, { body: { collection: 'posts', frontmatter: { title: 'x', cover } } });
    expect((await validate('./nothing.png')).body).toMatchObject({ valid: false, errors: [{ code: 'file' }] });
    expect((await validate('./bundle/own.png')).body).toMatchObject({ valid: false });
    expect((await validate('/images/two.png')).body).toMatchObject({ valid: true, errors: [] });
  });
});
