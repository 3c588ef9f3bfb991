import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { acme, shared, startTestApp } from '../support/app.ts';
import { client } from '../support/git-client.ts';
import { git } from '../support/git-store.ts';

const app = shared(startTestApp);
let home: string;
let editor: string;
let count = 0;

beforeAll(async () => {
  home = mkdtempSync(path.join(tmpdir(), 'portico-settings-'));
  git(home, ['init', '-q', 'clone']);
  editor = await app.makeToken(['browse_studio', 'edit_studio', 'delete_studio']);
});
afterAll(async () => {
  if (home) rmSync(home, { recursive: true, force: true });
});

type Files = Record<string, string>;

/** A project with these files. */
async function site(files: Files) {
  const name = `site-${count++}`;
  await app.run(createProject, { organization: 'acme', name, machine_name: name });
  const clone = path.join(home, 'clone');
  const ref = `refs/scratch/${name}`;
  const commit = (more: Files): string => {
    const parent = git(clone, ['for-each-ref', '--format=%(objectname)', ref]);
    const changes = Object.entries(more).map(
      ([file, text]) => `M 100644 inline ${file}\ndata ${text.length}\n${text}\n`,
    );
    const head = `commit ${ref}\ncommitter C <c@example.org> 1700000000 +0000\ndata 1\nx\n`;
    git(clone, ['fast-import', '--quiet', '--force'], head + (parent ? `from ${parent}\n` : '') + changes.join(''));
    return git(clone, ['rev-parse', ref]);
  };
  const push = (token: string, oid: string) =>
    client(
      clone,
      'push',
      '-q',
      `${app.url.replace('//', `//x:${token}@`)}/git/acme/${name}.git`,
      `${oid}:refs/heads/main`,
    );
  const first = commit(files);
  await push(app.token, first);
  const studio = `${acme}/projects/${name}/studio`;
  return {
    studio,
    /** What an editor is shown who pushes these files; null when they came in. */
    async push(more: Files): Promise<string | null> {
      const oid = commit(more);
      const refused = await push(editor, oid).then(
        () => null,
        ({ stderr }: { stderr: string }) => stderr.replace(/\s*\nremote: */g, ' '),
      );
      if (refused !== null) git(path.join(home, 'clone'), ['update-ref', ref, `${oid}^`]);
      return refused;
    },
    as: (token: string, method: string, at: string, body?: unknown) =>
      app.ask(method, studio + at, { token, ...(body !== undefined && { body }) }),
  };
}

const post = '---\ntitle: A\n---\n';
const everything = JSON.stringify({ collections: { all: { path: '../..', extensions: ['json'] } } });
const decap = 'collections:\n  - { name: all, folder: /, extension: json, create: true, fields: [{ name: a }] }\n';
const astro = `import { defineCollection } from 'astro:content';
import { glob } from 'astro/loaders';
export const collections = { authors: defineCollection({ loader: glob({ base: 'src/content/authors', pattern: '**/*.{yaml,yml,json}' }) }) };
`;

const plain = { 'content/posts/a.md': post, 'content/authors/a.json': '{}', 'content/people/a.yml': 'name: A\n' };
const withAstro = { 'astro.config.mjs': '', 'src/content.config.ts': astro, 'src/content/authors/a.yaml': 'name: A\n' };
const nested = { 'docs/a.md': post, 'docs/b.md': post, 'docs/x.yml': 'a: 1\n', 'apps/web/astro.config.mjs': '' };

describe('a file that says which files are content', () => {
  it.each<[string, Files, string, string]>([
    ['studio.config in a collection', plain, 'content/authors/studio.config.json', everything],
    ['one of YAML', plain, 'content/people/studio.config.yml', everything],
    ['a configuration that founds a site', plain, 'content/authors/hugo.json', '{}'],
    ['one that founds a site nearer to the top', nested, 'docs/studio.config.yml', everything],
    ["a content management system's configuration", withAstro, 'src/content/authors/admin/config.yml', decap],
  ])('is not brought in with edit_studio: %s', async (_what, files, file, text) => {
    const made = await site({ 'package.json': '{}', ...files });
    expect(await made.push({ [file]: text })).toContain(
      `${file} says which files are content, which needs the permission manage_studio`,
    );
    expect(await made.push({ 'package.json': '{"evil":1}' })).toContain(
      'package.json is outside collections and media',
    );
  });

  it('is written by no endpoint with edit_studio', async () => {
    const made = await site({ 'package.json': '{}', ...withAstro });
    const entry = {
      slug: 'admin/config',
      format: 'yaml',
      path: 'src/content/authors/admin/config.yml',
      frontmatter: { a: 1 },
    };
    expect((await made.as(editor, 'POST', '/collections/authors', entry)).status).toBe(403);
    const actions = [{ op: 'create', collection: 'authors', ...entry }];
    expect((await made.as(editor, 'POST', '/changes', { actions })).status).toBe(403);
    expect((await made.as(app.token, 'POST', '/collections/authors', entry)).status).toBe(201);
  });

  it('is neither changed nor deleted with less than manage_studio, though a collection names it', async () => {
    const made = await site({
      ...{ '_config.yml': 'title: A\n', '_posts/2026-01-01-a.md': post, 'package.json': '{}' },
      'admin/config.yml':
        'collections:\n  - name: site\n    files: [{ name: settings, file: _config.yml, fields: [{ name: title }] }]\n',
    });
    const [settings] = (await made.as(editor, 'GET', '/collections')).body.filter(
      ({ path: where }: { path: string }) => where === '' || where === '_config.yml',
    );
    const [entry] = (await made.as(editor, 'GET', `/collections/${settings.name}`)).body;
    const url = `/collections/${settings.name}/${entry.slug}`;
    const change = { frontmatter: { data_dir: '.' } };
    expect((await made.as(editor, 'PUT', url, change)).status).toBe(403);
    expect((await made.as(editor, 'DELETE', `${url}?force=true`)).status).toBe(403);
    expect((await made.as(app.token, 'PUT', url, { frontmatter: { title: 'B' } })).status).toBe(200);
  });

  it('is data that a configuration imports or inherits', async () => {
    const imported = {
      ...withAstro,
      'package.json': '{}',
      'src/content.config.ts': astro
        .replace('import', "import places from './content/authors/places.json';\nimport")
        .replace(' } ) }', '')
        .replace('};', ", other: defineCollection({ loader: glob({ base: places.base, pattern: '*.json' }) }) };"),
      'src/content/authors/places.json': '{"base":"src/content/other"}',
    };
    const inherited = {
      'mkdocs.yml': 'INHERIT: content/shared/base.yml\ndocs_dir: content\n',
      'content/index.md': post,
      'content/shared/base.yml': 'site_name: A\n',
    };
    for (const [files, file, text] of [
      [imported, 'src/content/authors/places.json', '{"base":"."}'],
      [inherited, 'content/shared/base.yml', 'hooks: [content/evil.py]\n'],
    ] as const)
      expect(await (await site(files)).push({ [file]: text })).toContain(
        `${file} says which files are content, which needs the permission manage_studio`,
      );
  });

  it("is content where it has only a site's own values, as Hugo's parameters and menus have", async () => {
    const made = await site({
      'hugo.toml': 'title = "A"\n',
      'content/posts/a.md': post,
      'config/_default/params.yml': 'a: 1\n',
      'config/_default/languages.yml': 'en: {}\n',
      'static/admin/config.yml':
        'collections:\n  - { name: config, folder: config/_default, extension: yml, fields: [{ name: a }] }\n',
    });
    expect(await made.push({ 'config/_default/params.yml': 'a: 2\n' })).toBeNull();
    expect(await made.push({ 'config/_default/menus.en.yml': 'a: 2\n' })).toBeNull();
    expect(await made.push({ 'config/_default/languages.yml': 'en: { contentDir: . }\n' })).toContain(
      'languages.yml says which files are content',
    );
    expect(await made.push({ 'config/production/languages.en.yml': 'contentDir: .\n' })).not.toBeNull();
    for (const name of ['security', 'markup', 'outputFormats', 'module'])
      expect(await made.push({ [`config/_default/${name}.yml`]: 'a: 1\n' })).toContain('says which files are content');
  });

  it('is content where it says nothing: data called config below the root of a site', async () => {
    const made = await site(withAstro);
    expect(await made.push({ 'src/content/authors/config.json': '{"name":"C"}' })).toBeNull();
  });
});

describe('data that is in a collection because pages lie beside it', () => {
  const files = { ...withAstro, 'docker/README.md': post, 'docker/compose.yml': 'a: 1\n', 'content/posts/a.md': post };

  it('is not changed with edit_studio: programs may read it', async () => {
    const made = await site(files);
    expect(await made.push({ 'docker/compose.yml': 'a: 2\n' })).toContain(
      'docker/compose.yml is data that no configuration declares as content, which needs the permission manage_studio',
    );
    const url = '/collections/docker-data/compose';
    expect((await made.as(editor, 'GET', url)).status).toBe(200);
    expect((await made.as(editor, 'PUT', url, { frontmatter: { a: 2 } })).status).toBe(403);
    expect((await made.as(app.token, 'PUT', url, { frontmatter: { a: 2 } })).status).toBe(200);
  });

  it('is content in directories of content, and where the site declares it', async () => {
    const made = await site({ 'content/posts/a.md': post, 'content/posts/a.json': '{}', 'content/posts/b.md': post });
    expect(await made.push({ 'content/posts/a.json': '{"a":1}' })).toBeNull();
    expect(await (await site(withAstro)).push({ 'src/content/authors/a.yaml': 'name: B\n' })).toBeNull();
  });

  it('is not changed either where a page gets its values from data of its name', async () => {
    const made = await site({
      'eleventy.config.js': '',
      'index.md': post,
      'package.json': '{}',
      'app.json': '{}',
      'posts/a.md': post,
      'posts/posts.json': '{}',
      'posts/a.11tydata.json': '{}',
    });
    for (const slug of ['package', 'app'])
      expect((await made.as(editor, 'POST', '/collections/pages', { slug, body: 'x' })).status).toBe(201);
    for (const slug of ['package', 'app', 'posts/posts']) {
      const change = { frontmatter: { scripts: { prebuild: 'evil' } } };
      expect([403, 404]).toContain(
        (await made.as(editor, 'PUT', `/collections/directory-data/${slug}`, change)).status,
      );
    }
    const url = '/collections/directory-data/posts/a.11tydata';
    expect((await made.as(editor, 'PUT', url, { frontmatter: { a: 2 } })).status).toBe(200);
  });
});

describe("data of a framework's that is wherever the site is", () => {
  it.each<[string, Files]>([
    ['Eleventy', { 'eleventy.config.js': 'export default () => ({ dir: { data: "" } });' }],
    ['Jekyll', { '_config.yml': 'data_dir: .\n' }],
  ])('is not changed with edit_studio: %s', async (_framework, configuration) => {
    const made = await site({
      ...configuration,
      'index.md': post,
      'site.json': '{}',
      'package.json': '{}',
      'content/lists/a.json': '{}',
    });
    for (const [file, why] of [
      ['package.json', 'is what programs are configured by'],
      ['.github/workflows/build.yml', 'is what programs are configured by'],
      ['tools/release.json', 'is data that no configuration declares as content'],
    ] as const)
      expect(await made.push({ [file]: '{"a":1}' })).toContain(
        `${file} ${why}, which needs the permission manage_studio`,
      );
    const change = { frontmatter: { scripts: { prebuild: 'evil' } } };
    expect((await made.as(editor, 'PUT', '/collections/data/package', change)).status).toBe(403);
    expect((await made.as(editor, 'DELETE', '/collections/data/package')).status).toBe(403);
    const draft = { slug: '.github/workflows/b', path: '.github/workflows/b.json', frontmatter: { on: 'push' } };
    expect((await made.as(editor, 'POST', '/collections/data', draft)).status).toBe(403);
    expect(await made.push({ 'content/lists/a.json': '{"a":1}' })).toBeNull();
  });
});

describe('data that a pattern as wide as the site has', () => {
  const wide = 'collections:\n  - { name: all, folder: /, extension: json, create: true, fields: [{ name: a }] }\n';
  const named =
    '  - { name: files, files: [{ name: app, label: App, file: app.json, fields: [{ name: a, label: A }] }] }\n';

  it('is code where programs are configured by it, unless it is listed as a file', async () => {
    const made = await site({
      'static/admin/config.yml': wide + named,
      'package.json': '{}',
      'app.json': '{}',
      'places.json': '{}',
    });
    for (const file of [
      'package.json',
      'Package.JSON',
      'tsconfig.app.json',
      'vercel.json',
      '.eslintrc.json',
      'config.json',
    ])
      expect(await made.push({ [file]: '{"a":1}' })).not.toBeNull();
    expect((await made.as(editor, 'PUT', '/collections/all/package', { frontmatter: { a: 'x' } })).status).toBe(403);
    expect(await made.push({ 'places.json': '{"a":"b"}' })).toBeNull();
  });

  it.each([
    'wrangler.toml',
    'sub/composer.json',
    'babel.config.json',
    'compose.yaml',
    '.gitlab-ci.yml',
    '.circleci/x.yml',
  ])('is code: %s', async (file) => {
    const config = { collections: { all: { path: '.', extensions: ['json', 'yml', 'yaml', 'toml'] } } };
    const made = await site({ 'studio.config.json': JSON.stringify(config), 'a.json': '{}' });
    expect(await made.push({ [file]: '' })).toContain(`${file} is what programs are configured by`);
    expect(await made.push({ 'data/compose.yaml': 'a: 1\n', 'data/app.json': '{}' })).toBeNull();
  });

  it('is code where it is from before the paths of entries had a template', async () => {
    const template = wide.replace('create: true', 'create: true, path: "{{slug}}/index"');
    const made = await site({ 'static/admin/config.yml': template, 'package.json': '{}', 'a/index.json': '{}' });
    expect(await made.push({ 'package.json': '{"a":1}' })).toContain('is what programs are configured by');
    expect(await made.push({ 'a/index.json': '{"a":"b"}' })).toBeNull();
  });

  it('is content where the configuration lists it as a file', async () => {
    const made = await site({ 'static/admin/config.yml': `collections:\n${named}`, 'app.json': '{}' });
    expect(await made.push({ 'app.json': '{"a":"b"}' })).toBeNull();
  });
});

describe('text that is a file of media by its type', () => {
  it.each([
    'requirements.txt',
    'build/docs-requirements.txt',
    'constraints.txt',
    'requirements/docs.txt',
    'CMakeLists.txt',
  ])('is not brought in with edit_studio where programs are installed or built by it: %s', async (name) => {
    const made = await site({ 'mkdocs.yml': 'site_name: A\n', 'docs/index.md': post });
    expect(await made.push({ [`docs/${name}`]: 'evil\n' })).toContain(
      `docs/${name} is what programs are installed or built by, which needs the permission manage_studio`,
    );
    const content = Buffer.from('evil\n').toString('base64');
    const upload = { path: `docs/${name}`, content };
    expect((await made.as(editor, 'POST', '/media', upload)).status).toBe(403);
    const actions = [
      { op: 'upload_media', path: 'docs/notes.txt', content },
      { op: 'move_media', from: 'docs/notes.txt', path: `docs/${name}` },
    ];
    expect((await made.as(editor, 'POST', '/changes', { actions })).status).toBe(403);
    expect((await made.as(editor, 'POST', '/media', { path: 'docs/notes.txt', content })).status).toBe(201);
    expect((await made.as(app.token, 'POST', '/media', upload)).status).toBe(201);
    expect((await made.as(editor, 'DELETE', `/media/docs/${name}`)).status).toBe(403);
  });
});

describe('Markdown of templates', () => {
  it("is code: Hugo's layouts for other formats than HTML", async () => {
    const made = await site({
      'hugo.toml': '',
      'content/posts/a.md': post,
      'layouts/_default/single.md': '{{ .RawContent }}\n',
    });
    expect(await made.push({ 'layouts/_default/single.md': '{{ readFile "hugo.toml" }}\n' })).toContain(
      'layouts/_default/single.md is outside collections and media',
    );
  });
});
