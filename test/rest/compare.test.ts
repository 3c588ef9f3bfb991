import { beforeAll, describe, expect, it } from 'vitest';
import { shared, startTestApp, studio } from '../support/app.ts';
import { commitTo, makeBranch, post, postPath, seedPosts } from '../support/conflict-site.ts';
import { expectRefusal } from '../support/refusal.ts';

const app = shared(startTestApp);
let root: string;
let head: string;

beforeAll(async () => {
  root = await seedPosts(app);
  await makeBranch(app, 'topic');
  await makeBranch(app, 'release/1.0');
  await commitTo(app, 'topic', {
    [postPath('a')]: post({ title: 'Anew', draft: false, tags: ['one'], meta: { deep: 1 } }, 'Other.\n'),
    [postPath('b')]: null,
    [postPath('e')]: post({ title: 'E' }),
    'src/site.css': 'b {}\n',
    'logo.bin': Buffer.from([0, 1, 2]),
  });
  head = await commitTo(app, 'topic', {
    [postPath('c')]: null,
    [postPath('renamed')]: post({ title: 'C', description: 'Text', draft: false, tags: ['two'] }),
  });
});

const compare = (query: string, headers?: Record<string, string>) =>
  app.ask('GET', `${studio}/compare?${query}`, headers ? { headers } : {});

describe('200', () => {
  it('returns how far two branches have diverged and what differs', async () => {
    const { status, headers, body } = await compare('base=main&head=topic');
    expect(status).toBe(200);
    const { commits, files, ...rest } = body;
    expect(rest).toEqual({
      base_commit: root,
      head_commit: head,
      merge_base_commit: root,
      status: 'ahead',
      ahead_by: 2,
      behind_by: 0,
      total_commits: 2,
      total_files: 6,
      mergeable: true,
      truncated: false,
    });
    expect(commits.map(({ sha }: { sha: string }) => sha)[0]).toBe(head);
    expect(headers.get('etag')).toMatch(new RegExp(`^"${head}\\.[0-9a-f]{8}"$`));
    expect(files.map(({ path, status: how }: { path: string; status: string }) => [path, how])).toEqual([
      [postPath('a'), 'modified'],
      [postPath('b'), 'removed'],
      [postPath('e'), 'added'],
      [postPath('renamed'), 'renamed'],
      ['logo.bin', 'added'],
      ['src/site.css', 'modified'],
    ]);
  });

  it('names the entry and the frontmatter keys that differ', async () => {
    const { files } = (await compare('base=main&head=topic')).body;
    expect(files[0]).toEqual({
      path: postPath('a'),
      status: 'modified',
      additions: expect.any(Number),
      deletions: expect.any(Number),
      changes: files[0].additions + files[0].deletions,
      sha: expect.stringMatching(/^[0-9a-f]{40}$/),
      collection: 'posts',
      slug: 'a',
      title: 'Anew',
      fields: ['/title', '/meta', '/description'],
      labels: ['Title', 'Meta', 'Description'],
    });
    expect(files[1]).toMatchObject({
      collection: 'posts',
      slug: 'b',
      fields: ['/title', '/description', '/draft', '/tags'],
    });
    expect(files[3]).toMatchObject({ previous_path: postPath('c'), slug: 'renamed', fields: ['/tags'] });
    expect(files[5]).not.toHaveProperty('collection');
  });

  it('adds what has changed in each entry on request, field by field', async () => {
    await makeBranch(app, 'values');
    await commitTo(app, 'values', {
      [postPath('a')]: post(
        { title: 'Other', tags: ['one'], long: 'x'.repeat(5000), description: 'Text' },
        'New body.\n',
      ),
      [postPath('d')]: null,
    });
    const { files } = (await compare('base=main&head=values&values=true')).body;
    expect(files[0].entry).toEqual({
      title: 'Other',
      body_changed: true,
      fields: [
        { field: '/title', label: 'Title', before: 'A', after: 'Other' },
        { field: '/long', label: 'Long', truncated: true },
        { field: '/draft', label: 'Draft', before: false },
      ],
    });
    expect(files[1]).toMatchObject({ status: 'removed', entry: { title: 'D', body_changed: true } });
    expect(files[1].entry.fields).toContainEqual({ field: '/title', label: 'Title', before: 'D' });
    expect((await compare('base=main&head=values')).body.files[0]).not.toHaveProperty('entry');
  });

  it('names the first thousand keys of a file that differ, and says how many more do', async () => {
    await makeBranch(app, 'many-keys');
    const keys = Object.fromEntries(Array.from({ length: 1_500 }, (_, at) => [`key${at}`, at]));
    await commitTo(app, 'many-keys', { [postPath('many')]: post({ title: 'Many', ...keys }, '') });
    const [file] = (await compare('base=main&head=many-keys&values=true')).body.files;
    expect(file).toMatchObject({ path: postPath('many'), more_fields: 501 });
    for (const list of [file.fields, file.labels, file.entry.fields]) expect(list).toHaveLength(1_000);
    expect((await compare('base=main&head=values&values=true')).body.files[0]).not.toHaveProperty('more_fields');
  });

  it('names no more keys than fit into 64 Ki characters, and shows no more values than into 4 Mi', async () => {
    const key = 'x'.repeat(20_000);
    await makeBranch(app, 'long-base');
    await commitTo(app, 'long-base', { [postPath('long-a')]: `${JSON.stringify({ [key]: {} })}\n` });
    await app.ask('POST', `${studio}/branches`, { body: { name: 'long-keys', from: 'long-base' } });
    const below = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));
    const large = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`v${at}`, 'x'.repeat(4_000)]));
    const many = Array.from({ length: 18 }, (_, at) => [postPath(`long-b${at}`), post(large, '')]);
    await commitTo(app, 'long-keys', {
      [postPath('long-a')]: `${JSON.stringify({ [key]: below(10) })}\n`,
      ...Object.fromEntries(many),
    });
    const [keys, ...values] = (await compare('base=long-base&head=long-keys&values=true')).body.files;
    for (const list of [keys.fields, keys.labels, keys.entry.fields]) expect(list).toHaveLength(3);
    expect(keys.more_fields).toBe(7);
    const shown = values.flatMap(({ entry }: { entry: { fields: object[] } }) => entry.fields);
    expect(shown.filter((one: object) => 'after' in one)).toHaveLength(1_048);
    expect(shown.at(-1)).toMatchObject({ truncated: true });
  });

  it('adds patches on request, none of binary files', async () => {
    const { files } = (await compare('base=main&head=topic&patch=true')).body;
    expect(files[5].patch).toContain('-a {}\n+b {}\n');
    expect(files[5]).not.toHaveProperty('truncated');
    expect(files[4]).not.toHaveProperty('patch');
    expect((await compare('base=main&head=topic')).body.files[5]).not.toHaveProperty('patch');
  });

  it('cuts a patch that is too long, and says so', async () => {
    await makeBranch(app, 'long');
    await commitTo(app, 'long', { 'long.txt': 'a line of text\n'.repeat(20_000) });
    const { files } = (await compare('base=main&head=long&patch=true')).body;
    expect(files[0].truncated).toBe(true);
    expect(files[0].patch.length).toBeLessThanOrEqual(64 * 1024);
    expect(files[0].patch.endsWith('\n')).toBe(true);
  });

  it('pages through files', async () => {
    const { body } = await compare('base=main&head=topic&page=2&per_page=4');
    expect(body).toMatchObject({ total_files: 6, truncated: true });
    expect(body.files.map(({ path }: { path: string }) => path)).toEqual(['logo.bin', 'src/site.css']);
  });

  it('returns every relation of two branches', async () => {
    const status = async (query: string) => (await compare(query)).body.status;
    expect(await status('base=main&head=main')).toBe('identical');
    expect(await status('base=topic&head=main')).toBe('behind');
    await makeBranch(app, 'other', root);
    await commitTo(app, 'other', { 'src/site.css': 'c {}\n' });
    const { body } = await compare('base=topic&head=other');
    expect(body).toMatchObject({
      status: 'diverged',
      ahead_by: 1,
      behind_by: 2,
      mergeable: false,
      merge_base_commit: root,
    });
    expect(await status('base=main&head=release%2F1.0')).toBe('identical');
  });

  it('takes commits by their full ids', async () => {
    const { body } = await compare(`base=${root}&head=${head}`);
    expect(body).toMatchObject({ base_commit: root, head_commit: head, ahead_by: 2 });
  });

  it('is a GraphQL field as well', async () => {
    const query = `{ project(organization: "acme", project: "site") { studio {
      compare(base: "main", head: "topic") { status ahead_by files { path fields } commits { sha } } } } }`;
    const { body } = await app.ask('POST', '/graphql', { body: { query } });
    expect(body.errors).toBeUndefined();
    expect(body.data.project.studio.compare).toMatchObject({ status: 'ahead', ahead_by: 2 });
  });
});

describe('304', () => {
  it('when neither branch has moved', async () => {
    const { headers } = await compare('base=main&head=topic');
    const answer = await compare('base=main&head=topic', { 'If-None-Match': headers.get('etag') ?? '' });
    expect(answer.status).toBe(304);
    const other = await compare('base=topic&head=topic', { 'If-None-Match': headers.get('etag') ?? '' });
    expect(other.status).toBe(200);
  });
});

describe('400', () => {
  it.each(['base=main', 'head=main', 'base=main&head=main&page=0', ''])('for %j', async (query) => {
    expectRefusal(await compare(query), 400, 'invalid_request', /: /);
  });
});

describe('404', () => {
  it('for what is neither a branch nor a reachable commit', async () => {
    expectRefusal(await compare('base=main&head=gone'), 404, 'not_found', /^head: gone is neither/);
    expectRefusal(await compare(`base=${'1'.repeat(40)}&head=main`), 404, 'not_found', /^base: /);
  });
});

describe('422', () => {
  it('invalid_name for what no branch can be called', async () => {
    expectRefusal(await compare('base=main&head=a..b'), 422, 'invalid_name', /^head: /);
  });

  it('no_common_ancestor for histories that have nothing in common', async () => {
    const git = await app.repository();
    const { commitFiles, setRef } = await import('../support/git-history.ts');
    const path = `${(git as unknown as { gitDir: string }).gitDir}`;
    setRef(path, 'refs/heads/stranger', commitFiles(path, null, { a: '1' }));
    expectRefusal(await compare('base=main&head=stranger'), 422, 'no_common_ancestor', /nothing|no commit/);
  });
});
