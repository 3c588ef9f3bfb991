import { beforeAll, describe, expect, it } from 'vitest';
import { acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import { entryWrites, posts, valid } from '../support/entry-writes.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
beforeAll(() => seed(app, siteFiles));

const { create, put, raw, head, fresh } = entryWrites(() => app);

describe('201', () => {
  it('answers the entry with its commit, place and tag', async () => {
    const { status, headers, body } = await create({
      slug: 'en/new',
      frontmatter: { ...valid, tags: ['a'] },
      body: '# Hi\n',
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      collection: 'posts',
      slug: 'en/new',
      path: 'src/content/posts/en/new.md',
      sha: expect.stringMatching(/^[0-9a-f]{40}$/),
      title: 'T',
      draft: false,
      locale: 'en',
      translation_key: 'new',
      frontmatter: { title: 'T', tags: ['a'], author: 'ada' },
      size: expect.any(Number),
      body: '# Hi\n',
      format: 'yaml',
      eol: 'lf',
      warnings: [],
      commit: await head(),
      unchanged: false,
      merged: false,
    });
    expect(headers.get('x-commit-sha')).toBe(body.commit.sha);
    expect(headers.get('location')).toBe(`${posts}/en/new`);
    const got = await app.ask('GET', headers.get('location') ?? '');
    expect(got.headers.get('etag')).toBe(headers.get('etag'));
    const { commit: _c, unchanged: _u, merged: _m, ...entry } = body;
    expect(got.body).toEqual(entry);
  });

  it('writes what was given and no more, in the order of the schema', async () => {
    await create({ slug: 'en/plain', frontmatter: { author: 'ada', title: 'Plain: "x"' }, body: 'No end' });
    expect(await raw('en/plain')).toBe('---\ntitle: \'Plain: "x"\'\nauthor: ada\n---\n\nNo end');
  });

  it.each(['', '\n', '\n\nTwo\n', ' \n', '---\nnot: frontmatter\n---\n', 'a\r\nb\n', '\ufefftext', 'e\u0301 😀\u2028'])(
    'keeps the body %j as it was written',
    async (body) => {
      const { slug } = await fresh(valid, body);
      expect((await app.ask('GET', `${posts}/${slug}`)).body.body).toBe(body);
      expect((await put(slug, { body: `${body}more` })).body.body).toBe(`${body}more`);
    },
  );

  it('writes the defaults of the schema on request', async () => {
    const { body } = await create({ slug: 'en/defaults', frontmatter: valid, apply_defaults: true });
    expect(body.frontmatter).toEqual({ ...valid, draft: false, tags: [] });
  });

  it('places an entry by locale, by path, and on another branch', async () => {
    expect((await create({ slug: 'ort', locale: 'de', frontmatter: valid })).body.path).toBe(
      'src/content/posts/de/ort.md',
    );
    const at = 'src/content/posts/en/some/where.md';
    expect((await create({ slug: 'en/some/where', path: at, frontmatter: valid })).body.path).toBe(at);
    await app.ask('POST', `${studio}/branches`, { body: { name: 'side' } });
    const made = await create({ slug: 'en/side', branch: 'side', frontmatter: valid });
    expect(made.status).toBe(201);
    expect((await app.ask('GET', `${posts}/en/side`)).status).toBe(404);
    expect((await app.ask('GET', `${posts}/en/side?branch=side`)).status).toBe(200);
  });

  it('escapes a slug in its Location', async () => {
    const { headers } = await create({ slug: 'en/ä b#1?', frontmatter: valid });
    expect(headers.get('location')).toBe(`${posts}/en/%C3%A4%20b%231%3F`);
    expect((await app.ask('GET', headers.get('location') ?? '')).status).toBe(200);
  });

  it('stores names in NFC, however they are typed', async () => {
    const { body } = await create({ slug: 'en/cafe\u0301', frontmatter: valid });
    expect(body.slug).toBe('en/caf\u00e9');
  });

  it('takes a segment of 255 bytes', async () => {
    expect((await create({ slug: `en/${'x'.repeat(252)}`, frontmatter: valid })).status).toBe(201);
  });
});

describe('200', () => {
  it('touches the lines of what changed and no other', async () => {
    const before = await raw('en/alpha');
    const { status, headers, body } = await put('en/alpha', { frontmatter: { rating: 3 } });
    expect({ status, unchanged: body.unchanged }).toEqual({ status: 200, unchanged: false });
    expect(headers.get('x-commit-sha')).toBe(body.commit.sha);
    expect(await raw('en/alpha')).toBe(before.replace('rating: 4.5', 'rating: 3'));
    await put('en/alpha', { body: 'Other.\n' });
    expect(await raw('en/alpha')).toBe(
      before.replace('rating: 4.5', 'rating: 3').replace(/Alpha body.*\n/, 'Other.\n'),
    );
    await put('en/alpha', { raw: before });
    expect(await raw('en/alpha')).toBe(before);
  });

  it('merges: null removes, unset removes, the rest stays', async () => {
    const { slug } = await fresh({ ...valid, a: 1, b: { c: 2, d: 3 }, e: 4 });
    const { body } = await put(slug, { frontmatter: { a: null, b: { c: null } }, unset: ['/e'] });
    expect(body.frontmatter).toEqual({ ...valid, b: { d: 3 } });
  });

  it('replaces: what is not named goes, an explicit null stays', async () => {
    const { slug } = await fresh({ ...valid, a: 1 });
    const { body } = await put(slug, { mode: 'replace', frontmatter: { ...valid, b: null } });
    expect(body.frontmatter).toEqual({ ...valid, b: null });
  });

  it.each([
    {},
    { frontmatter: {} },
    { frontmatter: { title: 'Beta' } },
    { body: 'Beta body.\n' },
    { unset: ['/none'] },
  ])('makes no commit when no byte changes: %j', async (change) => {
    const before = await head();
    const { status, headers, body } = await put('en/beta', change);
    expect(status).toBe(200);
    expect(body).toMatchObject({ unchanged: true, commit: null });
    expect(headers.get('x-commit-sha')).toBeNull();
    expect(await head()).toEqual(before);
  });

  it('says how the commit came about, by whom', async () => {
    const made = await create({ slug: 'en/story', frontmatter: valid });
    const id = (await app.ask('GET', `/api/v2/organizations/acme/audit?action=studio.createEntry`)).body[0].actor;
    const email = `${id.replace(':', '-')}@portico.test`;
    const date = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/);
    expect(made.body.commit).toMatchObject({
      message: expect.stringMatching(/^Create posts\/en\/story\n?$/),
      author: { name: 'Test', email, date },
      committer: { name: 'Portico', email: 'portico@portico.test', date },
    });
    expect((await put('en/story', { body: 'x' })).body.commit.message.trim()).toBe('Update posts/en/story');
    expect((await put('en/story', { body: 'y', message: 'My own words\n\nAnd more' })).body.commit.message.trim()).toBe(
      'My own words\n\nAnd more',
    );
    const gone = await app.ask('DELETE', `${posts}/en/story`);
    expect(gone.body).toEqual({ deleted: true, path: 'src/content/posts/en/story.md', commit: await head() });
    expect(gone.body.commit.message.trim()).toBe('Delete posts/en/story');
    expect(gone.headers.get('x-commit-sha')).toBe(gone.body.commit.sha);
  });

  it('lets a manager name the author, without breaking out of the line', async () => {
    const { slug } = await fresh();
    const author = { name: 'Eve <x>\nparent 0\u0000', email: 'eve@example.org' };
    const { body } = await put(slug, { body: 'by Eve', author });
    expect(body.commit.author).toMatchObject({ name: 'Eve xparent 0', email: 'eve@example.org' });
    expect(body.commit.committer.name).toBe('Portico');
  });

  it.each(['-h', '--upload-pack=id', '$(id)', '`id`', '\u0000', '"; id', '%s%n'])(
    'takes the message %j as text',
    async (message) => {
      const { slug } = await fresh();
      const { status, body } = await put(slug, { body: 'Changed', message });
      expect(status).toBe(200);
      expect(body.commit.message.trim()).toBe(message.replace('\u0000', '') || `Update posts/${slug}`);
    },
  );

  it('renames in one commit', async () => {
    const { slug } = await fresh();
    const { status, body } = await put(slug, { slug: `${slug}-moved`, frontmatter: { title: 'Moved' } });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { slug: `${slug}-moved`, renamed_from: slug, title: 'Moved' },
    });
    expect(body.commit.message.trim()).toBe(`Rename posts/${slug} to ${slug}-moved`);
    expect((await app.ask('GET', `${posts}/${slug}`)).status).toBe(404);
    expect((await app.ask('GET', `${posts}/${slug}-moved`)).body.body).toBe('Text\n');
  });

  it('takes a slug equal to the path’s for no rename', async () => {
    const { slug } = await fresh();
    expect((await put(slug, { slug, body: 'x' })).body).not.toHaveProperty('renamed_from');
  });

  it('warns of a fault that stood there before', async () => {
    await seed(app, { 'src/content/posts/en/faulty.md': '---\ntitle: 5\nauthor: ada\n---\n' });
    const { status, body } = await put('en/faulty', { frontmatter: { rating: 1 } });
    expect(status).toBe(200);
    expect(body.warnings).toEqual([
      expect.objectContaining({ path: 'src/content/posts/en/faulty.md', message: expect.stringMatching(/^title: /) }),
    ]);
  });
});

describe('304, If-Match and If-None-Match', () => {
  it('answers 304 to the tag it gave, until the entry changes', async () => {
    const { slug, etag } = await fresh();
    const ask = () => app.ask('GET', `${posts}/${slug}`, { headers: { 'If-None-Match': etag } });
    expect((await ask()).status).toBe(304);
    await put(slug, { body: 'Changed' });
    expect((await ask()).status).toBe(200);
  });

  it.each<[string, (at: { etag: string; sha: string }) => string]>([
    ['the quoted tag', ({ etag }) => etag],
    ['a weak tag', ({ etag }) => `W/${etag}`],
    ['a bare object id', ({ sha }) => sha],
    ['a quoted object id', ({ sha }) => `"${sha}"`],
    ['a list', ({ etag }) => `"0000", ${etag}`],
    ['any', () => '*'],
  ])('takes %s', async (_what, header) => {
    const made = await fresh();
    expect((await put(made.slug, { body: 'Changed' }, { 'If-Match': header(made) })).status).toBe(200);
  });

  it.each<[string, (at: { etag: string; sha: string }) => string]>([
    ['any', () => '*'],
    ['the stored version', ({ etag }) => etag],
    ['its object id in a list', ({ sha }) => `"0000", "${sha}"`],
  ])('leaves the entry as it is when If-None-Match names %s', async (_what, header) => {
    const made = await fresh();
    const headers = { 'If-None-Match': header(made) };
    for (const answer of [
      await put(made.slug, { body: 'Changed' }, headers),
      await app.ask('PUT', `${posts}/${made.slug}?on_conflict=merge`, { body: { body: 'Changed' }, headers }),
      await app.ask('DELETE', `${posts}/${made.slug}`, { headers }),
    ]) {
      expectRefusal(answer, 412, 'precondition_failed', /^If-None-Match: /);
      expect(answer.body.details.current_sha).toBe(made.sha);
    }
    expect((await app.ask('GET', `${posts}/${made.slug}`)).body.sha).toBe(made.sha);
    const other = { 'If-None-Match': `"${'0'.repeat(40)}"` };
    expect((await put(made.slug, { body: 'Changed' }, other)).status).toBe(200);
  });

  it('is about the file, never about the branch', async () => {
    const { slug, etag } = await fresh();
    await fresh();
    expect((await put(slug, { body: 'Changed' }, { 'If-Match': etag })).status).toBe(200);
  });
});

describe('Idempotency-Key', () => {
  it('is free in a project that took the name of another one', async () => {
    const make = () => app.ask('POST', `${acme}/projects`, { body: { name: 'Again', machine_name: 'again' } });
    const entry = () =>
      app.ask('POST', `${acme}/projects/again/studio/collections/posts`, {
        body: { slug: 'one', frontmatter: { title: 'One' }, body: 'x' },
        headers: { 'Idempotency-Key': 'imported' },
      });
    await make();
    expect((await entry()).status).toBe(201);
    await app.ask('DELETE', `${acme}/projects/again`);
    await make();
    const again = await entry();
    expect({ status: again.status, replayed: again.headers.get('idempotency-replayed') }).toEqual({
      status: 201,
      replayed: null,
    });
    expect((await app.ask('GET', `${acme}/projects/again/studio/collections/posts/one`)).status).toBe(200);
    expect((await entry()).headers.get('idempotency-replayed')).toBe('true');
  });

  const send = (key: string, body: object) => app.ask('POST', posts, { body, headers: { 'Idempotency-Key': key } });

  it('repeats the stored answer, and nothing happens twice', async () => {
    const body = { slug: 'en/once', frontmatter: valid };
    const first = await send('once', body);
    const before = await head();
    const again = await send('once', body);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect({ status: again.status, body: again.body }).toEqual({ status: 201, body: first.body });
    for (const name of ['etag', 'location', 'x-commit-sha'])
      expect(again.headers.get(name)).toBe(first.headers.get(name));
    expect(await head()).toEqual(before);
  });

  it('refuses the key for another request', async () => {
    await send('other', { slug: 'en/one', frontmatter: valid });
    const answer = await send('other', { slug: 'en/two', frontmatter: valid });
    expectRefusal(answer, 422, 'idempotency_mismatch', /^Idempotency-Key: /);
  });

  it('is free again after a refusal', async () => {
    expect((await send('again', { slug: 'en/again' })).status).toBe(422);
    expect((await send('again', { slug: 'en/again', frontmatter: valid })).status).toBe(201);
  });

  it('lets one of many at once through, and the others know', async () => {
    const body = { slug: 'en/rush', frontmatter: valid };
    const answers = await Promise.all(Array.from({ length: 8 }, () => send('rush', body)));
    const fresh = answers.filter(({ status, headers }) => status === 201 && !headers.get('idempotency-replayed'));
    expect(fresh).toHaveLength(1);
    for (const {
      status,
      body: { code },
    } of answers)
      expect(status === 201 || (status === 409 && code === 'busy')).toBe(true);
  });

  it('belongs to one token', async () => {
    const token = await app.makeToken(['edit_studio']);
    await send('mine', { slug: 'en/mine', frontmatter: valid });
    const body = { slug: 'en/yours', frontmatter: valid };
    const answer = await app.ask('POST', posts, { token, body, headers: { 'Idempotency-Key': 'mine' } });
    expect(answer.status).toBe(201);
  });

  it('is over after a day', async () => {
    await send('day', { slug: 'en/day-1', frontmatter: valid });
    app.clock.now = new Date(Date.now() + 25 * 3600_000);
    const answer = await send('day', { slug: 'en/day-2', frontmatter: valid });
    app.clock.now = null;
    expect(answer.status).toBe(201);
  });

  it('is ignored on other methods', async () => {
    const { slug } = await fresh();
    for (const body of ['One', 'Two'])
      expect((await put(slug, { body }, { 'Idempotency-Key': 'put' })).body.body).toBe(body);
  });
});

describe('an empty repository', () => {
  const empty = '/api/v2/organizations/acme/projects/empty/studio';

  it('answers lists with nothing, and takes no entry where no collection is', async () => {
    await app.ask('POST', '/api/v2/organizations/acme/projects', { body: { name: 'Empty' } });
    for (const path of ['schema', 'collections', 'branches', 'commits'])
      expect((await app.ask('GET', `${empty}/${path}`)).body).toEqual([]);
    expect((await app.ask('GET', `${empty}/filetree`)).body).toEqual({
      commit: null,
      tree_sha: null,
      truncated: false,
      tree: [],
    });
    expect((await app.ask('GET', `${empty}/file?path=a.md`)).status).toBe(404);
    expect((await app.ask('GET', `${empty}/collections/posts`)).status).toBe(404);
    expect((await app.ask('GET', `${empty}/branches?branch=none`)).status).toBe(200);
    expect((await app.ask('GET', `${empty}/commits?branch=none`)).status).toBe(404);
  });
});
