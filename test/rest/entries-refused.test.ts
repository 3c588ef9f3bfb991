import { beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { entryWrites, posts, valid } from '../support/entry-writes.ts';
import { askRaw } from '../support/raw-http.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
beforeAll(() => seed(app, siteFiles));

const { create, put, fresh } = entryWrites(() => app);

describe('400', () => {
  it.each([
    '..',
    'a/../b',
    '../x',
    './a',
    'a/.',
    '/abs',
    'a/',
    'a//b',
    '',
    'a\\b',
    'a\u0000b',
    'a\nb',
    'a\u007f',
    '\ud800',
    '.git',
    'a/.git/config',
    '.GIT',
    '.git.',
    '.git ',
    '.git...',
    'GIT~1',
    '.git::$INDEX_ALLOCATION',
    '.g\u200cit',
    '\ufeff.git',
    'x'.repeat(256),
    `${'é'.repeat(128)}`,
    `${'a/'.repeat(2048)}b`,
  ])('no slug: %j', async (slug) => {
    expectRefusal(await create({ slug, frontmatter: valid }), 400, 'invalid_path', /^slug: /);
    if (slug !== '') expectRefusal(await put('en/beta', { slug }), 400, 'invalid_path', /^slug: /);
  });

  it.each([
    '..',
    'a%2f..%2fb',
    '%2e%2e/x',
    '%2e%2e%2fx',
    'a/',
    '/a',
    'a//b',
    '%2fa',
    'a%00',
    '.git/config',
    '%2egit',
    'a%5cb',
    'a%0a',
    '.GIT~1',
  ])('no address: %s', async (path) => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await askRaw(app, method, `${posts}/${path}`, method === 'PUT' ? { body: '{}' } : {});
      if (path === '.GIT~1') return expect(answer.status).toBe(404);
      expectRefusal(answer, 400, 'invalid_path', /^slug: /);
    }
  });

  it.each(['../x.md', '/etc/x.md', 'src/content/posts/.git/x.md', 'src/content/posts/a\u0000.md'])(
    'no path: %j',
    async (path) => {
      expectRefusal(await create({ slug: 'x', path, frontmatter: valid }), 400, 'invalid_path', /^path: /);
    },
  );

  it('raw beside what it holds', async () => {
    for (const other of [{ frontmatter: {} }, { body: 'x' }, { unset: ['/a'] }])
      expectRefusal(await put('en/beta', { raw: 'x', ...other }), 400, 'invalid_request', /^raw: excludes/);
  });

  it('a pointer of more than 10,000 characters', async () => {
    const pointer = (length: number) => ({ unset: [`/${'a'.repeat(length - 1)}`] });
    expect((await put('en/beta', pointer(10_000))).status).toBe(200);
    expectRefusal(await put('en/beta', pointer(10_001)), 400, 'invalid_request', /^unset\.0: must be at most 10000 /);
  });

  it.each([
    { name: '<>', email: 'a@b' },
    { name: 'A', email: 'nobody' },
    { name: 'A', email: 'a b@c' },
  ])('an author %j that makes no author line', async (author) => {
    expectRefusal(await put('en/beta', { body: 'x', author }), 400, 'invalid_request', /^author: /);
  });

  it('an idempotency key that is none', async () => {
    const answer = await app.ask('POST', posts, {
      body: { slug: 'en/k', frontmatter: valid },
      headers: { 'Idempotency-Key': 'a b' },
    });
    expectRefusal(answer, 400, 'invalid_request', /^Idempotency-Key: /);
  });
});

describe('403', () => {
  it('an author other than the caller needs manage_studio', async () => {
    const token = await app.makeToken(['edit_studio']);
    const body = { body: 'x', author: { name: 'A', email: 'a@b' } };
    const answer = await app.ask('PUT', `${posts}/en/beta`, { token, body });
    expectRefusal(answer, 403, 'forbidden', 'Missing permission: manage_studio');
  });
});

describe('404', () => {
  it('an unknown entry, collection or branch', async () => {
    expectRefusal(await put('en/none', { body: 'x' }), 404, 'not_found', 'posts has no entry en/none');
    expectRefusal(await app.ask('DELETE', `${posts}/en/none`), 404, 'not_found', 'posts has no entry en/none');
    expectRefusal(await app.ask('GET', `${posts}/constructor`), 404, 'not_found', 'posts has no entry constructor');
    const elsewhere = await app.ask('POST', `${studio}/collections/none`, { body: { slug: 'a' } });
    expectRefusal(elsewhere, 404, 'not_found', 'Collection none does not exist');
    const body = { slug: 'a', branch: 'none', frontmatter: valid };
    expectRefusal(await create(body), 404, 'not_found', 'branch: none does not exist');
  });

  it('an entry that was deleted', async () => {
    const { slug } = await fresh();
    expect((await app.ask('DELETE', `${posts}/${slug}`)).status).toBe(200);
    expect((await app.ask('DELETE', `${posts}/${slug}`)).status).toBe(404);
  });
});

describe('409', () => {
  it('a slug or a file that is there', async () => {
    expectRefusal(await create({ slug: 'en/beta', frontmatter: valid }), 409, 'already_exists', /^slug: /);
    const path = 'src/content/posts/en/beta.md';
    expectRefusal(await create({ slug: 'x', path, frontmatter: valid }), 409, 'already_exists', /^path: /);
    const { slug } = await fresh();
    expectRefusal(await put(slug, { slug: 'en/beta' }), 409, 'already_exists', /^slug: /);
  });

  it.each(['en/BETA', 'EN/other', 'en/Deep/x'])('%s, which only case sets apart', async (slug) => {
    expectRefusal(await create({ slug, frontmatter: valid }), 409, 'name_collision', /^slug: /);
  });

  it('a stale sha in body or query', async () => {
    const { slug, sha } = await fresh();
    expect((await put(slug, { body: 'Second', sha })).status).toBe(200);
    const stale = await put(slug, { body: 'Third', sha });
    expectRefusal(stale, 409, 'sha_mismatch', /^sha: /);
    expect(stale.body.details.current_sha).toMatch(/^[0-9a-f]{40}$/);
    expectRefusal(await app.ask('DELETE', `${posts}/${slug}?sha=${sha}`), 409, 'sha_mismatch', /^sha: /);
    expect((await app.ask('DELETE', `${posts}/${slug}?sha=${stale.body.details.current_sha}`)).status).toBe(200);
  });

  it('an entry that others require, unless forced', async () => {
    const ada = `${studio}/collections/authors/ada`;
    const answer = await app.ask('DELETE', ada);
    expectRefusal(answer, 409, 'in_use', /^authors\/ada is required by \d+ entr(y|ies)/);
    expect(answer.body.details.references[0]).toMatchObject({ collection: 'posts', field: '/author', required: true });
    expect((await app.ask('DELETE', `${studio}/collections/authors/bob`)).status).toBe(200);
    await app.ask('POST', `${studio}/branches`, { body: { name: 'forced' } });
    expect((await app.ask('DELETE', `${ada}?force=true&branch=forced`)).status).toBe(200);
  });
});

describe('412', () => {
  it.each<[string, (at: { etag: string; sha: string }) => string]>([
    ['the tag', ({ etag }) => etag],
    ['the object id', ({ sha }) => sha],
    ['nonsense', () => 'nonsense'],
    ['another id', () => `"${'0'.repeat(40)}"`],
    ['nothing', () => ''],
  ])('when the entry has changed since %s', async (_what, header) => {
    const made = await fresh();
    await put(made.slug, { body: 'Second' });
    for (const ask of [
      () => put(made.slug, { body: 'Third' }, { 'If-Match': header(made) }),
      () => app.ask('DELETE', `${posts}/${made.slug}`, { headers: { 'If-Match': header(made) } }),
    ]) {
      const answer = await ask();
      expectRefusal(answer, 412, 'precondition_failed', /^If-Match: /);
      expect(answer.body.details.current_sha).toMatch(/^[0-9a-f]{40}$/);
    }
    expect((await app.ask('GET', `${posts}/${made.slug}`)).body.body).toBe('Second');
  });

  it('to all but one of many who write from the same state', async () => {
    const { slug, etag } = await fresh();
    const writers = Array.from({ length: 12 }, (_, at) => put(slug, { body: `Writer ${at}` }, { 'If-Match': etag }));
    const statuses = (await Promise.all(writers)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array.from({ length: 11 }, () => 412)]);
  });
});

describe('413', () => {
  it('an entry over 5 MiB, and not one just under', async () => {
    const limit = 5 * 1024 * 1024;
    const frame = Buffer.byteLength('---\ntitle: T\nauthor: ada\n---\n\n');
    const over = await create({ slug: 'en/over', frontmatter: valid, body: 'x'.repeat(limit - frame + 1) });
    expectRefusal(over, 413, 'too_large', /^body: the entry would have 5242881 bytes/);
    const under = await create({ slug: 'en/under', frontmatter: valid, body: 'x'.repeat(limit - frame) });
    expect({ status: under.status, size: under.body.size }).toEqual({ status: 201, size: limit });
    expect((await app.ask('DELETE', `${posts}/en/under`)).status).toBe(200);
  });
});

describe('422', () => {
  it.each([
    ['frontmatter.title: is required', { author: 'ada' }],
    [/^frontmatter\.title: /, { ...valid, title: 5 }],
    [/^frontmatter\.title: /, { ...valid, title: 'x'.repeat(81) }],
    [/^frontmatter\.rating: /, { ...valid, rating: 6 }],
    [/^frontmatter\.tags\.1: /, { ...valid, tags: ['a', 1] }],
    [/^frontmatter\.author: /, { title: 'T', author: 'nobody' }],
  ])('%s', async (message, frontmatter) => {
    const answer = await create({ slug: 'en/invalid', frontmatter });
    expectRefusal(answer, 422, 'validation_failed', message);
    expect(answer.body.details.errors[0].field).toMatch(/^\/frontmatter\//);
    expect((await app.ask('GET', `${posts}/en/invalid`)).status).toBe(404);
  });

  it.each(['gitmod~1/a', 'a/GITMOD~4/b', 'gi7eba~1/a', 'gitatt~1/a', 'gitmod~1', 'a/gitatt~1'])(
    'no directory that is a file of settings of git on some systems: %j',
    async (slug) => {
      expectRefusal(await create({ slug, frontmatter: valid }), 422, 'invalid_name', /^slug: .*git's settings/);
      expectRefusal(await put('en/beta', { slug }), 422, 'invalid_name', /^slug: /);
    },
  );

  it.each(['con', 'en/NUL', 'en/aux.txt', 'en/dot.', 'en/space '])('an unwise name: %j', async (slug) => {
    expectRefusal(await create({ slug, frontmatter: valid }), 422, 'invalid_name', /^slug: /);
  });

  it('a place outside of the collection', async () => {
    for (const path of ['README.md', 'src/content/authors/x.yaml', 'src/content/posts/x.html'])
      expectRefusal(await create({ slug: 'x', path, frontmatter: valid }), 422, 'invalid_name', /path/);
  });

  it('whole files that do not parse', async () => {
    const answer = await put('en/beta', { raw: '---\ntitle: [\n---\n' });
    expectRefusal(answer, 422, 'frontmatter_invalid', /^raw: .*line \d+/);
    expect(answer.body.details.errors[0]).toMatchObject({ field: '/raw', line: expect.any(Number) });
  });

  it('a path through a symlink or below a file', async () => {
    const git = await app.repository();
    await git.write({
      branch: 'main',
      author: { name: 'S', email: 's@t' },
      plan: async () => ({
        message: 'Link',
        result: null,
        changes: [{ path: 'src/content/posts/link', content: Buffer.from('/etc'), mode: '120000' }],
      }),
    });
    expectRefusal(await create({ slug: 'link/x', frontmatter: valid }), 422, 'not_editable', /^slug: .*symlink/);
    expectRefusal(await put('en/beta', { slug: 'link/x' }), 422, 'not_editable', /^slug: .*symlink/);
    const below = { slug: 'x', path: 'src/content/posts/en/beta.md/x.md', frontmatter: valid };
    expectRefusal(await create(below), 422, 'not_editable', /^path: /);
  });
});
