import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { acme, startTestApp, type TestApp } from '../support/app.ts';
import { client } from '../support/git-client.ts';
import { git } from '../support/git-store.ts';

let app: TestApp;
let home: string;
let editor: string;
let count = 0;

beforeAll(async () => {
  app = await startTestApp();
  home = mkdtempSync(path.join(tmpdir(), 'portico-settings-'));
  git(home, ['init', '-q', 'clone']);
  editor = await app.makeToken(['browse_studio', 'edit_studio', 'delete_studio']);
});
afterAll(async () => {
  await app?.stop();
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
});
