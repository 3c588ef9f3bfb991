import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { shared, startTestApp, studio } from '../support/app.ts';
import { commitTo, post, postPath, seedPosts } from '../support/conflict-site.ts';
import { expectRefusal } from '../support/refusal.ts';

const fields = { title: 'A', description: 'Text', draft: false, tags: ['one'] };
const app = shared(startTestApp);
let slug: string;
let url: string;
let seen: string;
let made = 0;

beforeAll(() => seedPosts(app));

/** Each test has an entry of its own; `seen` is the version its writer read, and somebody has saved a new title since. */
beforeEach(async () => {
  slug = `post-${++made}`;
  url = `${studio}/collections/posts/${slug}`;
  await commitTo(app, 'main', { [postPath(slug)]: post(fields) });
  seen = (await app.ask('GET', url)).headers.get('etag') ?? '';
  await put({ frontmatter: { title: 'Ours' } });
});

const put = (body: object, headers = {}) => app.ask('PUT', url, { body, headers });
const late = (body: object, query = '?on_conflict=merge') =>
  app.ask('PUT', `${url}${query}`, { body, headers: { 'If-Match': seen } });
const raw = async () => (await app.ask('GET', `${url}?raw=true`)).body.raw;

describe('200 with on_conflict=merge', () => {
  it('saves other keys beside those that were saved meanwhile', async () => {
    const { status, body } = await late({ frontmatter: { description: 'Theirs', tags: ['one', 'two'] } });
    expect(status).toBe(200);
    expect(body).toMatchObject({ merged: true, unchanged: false, title: 'Ours' });
    expect(await raw()).toBe(
      post({ ...fields, title: 'Ours', description: 'Theirs' }).replace('["one"]', '["one", "two"]'),
    );
  });

  it('saves other lines of the body', async () => {
    const text = 'First line.\n\nMiddle.\n\nLast line.\n';
    await put({ body: text.replace('First', 'Our first') });
    const { body } = await late({ body: text.replace('Last', 'Their last') });
    expect(body).toMatchObject({ merged: true, body: 'Our first line.\n\nMiddle.\n\nTheir last line.\n' });
  });

  it('is an ordinary save when nothing happened meanwhile', async () => {
    const headers = { 'If-Match': (await app.ask('GET', url)).headers.get('etag') ?? '' };
    const { body } = await app.ask('PUT', `${url}?on_conflict=merge`, {
      body: { frontmatter: { title: 'New' } },
      headers,
    });
    expect(body).toMatchObject({ merged: false, title: 'New' });
  });

  it('takes the sha of the body for the version that was seen', async () => {
    const sha = seen.slice(1).split('.')[0];
    const { body } = await put({ sha, on_conflict: 'merge', frontmatter: { description: 'Theirs' } });
    expect(body).toMatchObject({ merged: true, frontmatter: { title: 'Ours', description: 'Theirs' } });
  });

  it('saves what is settled', async () => {
    const clash = await late({ frontmatter: { title: 'Theirs' } });
    const [{ path, stages }] = clash.body.details.conflicts;
    const resolutions = [{ path, stages, fields: { '/title': { value: 'Both' } } }];
    const { status, body } = await late({ frontmatter: { title: 'Theirs' }, resolutions });
    expect(status).toBe(200);
    expect(body).toMatchObject({ merged: true, title: 'Both' });
  });

  it('lets what is equal pass when the version that was seen is gone', async () => {
    const headers = { 'If-Match': `"${'1'.repeat(40)}.00000000"` };
    const ask = (body: object) => app.ask('PUT', `${url}?on_conflict=merge`, { body, headers });
    expect((await ask({ frontmatter: { title: 'Ours' } })).body).toMatchObject({ merged: true, unchanged: true });
    const { body } = await ask({ frontmatter: { title: 'Theirs' } });
    expect(body).toMatchObject({
      code: 'merge_conflict',
      details: {
        conflicts: [{ stages: { base: null }, fields: [{ field: '/title', current: 'Ours', incoming: 'Theirs' }] }],
      },
    });
  });
});

describe('409', () => {
  it('merge_conflict with the three values', async () => {
    const before = await raw();
    const answer = await late({ frontmatter: { title: 'Theirs', description: 'New' } });
    expectRefusal(answer, 409, 'merge_conflict', /changed since/);
    expect(answer.body.details.conflicts).toEqual([
      {
        path: postPath(slug),
        collection: 'posts',
        slug,
        title: 'Ours',
        type: 'field',
        stages: {
          base: seen.slice(1).split('.')[0],
          current: answer.body.details.current_sha,
          incoming: expect.stringMatching(/^[0-9a-f]{40}$/),
        },
        fields: [{ field: '/title', label: 'Title', base: 'A', current: 'Ours', incoming: 'Theirs' }],
        hunks: [],
        resolved: ['/description'],
      },
    ]);
    expect(await raw()).toBe(before);
  });

  it('branch_moved with fresh conflicts when the entry was saved again since the conflict was shown', async () => {
    const [{ path, stages }] = (await late({ frontmatter: { title: 'Theirs' } })).body.details.conflicts;
    await put({ frontmatter: { title: 'Ours again' } });
    const resolutions = [{ path, stages, take: 'incoming' }];
    const answer = await late({ frontmatter: { title: 'Theirs' }, resolutions });
    expectRefusal(answer, 409, 'branch_moved', /^resolutions: /);
    expect(answer.body.details.conflicts).toMatchObject([{ fields: [{ current: 'Ours again' }] }]);
  });
});

describe('412 and 409 without on_conflict', () => {
  it('list the conflicts, as long as the version that was seen is stored', async () => {
    const failed = await late({ frontmatter: { title: 'Theirs' } }, '');
    expectRefusal(failed, 412, 'precondition_failed', /^If-Match: /);
    expect(failed.body.details).toMatchObject({
      current_sha: expect.any(String),
      conflicts: [{ fields: [{ field: '/title' }] }],
    });
    const sha = seen.slice(1).split('.')[0];
    const other = await put({ sha, frontmatter: { description: 'New' } });
    expectRefusal(other, 409, 'sha_mismatch', /^sha: /);
    expect(other.body.details.conflicts).toEqual([]);
    const gone = await put({ frontmatter: { title: 'Theirs' } }, { 'If-Match': '"none"' });
    expect(gone.body.details).not.toHaveProperty('conflicts');
  });

  it('show no other file, and no version that nothing reaches any more', async () => {
    await commitTo(app, 'main', { 'private/notes.md': post({ title: 'Secret one' }, 'Secret two') });
    await app.ask('POST', `${studio}/branches`, { body: { name: 'leak' } });
    await commitTo(app, 'leak', { [postPath(slug)]: post({ title: 'Secret three' }, 'Secret four') });
    const git = await app.repository();
    const oidAt = async (branch: string, path: string) =>
      (await (await git.snapshot(await git.head(branch))).lookup(path)).entry?.oid ?? '';
    const hidden = [await oidAt('main', 'private/notes.md'), await oidAt('leak', postPath(slug))];
    const token = await app.makeToken(['edit_studio']);
    const change = { frontmatter: { title: 'Theirs' }, body: 'Theirs' };
    const save = async (oid: string, query: string) =>
      (await app.ask('PUT', `${url}${query}`, { token, body: change, headers: { 'If-Match': `"${oid}"` } })).body;
    expect(JSON.stringify(await save(hidden[1] ?? '', ''))).toContain('Secret four');
    await app.ask('DELETE', `${studio}/branches/leak?force=true`);
    for (const oid of hidden) {
      const failed = await save(oid, '');
      expect(failed.code).toBe('precondition_failed');
      expect(failed.details).not.toHaveProperty('conflicts');
      const unmerged = await save(oid, '?on_conflict=merge');
      expect(unmerged.details.conflicts).toMatchObject([{ stages: { base: null } }]);
      expect(JSON.stringify(unmerged)).not.toContain('Secret');
    }
  });

  it('list the conflicts with a version that lost a merge', async () => {
    const git = await app.repository();
    const version = (title: string) => ({ [postPath(slug)]: post({ ...fields, title }) });
    await app.ask('POST', `${studio}/branches`, { body: { name: `side-${slug}` } });
    await commitTo(app, 'main', version('Lost'));
    const lost = (await app.ask('GET', url)).headers.get('etag') ?? '';
    const won = await commitTo(app, `side-${slug}`, version('Won'));
    await git.write({
      branch: 'main',
      author: { name: 'Ada', email: 'ada@example.org' },
      plan: async () => ({
        changes: [{ path: postPath(slug), content: Buffer.from(post({ ...fields, title: 'Won' })) }],
        message: 'Merge',
        result: null,
        parents: [won],
      }),
    });
    const failed = await put({ frontmatter: { title: 'Theirs' } }, { 'If-Match': lost });
    expect(failed.body.details.conflicts).toMatchObject([{ fields: [{ base: 'Lost', current: 'Won' }] }]);
  });
});

describe('422', () => {
  it('for resolutions that fit nothing', async () => {
    const { stages, path } = (await late({ frontmatter: { title: 'Theirs' } })).body.details.conflicts[0];
    for (const resolution of [
      { path: 'other.md', stages, take: 'current' },
      { path, take: 'current' },
      { path, stages, fields: { '/nothing': { take: 'current' } } },
      { path, stages, delete: true },
    ])
      expectRefusal(
        await late({ frontmatter: { title: 'Theirs' }, resolutions: [resolution] }),
        422,
        'validation_failed',
        /^resolutions: /,
      );
    expectRefusal(
      await put({ resolutions: [{ path, stages, take: 'current' }] }),
      422,
      'validation_failed',
      /not in conflict/,
    );
  });
});

it('gives conflicts as data in GraphQL', async () => {
  const query = `mutation { updateEntry(organization: "acme", project: "site", input: { collection: "posts", entry: "${slug}",
    if_match: ${JSON.stringify(seen)}, on_conflict: merge, frontmatter: { title: "Theirs" } }) {
    title merged commit { sha } conflicts { path fields { field } } } }`;
  const { body } = await app.ask('POST', '/graphql', { body: { query } });
  expect(body).toEqual({
    data: {
      updateEntry: {
        title: 'Ours',
        merged: false,
        commit: null,
        conflicts: [{ path: postPath(slug), fields: [{ field: '/title' }] }],
      },
    },
  });
});
