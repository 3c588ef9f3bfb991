import { beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { commitTo } from '../support/conflict-site.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
beforeAll(() => seed(app, siteFiles));

const schema = `${studio}/schema`;

describe('200', () => {
  it('gives one schema with its fields', async () => {
    const { status, body } = await app.ask('GET', `${schema}/posts`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      collection: 'posts',
      label: expect.any(String),
      path: 'src/content/posts',
      format: 'yaml',
      extensions: expect.arrayContaining(['md']),
      source: { kind: expect.any(String), path: 'src/content.config.ts' },
      inferred: false,
      json_schema: expect.objectContaining({ type: 'object' }),
      warnings: [],
    });
    const field = (name: string) => body.fields.find((item: { name: string }) => item.name === name);
    expect(field('title')).toMatchObject({ type: 'string', required: true, list: false, max_length: 80 });
    expect(field('tags')).toMatchObject({ list: true, required: false });
    expect(field('author')).toMatchObject({ type: 'reference', relation: { collection: 'authors', multiple: false } });
    expect(field('rating')).toMatchObject({ type: 'number', min: 0, max: 5 });
    for (const item of body.fields) expect(Object.values(item)).not.toContain(null);
  });

  it('lists all by name, each as it is alone', async () => {
    const { headers, body } = await app.ask('GET', schema);
    expect(body.map(({ collection }: { collection: string }) => collection)).toEqual(['authors', 'posts']);
    expect(body[1]).toEqual((await app.ask('GET', `${schema}/posts`)).body);
    expect(headers.get('x-total-count')).toBe('2');
    expect((await app.ask('GET', `${schema}?per_page=1&page=2`)).body).toEqual([body[1]]);
  });

  it('refreshes, and returns what changed', async () => {
    const { status, body } = await app.ask('POST', `${schema}/refresh`, { body: { branch: 'main' } });
    expect(status).toBe(200);
    const { sha } = (await app.ask('GET', `${studio}/commits`)).body[0];
    expect(body).toMatchObject({ refreshed: true, commit: sha, added: [], changed: [], removed: [], warnings: [] });
    expect(body.schemas).toEqual((await app.ask('GET', schema)).body);
    expect((await app.ask('POST', `${schema}/refresh`)).status).toBe(200);
  });

  it('reads a changed configuration at once', async () => {
    const config = siteFiles['src/content.config.ts'] ?? '';
    await seed(app, { 'src/content.config.ts': config.replace('max(80)', 'max(10)') });
    const { body } = await app.ask('GET', `${schema}/posts`);
    expect(body.fields.find((item: { name: string }) => item.name === 'title').max_length).toBe(10);
  });

  it('reads a configuration that is written while others save', async () => {
    const config = siteFiles['src/content.config.ts'] ?? '';
    const save = (title: string) =>
      app.ask('PUT', `${studio}/collections/posts/en/alpha`, { body: { frontmatter: { title } } });
    const { body } = await app.ask('GET', `${studio}/file?path=src/content.config.ts`);
    const write = {
      op: 'write_file',
      path: 'src/content.config.ts',
      sha: body.sha,
      content: config.replace('max(80)', 'max(12)'),
    };
    const answers = await Promise.all([
      ...['A', 'B', 'C'].map(save),
      app.ask('POST', `${studio}/changes`, { body: { actions: [write] } }),
      ...['D', 'E', 'F'].map(save),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 201, 200, 200, 200]);
    expect((await save('G')).status).toBe(200);
    const { body: posts } = await app.ask('GET', `${schema}/posts`);
    expect(posts).toMatchObject({ inferred: false, source: { path: 'src/content.config.ts' } });
    expect(posts.fields.find((item: { name: string }) => item.name === 'title').max_length).toBe(12);
  });

  it('reads a configuration that comes with the first commit', async () => {
    const project = await app.ask('POST', '/api/v2/organizations/acme/projects', {
      body: { name: 'First', machine_name: 'first' },
    });
    expect(project.status).toBe(201);
    const first = '/api/v2/organizations/acme/projects/first/studio';
    const path = 'src/content.config.ts';
    const files = {
      [path]: siteFiles[path] ?? '',
      'astro.config.mjs': siteFiles['astro.config.mjs'] ?? 'export default {};\n',
    };
    const actions = Object.entries(files).map(([path, content]) => ({ op: 'write_file', path, content }));
    expect((await app.ask('POST', `${first}/changes`, { body: { actions } })).status).toBe(201);
    expect((await app.ask('GET', `${first}/schema`)).body).toMatchObject([
      { collection: 'authors', source: { path } },
      { collection: 'posts', source: { path } },
    ]);
  });

  it('never executes a configuration it cannot read: it warns and infers', async () => {
    const hostile = `globalThis.pwned = true; import('node:fs').then((fs) => fs.writeFileSync('pwned', ''));
export const collections = globalThis.make();`;
    await app.ask('POST', `${studio}/branches`, { body: { name: 'hostile' } });
    const git = await app.repository();
    const author = { name: 'S', email: 's@t' };
    const changes = [{ path: 'src/content.config.ts', content: Buffer.from(hostile) }];
    await git.write({ branch: 'hostile', author, plan: async () => ({ changes, message: 'X', result: null }) });
    const { status, body } = await app.ask('GET', `${schema}?branch=hostile`);
    expect(status).toBe(200);
    expect(body.map(({ inferred }: { inferred: boolean }) => inferred)).not.toContain(false);
    const refreshed = await app.ask('POST', `${schema}/refresh`, { body: { branch: 'hostile' } });
    expect(refreshed.body.warnings.length).toBeGreaterThan(0);
    expect(globalThis).not.toHaveProperty('pwned');
  });
});

describe('304', () => {
  it.each(['', '/posts'])('%s until a schema changes', async (path) => {
    const { headers } = await app.ask('GET', `${schema}${path}`);
    const etag = headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[0-9a-f]+\.[0-9a-f]{8}"$/);
    const again = () => app.ask('GET', `${schema}${path}`, { headers: { 'If-None-Match': etag } });
    expect((await again()).status).toBe(304);
    await seed(app, { 'src/content.config.ts': `${siteFiles['src/content.config.ts']}\n// ${path}x` });
    const config = (siteFiles['src/content.config.ts'] ?? '').replace('max(80)', `max(${20 + path.length})`);
    await seed(app, { 'src/content.config.ts': config });
    expect((await again()).status).toBe(200);
  });
});

describe('400', () => {
  it('a branch that is no text', async () => {
    const answer = await app.ask('POST', `${schema}/refresh`, { body: { branch: 1 } });
    expectRefusal(answer, 400, 'invalid_request', 'branch: must be a string');
  });
});

describe('404', () => {
  it.each(['none', 'constructor', '__proto__', '%2e%2e', 'posts%2f'])('collection %s', async (name) => {
    expectRefusal(await app.ask('GET', `${schema}/${name}`), 404, 'not_found', /./);
  });

  it('a branch that is not there', async () => {
    expectRefusal(await app.ask('GET', `${schema}?branch=none`), 404, 'not_found', 'branch: none does not exist');
    const answer = await app.ask('POST', `${schema}/refresh`, { body: { branch: 'none' } });
    expectRefusal(answer, 404, 'not_found', 'branch: none does not exist');
  });
});

describe('422', () => {
  it.each([
    ['src/content.config.ts', 'export const collections = {{{'],
    ['studio.config.json', '{"collections": '],
  ])('a refresh when %s cannot be read, which reads nothing less for others', async (path, text) => {
    const branch = path.replace(/\W/g, '-');
    await app.ask('POST', `${studio}/branches`, { body: { name: branch } });
    await commitTo(app, branch, { [path]: text });
    const answer = await app.ask('POST', `${schema}/refresh`, { body: { branch } });
    expectRefusal(answer, 422, 'validation_failed', /^The configuration cannot be read: /);
    expect(answer.body.message).toContain(path);
    expect(answer.body.details.errors[0]).toMatchObject({ code: 'config_unreadable' });
    expect((await app.ask('GET', `${schema}?branch=${branch}`)).status).toBe(200);
  });
});
