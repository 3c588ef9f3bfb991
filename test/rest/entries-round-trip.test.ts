import { beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';

const app = shared(startTestApp);
const notes = `${studio}/collections/notes`;
const strict = `${studio}/collections/strict`;
const home = 'content/notes';

const documents: Record<string, string | Buffer> = {
  'empty-keys.md': '---\ntitle:\nmeta:\n  # why\n  image:\n  deep: {a: , b: ~}\ntags: [one, ~]\n---\n\nText\n',
  'table.md': '+++\ntitle = "T"\nbig = 9007199254740993\n[meta]\nwhen = 2024-01-01T10:00:00Z\n+++\nText\n',
  'object.md': '{\n  "title": null,\n  "meta": {"image": null, "x": 1e400}\n}\n\nText\n',
  'crlf.md': '\ufeff---\r\ntitle:\r\na: 1 # one\r\n---\r\n\r\nText\r\n',
  'own-names.md':
    '---\ntitle: t\n__proto__:\n  polluted: 1\n  inner:\nconstructor:\nprototype: {__proto__: [1]}\n---\nText\n',
  'no-block.md': 'Just text\n',
  'broken.md': '---\ntitle: a: b\n  - [\n---\n\nText\n',
  'latin.md': Buffer.from('---\ntitle: caf\xe9\n---\n', 'latin1'),
};

beforeAll(async () => {
  const config = {
    collections: {
      strict: { path: 'content/strict', format: 'yaml', fields: [{ name: 'title', type: 'string', required: true }] },
    },
  };
  const files = Object.entries(documents).map(([name, content]) => [`${home}/${name}`, content]);
  await seed(app, {
    ...Object.fromEntries(files),
    'content/strict/bad.md': '---\ntitle: [\n---\n\nText\n',
    'content/strict/half.md': '---\nother: 1\n---\n\nText\n',
    'studio.config.json': JSON.stringify(config),
  });
});

const head = async () => (await app.ask('GET', `${studio}/commits?per_page=1`)).body[0].sha;
const slugs = Object.keys(documents).map((name) => name.replace(/\.md$/, ''));
const graphql = async (query: string, input: object) =>
  (await app.ask('POST', '/graphql', { body: { query, variables: { input } } })).body;

describe('GET then PUT of the same document', () => {
  it.each(slugs)('changes nothing and makes no commit: %s', async (slug) => {
    const before = await head();
    const { body: read, headers } = await app.ask('GET', `${notes}/${slug}`);
    const whole = await app.ask('PUT', `${notes}/${slug}`, {
      body: read,
      headers: { 'If-Match': headers.get('etag') ?? '' },
    });
    expect(whole).toMatchObject({
      status: 200,
      body: { unchanged: true, commit: null, sha: read.sha, frontmatter: read.frontmatter },
    });
    const { frontmatter, body, sha } = read;
    for (const mode of ['merge', 'replace']) {
      const answer = await app.ask('PUT', `${notes}/${slug}`, { body: { frontmatter, body, mode } });
      expect(answer).toMatchObject({ status: 200, body: { unchanged: true, sha } });
    }
    const { raw } = (await app.ask('GET', `${notes}/${slug}?raw=true`)).body;
    expect((await app.ask('PUT', `${notes}/${slug}`, { body: { raw } })).body).toMatchObject({ unchanged: true, sha });
    const actions = [{ op: 'update', collection: 'notes', slug, frontmatter, body }];
    const changed = await app.ask('POST', `${studio}/changes`, { body: { actions } });
    expect(changed).toMatchObject({ status: 200, body: { unchanged: true, commit: null } });
    expect(await head()).toBe(before);
  });

  it.each(slugs)('changes nothing over GraphQL either: %s', async (slug) => {
    const before = await head();
    const at = 'organization: "acme", project: "site"';
    const shown = await app.ask('POST', '/graphql', {
      body: {
        query: `{ project(${at}) { studio { entry(collection: "notes", slug: ${JSON.stringify(slug)}) { sha frontmatter body } } } }`,
      },
    });
    expect(shown.body.errors).toBeUndefined();
    const { sha, frontmatter, body } = shown.body.data.project.studio.entry;
    const input = { collection: 'notes', entry: slug, frontmatter, body };
    const saved = await graphql(
      `mutation ($input: UpdateEntryInput!) { updateEntry(${at}, input: $input) { unchanged sha } }`,
      input,
    );
    expect(saved).toEqual({ data: { updateEntry: { unchanged: true, sha } } });
    const actions = [{ op: 'update', collection: 'notes', slug, frontmatter, body }];
    const changed = await graphql(
      `mutation ($input: CommitChangesInput!) { commitChanges(${at}, input: $input) { unchanged } }`,
      { actions },
    );
    expect(changed).toEqual({ data: { commitChanges: { unchanged: true } } });
    expect(await head()).toBe(before);
  });
});

describe('null in a patch', () => {
  it('removes what has a value, keeps what is null, and unset removes either', async () => {
    const made = { slug: 'nulls', raw: '---\na: 1\nb:\nc:\n  d:\n  e: 2\n  f:\n---\n' };
    expect((await app.ask('POST', notes, { body: made })).status).toBe(201);
    const patch = { frontmatter: { a: null, b: null, c: { d: null, e: null } }, unset: ['/c/f'] };
    expect((await app.ask('PUT', `${notes}/nulls`, { body: patch })).body.frontmatter).toEqual({
      b: null,
      c: { d: null },
    });
    expect((await app.ask('GET', `${notes}/nulls?raw=true`)).body.raw).toBe('---\nb:\nc:\n  d:\n---\n');
    expect((await app.ask('PUT', `${notes}/nulls`, { body: { unset: ['/b', '/c/d'] } })).body.frontmatter).toEqual({
      c: {},
    });
  });
});

describe('raw', () => {
  it('creates an entry with exactly this text, over REST, GraphQL and /changes', async () => {
    const raw = '---\n# kept\ntitle:   "Raw"\n---\nText without an end';
    const read = async (slug: string) => (await app.ask('GET', `${notes}/${slug}?raw=true`)).body.raw;
    expect(await app.ask('POST', notes, { body: { slug: 'raw-1', raw } })).toMatchObject({
      status: 201,
      body: { title: 'Raw', body: 'Text without an end' },
    });
    const made = await graphql(
      'mutation ($input: CreateEntryInput!) { createEntry(organization: "acme", project: "site", input: $input) { slug } }',
      { collection: 'notes', slug: 'raw-2', raw },
    );
    expect(made).toEqual({ data: { createEntry: { slug: 'raw-2' } } });
    const actions = [{ op: 'create', collection: 'notes', slug: 'raw-3', raw }];
    expect((await app.ask('POST', `${studio}/changes`, { body: { actions } })).status).toBe(201);
    for (const slug of ['raw-1', 'raw-2', 'raw-3']) expect(await read(slug)).toBe(raw);
  });

  it.each([
    [{ frontmatter: { a: 1 } }, 400, 'invalid_request', /^raw: excludes frontmatter, body and apply_defaults$/],
    [{ body: 'x' }, 400, 'invalid_request', /^raw: excludes/],
    [{ frontmatter: {} }, 400, 'invalid_request', /^raw: excludes/],
    [{ body: '' }, 400, 'invalid_request', /^raw: excludes/],
    [{ apply_defaults: true }, 400, 'invalid_request', /^raw: excludes/],
    [{ raw: '---\na: [\n---\n' }, 422, 'frontmatter_invalid', /^raw: .*line 3/],
    [{ raw: '\ud800' }, 422, 'validation_failed', /^raw: holds half a surrogate pair/],
  ])('refuses a new entry with %j', async (more, status, code, message) => {
    const answer = await app.ask('POST', notes, { body: { slug: 'refused', raw: 'Text\n', ...more } });
    expectRefusal(answer, status, code, message);
  });

  it('takes 5 MiB and refuses a byte more', async () => {
    const most = 5 * 1024 * 1024;
    expect((await app.ask('POST', notes, { body: { slug: 'most', raw: 'x'.repeat(most) } })).status).toBe(201);
    const answer = await app.ask('POST', notes, { body: { slug: 'over', raw: 'x'.repeat(most + 1) } });
    expectRefusal(answer, 413, 'too_large', /^raw: /);
  });

  it('holds a new entry against the schema', async () => {
    const answer = await app.ask('POST', strict, { body: { slug: 'new', raw: '---\nother: 1\n---\n' } });
    expectRefusal(answer, 422, 'validation_failed', /^frontmatter\.title: /);
  });
});

describe('a file whose frontmatter cannot be read', () => {
  it('is repaired by raw text, in place', async () => {
    const raw = '---\ntitle: Mended\n---\n\nText\n';
    for (const slug of ['broken', 'latin']) {
      const { body, headers } = await app.ask('GET', `${notes}/${slug}`);
      expect(body).toMatchObject({ frontmatter: null, error: { code: 'frontmatter_invalid' } });
      const mended = await app.ask('PUT', `${notes}/${slug}`, {
        body: { raw },
        headers: { 'If-Match': headers.get('etag') ?? '' },
      });
      expect(mended).toMatchObject({ status: 200, body: { frontmatter: { title: 'Mended' }, unchanged: false } });
      expect(mended.body).not.toHaveProperty('error');
    }
  });

  it('is judged by what the raw text makes of it', async () => {
    const put = (body: object) => app.ask('PUT', `${strict}/bad`, { body });
    expectRefusal(await put({ raw: '---\ntitle: {\n---\n' }), 422, 'frontmatter_invalid', /^raw: /);
    expectRefusal(await put({ frontmatter: { title: 'T' } }), 422, 'frontmatter_invalid', /^frontmatter: /);
    expect(await put({ raw: '---\nother: 1\n---\n' })).toMatchObject({ status: 422 });
    expect(await put({ raw: '---\ntitle: T\n---\n' })).toMatchObject({
      status: 200,
      body: { title: 'T', warnings: [] },
    });
  });
});
