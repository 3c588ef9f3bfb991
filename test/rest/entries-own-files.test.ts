import { describe, expect, it, vi } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { acme, seed, shared, startTestApp } from '../support/app.ts';

const app = shared(startTestApp);

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const page = (body = '') => `---\ntitle: Page\n---\n${body}`;

async function siteOf(project: string, files: Record<string, string | Buffer>) {
  await app.run(createProject, { organization: 'acme', name: project, machine_name: project });
  await seed(app, files, project);
  const studio = `${acme}/projects/${project}/studio`;
  const token = await app.makeToken(['browse_studio', 'edit_studio', 'delete_studio']);
  const files_ = async () => {
    const { body } = await app.ask('GET', `${studio}/filetree?flat=true`);
    return body.tree.flatMap((one: { path: string; type: string }) => (one.type === 'blob' ? [one.path] : []));
  };
  const textOf = async (path: string) => (await app.ask('GET', `${studio}/file?path=${encodeURIComponent(path)}`)).body;
  const call = (method: string, path: string, body?: object) =>
    app.ask(method, `${studio}/${path}`, { token, ...(body && { body }) });
  return { files: files_, textOf, call };
}

const frameworks: Record<string, { files: Record<string, string>; folder: string; collection: string }> = {
  Hugo: {
    files: { 'hugo.toml': 'title = "x"\n', 'content/posts/other.md': page() },
    folder: 'content/posts',
    collection: 'posts',
  },
  Docusaurus: {
    files: { 'docusaurus.config.js': 'export default { presets: [["classic", {}]] };\n', 'docs/other.md': page() },
    folder: 'docs',
    collection: 'docs',
  },
  Astro: {
    files: {
      'astro.config.mjs': 'export default {};\n',
      'src/content.config.ts':
        "import { defineCollection } from 'astro:content';\nimport { glob } from 'astro/loaders';\nexport const collections = { blog: defineCollection({ loader: glob({ pattern: '**/*.md', base: './src/content/blog' }) }) };\n",
      'src/content/blog/other.md': page(),
    },
    folder: 'src/content/blog',
    collection: 'blog',
  },
  Eleventy: {
    files: {
      'eleventy.config.js': 'export default (config) => { config.addPassthroughCopy("content/**/*.png"); };\n',
      'content/blog/other.md': page(),
    },
    folder: 'content/blog',
    collection: 'blog',
  },
};

describe.each(Object.entries(frameworks))('an entry of %s that is the index of its directory', (name, site) => {
  const { folder, collection } = site;

  it('is deleted with its own files on request, but for those that other entries name', async () => {
    const { files, call } = await siteOf(`del-${name.toLowerCase()}`, {
      ...site.files,
      [`${folder}/old/index.md`]: page('![](own.png) ![](./deep/shared.png)\n'),
      [`${folder}/old/own.png`]: pixel,
      [`${folder}/old/deep/shared.png`]: pixel,
      [`${folder}/user.md`]: page('![](old/deep/shared.png)\n'),
    });
    const listed = await call('GET', `collections/${collection}/old?include=own_files`);
    expect(listed.body.own_files).toEqual([
      { path: `${folder}/old/deep/shared.png`, references: [{ collection, slug: 'user', path: `${folder}/user.md` }] },
      { path: `${folder}/old/own.png`, references: [] },
    ]);
    const deleted = await call('DELETE', `collections/${collection}/old?assets=true`);
    expect(deleted).toMatchObject({
      status: 200,
      body: { assets: [`${folder}/old/own.png`], kept_assets: [`${folder}/old/deep/shared.png`] },
    });
    const left = await files();
    expect(left).toContain(`${folder}/old/deep/shared.png`);
    expect(left).not.toContain(`${folder}/old/own.png`);
    expect(left).not.toContain(`${folder}/old/index.md`);
  });

  it('leaves its files where they are otherwise', async () => {
    const { files, call } = await siteOf(`keep-${name.toLowerCase()}`, {
      ...site.files,
      [`${folder}/old/index.md`]: page(),
      [`${folder}/old/own.png`]: pixel,
    });
    const deleted = await call('DELETE', `collections/${collection}/old`);
    expect(deleted.body).not.toHaveProperty('assets');
    expect(await files()).toContain(`${folder}/old/own.png`);
  });

  it('is renamed with its files, and relative links to and from it lead where they led', async () => {
    const { files, call, textOf } = await siteOf(`ren-${name.toLowerCase()}`, {
      ...site.files,
      [`${folder}/old/index.md`]: page('![a](own.png) [b](../other.md#x)\n'),
      [`${folder}/old/own.png`]: pixel,
      [`${folder}/user.md`]: page('![c](old/own.png) [d](./old/index.md) `![c](old/own.png)`\n'),
    });
    const renamed = await call('PUT', `collections/${collection}/old`, { slug: 'deep/new' });
    expect(renamed).toMatchObject({
      status: 200,
      body: {
        body: '![a](own.png) [b](../../other.md#x)\n',
        assets: [`${folder}/deep/new/own.png`],
        references: [`${collection}/user`],
      },
    });
    expect(await files()).toContain(`${folder}/deep/new/own.png`);
    const user = await call('GET', `collections/${collection}/user`);
    expect(user.body.body).toBe('![c](deep/new/own.png) [d](./deep/new/index.md) `![c](old/own.png)`\n');
    expect(await textOf(`${folder}/user.md`)).toBeDefined();
  });
});

describe('a file of a Hugo site', () => {
  it.each([
    ['a list of images below the static directory', 'images: [img/one.png]', 'static/img/one.png', true],
    ['a resource by its name', 'resources:\n  - src: one.png', 'content/posts/a/one.png', true],
    ['a resource by a glob', 'resources:\n  - name: x\n    src: "**.PNG"', 'content/posts/a/deep/one.png', true],
    ['a resource by a glob of another directory', 'resources:\n  - src: other/*.png', 'content/posts/a/one.png', false],
    ['another file of the same end', 'images: [img/not-one.png]', 'static/img/one.png', false],
  ])('is used where an entry has %s', async (name, line, path, isUsed) => {
    const project = `used-${name.replace(/[^a-z]+/g, '-')}`.slice(0, 40).replace(/-$/, '');
    const { call } = await siteOf(project, {
      'hugo.toml': 'title = "x"\n',
      'archetypes/posts.md': page(),
      'content/posts/a/index.md': `---\ntitle: A\n${line}\n---\n`,
      [path]: pixel,
    });
    const answer = await call('DELETE', `media/${path}`);
    expect(answer.body.code).toBe(isUsed ? 'in_use' : undefined);
  });
});

describe('the own files of an entry', () => {
  it('are none where another entry lies in the same directory, such as a translation', async () => {
    const { files, call } = await siteOf('translated', {
      'hugo.toml': 'defaultContentLanguage = "en"\n[languages.en]\n[languages.de]\n',
      'content/posts/a/index.md': page('![](x.png)\n'),
      'content/posts/a/index.de.md': page(),
      'content/posts/a/x.png': pixel,
    });
    const [entry] = (await call('GET', 'collections/posts?locale=de')).body;
    const deleted = await call('DELETE', `collections/posts/${entry.slug}?assets=true`);
    expect(deleted.body).not.toHaveProperty('assets');
    expect(await files()).toContain('content/posts/a/x.png');
  });

  it('are not those in directories of entries below', async () => {
    const { files, call } = await siteOf('nested', {
      'docusaurus.config.js': 'export default { presets: [["classic", {}]] };\n',
      'docs/guide/index.md': page(),
      'docs/guide/img/x.png': pixel,
      'docs/guide/sub/page.md': page(),
      'docs/guide/sub/img/y.png': pixel,
    });
    const deleted = await call('DELETE', 'collections/docs/guide?assets=true');
    expect(deleted.body.assets).toEqual(['docs/guide/img/x.png']);
    expect(await files()).toContain('docs/guide/sub/img/y.png');
  });

  it('are not code that lies beside it', async () => {
    const { files, call } = await siteOf('code', {
      'docusaurus.config.js': 'export default { presets: [["classic", {}]] };\n',
      'docs/guide/index.mdx': page("import Demo from './demo.js';\n"),
      'docs/guide/demo.js': 'export default 1;\n',
    });
    const deleted = await call('DELETE', 'collections/docs/guide?assets=true');
    expect(deleted.status).toBe(200);
    expect(await files()).toContain('docs/guide/demo.js');
  });

  it('are the asset folder of a post of Hexo', async () => {
    const { files, call } = await siteOf('hexo', {
      '_config.yml': 'post_asset_folder: true\n',
      'package.json': '{"dependencies":{"hexo":"8.1.2"}}',
      'source/_posts/old.md': page('![](a.png)\n'),
      'source/_posts/old/a.png': pixel,
      'source/_posts/older.md': page(),
      'source/_posts/older/b.png': pixel,
    });
    const deleted = await call('DELETE', 'collections/posts/old?assets=true');
    expect(deleted.body.assets).toEqual(['source/_posts/old/a.png']);
    expect(await files()).not.toContain('source/_posts/old/a.png');
    expect(await files()).toContain('source/_posts/older/b.png');
  });

  it('go along in a commit of several changes, and not while a later change names one', async () => {
    const { files, call } = await siteOf('several', {
      'hugo.toml': 'title = "x"\n',
      'content/posts/a/index.md': page(),
      'content/posts/a/x.png': pixel,
      'content/posts/b.md': page(),
    });
    const remove = { op: 'delete', collection: 'posts', slug: 'a', assets: true };
    const name = { op: 'update', collection: 'posts', slug: 'b', body: '![](a/x.png)\n' };
    const refused = await call('POST', 'changes', { actions: [remove, name] });
    expect(refused).toMatchObject({ status: 409, body: { code: 'in_use' } });
    const done = await call('POST', 'changes', { actions: [remove] });
    expect(done.body.results).toMatchObject([{ op: 'delete', assets: ['content/posts/a/x.png'] }]);
    expect(await files()).not.toContain('content/posts/a/x.png');
  });
});

it('a directory of many files is moved without looking for each of their names in each entry', async () => {
  const folder = 'content/posts';
  const files = Array.from({ length: 200 }, (_, at) => [`${folder}/old/image${at}.png`, pixel] as const);
  const others = Array.from({ length: 20 }, (_, at) => [`${folder}/other${at}.md`, page()] as const);
  const { textOf, call } = await siteOf('many-own-files', {
    'hugo.toml': 'title = "x"\n',
    [`${folder}/old/index.md`]: page(),
    [`${folder}/user.md`]: page('![](old/image7.png)\n'),
    ...Object.fromEntries([...files, ...others]),
  });
  const looks = vi.spyOn(Buffer.prototype, 'includes');
  const moved = await call('PUT', 'collections/posts/old', { slug: 'new' });
  const count = looks.mock.calls.length;
  looks.mockRestore();
  expect(moved).toMatchObject({ status: 200, body: { references: ['posts/user'] } });
  expect(count).toBeLessThan(files.length + others.length);
  expect((await textOf(`${folder}/user.md`)).content).toContain('![](new/image7.png)');
});
