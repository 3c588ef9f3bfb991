import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { GitRepository } from '../../src/engines/git/repository.ts';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { watchCommits } from '../support/git-store.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
const posts = `${studio}/collections/posts`;
const valid = { title: 'One', author: 'ada', rating: 1 };
let next = 0;
let slug: string;
let made: string;

beforeAll(() => seed(app, siteFiles));

const put = async (body: object): Promise<string> =>
  (await app.ask('PUT', `${posts}/${slug}`, { body })).body.commit.sha;
const text = async () => (await app.ask('GET', `${posts}/${slug}?raw=true`)).body;
const remove = async (): Promise<string> => (await app.ask('DELETE', `${posts}/${slug}`)).body.commit.sha;
const revert = (body: object, options: { token?: string; headers?: Record<string, string> } = {}) =>
  app.ask('POST', `${studio}/revert`, {
    body: 'path' in body ? body : { collection: 'posts', slug, ...body },
    ...options,
  });
const commits = async () => Number((await app.ask('GET', `${studio}/commits?per_page=1`)).headers.get('x-total-count'));

beforeEach(async () => {
  slug = `en/r-${next++}`;
  made = (await app.ask('POST', posts, { body: { slug, frontmatter: valid, body: 'First line\n\nLast line\n' } })).body
    .commit.sha;
});

describe('undo', () => {
  it('brings the version before a commit back, byte for byte, in one commit', async () => {
    const before = await text();
    const changed = await put({ frontmatter: { title: 'Two' }, body: 'Other\n' });
    const count = await commits();
    const { status, headers, body } = await revert({ commit: changed });
    expect({ status, body }).toMatchObject({
      status: 201,
      body: {
        collection: 'posts',
        slug,
        sha: before.sha,
        deleted: false,
        unchanged: false,
        merged: false,
        entry: { title: 'One', slug },
      },
    });
    expect(headers.get('x-commit-sha')).toBe(body.commit.sha);
    expect(body.commit.message.trim()).toBe(`Revert posts/${slug} as changed by ${changed.slice(0, 10)}`);
    expect((await text()).raw).toBe(before.raw);
    expect(await commits()).toBe(count + 1);
    expect(await revert({ commit: changed })).toMatchObject({
      status: 200,
      body: { unchanged: true, commit: null, sha: before.sha },
    });
  });

  it('keeps what was changed since in other fields and lines', async () => {
    const changed = await put({ frontmatter: { title: 'Two' } });
    await put({ frontmatter: { rating: 5 }, body: 'First line\n\nLast line, later\n' });
    const { status, body } = await revert({ commit: changed });
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { merged: true, resolved: expect.arrayContaining(['/title']) },
    });
    expect(await text()).toMatchObject({
      frontmatter: { ...valid, rating: 5 },
      body: 'First line\n\nLast line, later\n',
    });
  });

  it('answers 409 with the fields that newer changes overlap, and writes nothing', async () => {
    const changed = await put({ frontmatter: { title: 'Two', rating: 2 } });
    await put({ frontmatter: { title: 'Three' } });
    const count = await commits();
    const answer = await revert({ commit: changed });
    expectRefusal(answer, 409, 'merge_conflict', /changed since/);
    expect(answer.body.details).toMatchObject({
      current_sha: (await text()).sha,
      conflicts: [
        {
          collection: 'posts',
          slug,
          type: 'field',
          fields: [{ field: '/title', base: 'Two', current: 'Three', incoming: 'One' }],
          resolved: ['/rating'],
        },
      ],
    });
    expect(await commits()).toBe(count);
  });

  it('takes an entry away that the commit made, with delete_studio, unless it was changed since', async () => {
    const editor = await app.makeToken(['edit_studio']);
    expectRefusal(
      await revert({ commit: made }, { token: editor }),
      403,
      'forbidden',
      'Missing permission: delete_studio',
    );
    const both = await app.makeToken(['edit_studio', 'delete_studio']);
    expect(await revert({ commit: made }, { token: both })).toMatchObject({
      status: 201,
      body: { deleted: true, sha: null },
    });
    expect((await app.ask('GET', `${posts}/${slug}`)).status).toBe(404);
  });

  it('answers 409 where the commit made an entry that was changed since', async () => {
    await put({ frontmatter: { title: 'Two' } });
    const answer = await revert({ commit: made });
    expectRefusal(answer, 409, 'merge_conflict', /./);
    expect(answer.body.details.conflicts[0]).toMatchObject({ type: 'delete_modify', slug });
  });

  it('brings a deleted entry back by the commit that deleted it, or by any that holds a version of it', async () => {
    const first = await text();
    const changed = await put({ frontmatter: { title: 'Two' } });
    const second = await text();
    const gone = await remove();
    const editor = await app.makeToken(['edit_studio']);
    expect(await revert({ commit: gone }, { token: editor })).toMatchObject({
      status: 201,
      body: { sha: second.sha, deleted: false },
    });
    expect((await text()).raw).toBe(second.raw);
    await remove();
    expect(await revert({ commit: changed })).toMatchObject({ status: 201, body: { sha: second.sha } });
    await remove();
    expect(await revert({ commit: made })).toMatchObject({
      status: 201,
      body: { sha: first.sha, entry: { title: 'One' } },
    });
  });

  it('refuses a commit that did not change the file, and one that renamed it', async () => {
    const other = (await app.ask('PUT', `${posts}/en/beta`, { body: { body: `${slug}\n` } })).body.commit.sha;
    expectRefusal(await revert({ commit: other }), 422, 'validation_failed', /^commit: did not change .*restore/);
    const from = slug;
    const renamed = await put({ slug: `${slug}-moved` });
    slug = `${from}-moved`;
    expectRefusal(await revert({ commit: renamed }), 422, 'not_editable', /^commit: .* renamed .*rename it back/);
  });

  it('finds the renames of a commit before the turn of the branch, in one pass, and only for who may delete', async () => {
    const repository = await app.repository();
    const files = Object.fromEntries(Array.from({ length: 1_100 }, (_, at) => [`public/many-${at}.txt`, `${at}`]));
    const path = 'public/new.txt';
    const { commit } = await repository.write({
      branch: 'main',
      author: { name: 'Ada', email: 'ada@example.org' },
      plan: async () => ({
        changes: Object.entries({ ...files, [path]: 'New' }).map(([name, text]) => ({
          path: name,
          content: Buffer.from(text),
        })),
        message: 'Add many',
        result: null,
      }),
    });
    const methods = ['diff', 'renames', 'write'] as const;
    const calls: string[] = [];
    const prototype = GitRepository.prototype as unknown as Record<string, (...given: unknown[]) => unknown>;
    const spies = methods.map((name) => {
      const known = prototype[name] as (...given: unknown[]) => unknown;
      return vi.spyOn(prototype, name).mockImplementation(function (this: unknown, ...given) {
        calls.push(name);
        return known.apply(this, given);
      });
    });
    const undo = { path, commit: commit?.sha ?? '' };
    const editor = await app.makeToken(['edit_studio']);
    expectRefusal(await revert(undo, { token: editor }), 403, 'forbidden', 'Missing permission: delete_studio');
    expect(calls).toEqual([]);
    expect(await revert(undo)).toMatchObject({ status: 201, body: { deleted: true } });
    expect(calls).toEqual(['renames', 'write']);
    for (const spy of spies) spy.mockRestore();
  });

  it.each(['main', 'abc', '', '0'.repeat(40)])('names the field of the commit %j, which is none', async (commit) => {
    const answer = await revert({ commit });
    const problem = 'must be the full id of a commit that a branch, tag or pull request reaches';
    expectRefusal(answer, 404, 'not_found', `commit: ${problem}`);
    expect(answer.body.details).toEqual({ errors: [{ field: '/commit', code: 'not_found', message: problem }] });
  });

  it('warns where the former version breaks the schema of today', async () => {
    await seed(app, { 'src/content/posts/en/old.md': '---\ntitle: Old\nauthor: gone\n---\n' });
    slug = 'en/old';
    const gone = await remove();
    const { status, body } = await revert({ commit: gone });
    expect(status).toBe(201);
    expect(body.warnings).toEqual([
      expect.objectContaining({ code: 'reference', collection: 'posts', message: expect.stringMatching(/^author: /) }),
    ]);
  });

  it('refuses to bring back what cannot be read', async () => {
    const sha = await seed(app, { [`src/content/posts/${slug}.md`]: '---\ntitle: [\n---\n' });
    await put({ raw: '---\ntitle: Mended\nauthor: ada\n---\n' });
    expectRefusal(await revert({ commit: sha, mode: 'restore' }), 422, 'frontmatter_invalid', /^commit: .*line 3/);
  });
});

describe('restore', () => {
  it('makes the file what it was at the commit, whatever happened since', async () => {
    const first = await text();
    await put({ frontmatter: { title: 'Two' } });
    await put({ frontmatter: { title: 'Three' }, body: 'Other\n' });
    const { status, body } = await revert({ commit: made, mode: 'restore' });
    expect({ status, body }).toMatchObject({ status: 201, body: { sha: first.sha, entry: { title: 'One' } } });
    expect(body.commit.message.trim()).toBe(`Restore posts/${slug} as of ${made.slice(0, 10)}`);
    expect((await text()).raw).toBe(first.raw);
  });

  it('takes the file away where it was not there, with delete_studio', async () => {
    const [{ sha }] = (await app.ask('GET', `${studio}/commits?per_page=1&page=2`)).body;
    const editor = await app.makeToken(['edit_studio']);
    expectRefusal(await revert({ commit: sha, mode: 'restore' }, { token: editor }), 403, 'forbidden', /delete_studio/);
    expect(await revert({ commit: sha, mode: 'restore' })).toMatchObject({ status: 201, body: { deleted: true } });
    expectRefusal(await revert({ commit: sha, mode: 'restore' }), 404, 'not_found', /neither now nor at/);
  });

  it('keeps an entry that others require, unless forced', async () => {
    const author = `a-${next}`;
    const [{ sha }] = (await app.ask('GET', `${studio}/commits?per_page=1`)).body;
    await app.ask('POST', `${studio}/collections/authors`, { body: { slug: author, frontmatter: { name: 'A' } } });
    await put({ frontmatter: { author } });
    const at = { collection: 'authors', slug: author, commit: sha, mode: 'restore' };
    expectRefusal(await app.ask('POST', `${studio}/revert`, { body: at }), 409, 'in_use', /required/);
    expect((await app.ask('POST', `${studio}/revert`, { body: { ...at, force: true } })).body.deleted).toBe(true);
  });
});

describe('media', () => {
  const path = 'public/pic.svg';
  const svg = (id: number) => Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" id="i${id}"/>`).toString('base64');
  const upload = async (id: number): Promise<string> =>
    (await app.ask('POST', `${studio}/media`, { body: { path, content: svg(id), overwrite: true } })).body.commit.sha;
  const id = async () => /id="i(\d)"/.exec((await app.ask('GET', `${studio}/file?path=${path}&raw=true`)).body)?.[1];

  it('come back executable only for those who may push them so', async () => {
    const editor = await app.makeToken(['edit_studio']);
    const git = await app.repository();
    const plan = async () => ({
      changes: [{ path: 'public/run.svg', content: Buffer.from(svg(1), 'base64'), mode: '100755' as const }],
      message: 'Run',
      result: null,
    });
    const { commit } = await git.write({ branch: 'main', author: { name: 'A', email: 'a@example.org' }, plan });
    const modeOf = async () =>
      (await (await git.snapshot(await git.head('main'))).lookup('public/run.svg')).entry?.mode;
    const at = { path: 'public/run.svg', commit: commit?.sha, mode: 'restore' };
    for (const [by, mode] of [
      [{ token: editor }, '100644'],
      [{}, '100755'],
    ] as const) {
      expect((await app.ask('DELETE', `${studio}/media/public/run.svg`)).status).toBe(200);
      expect((await app.ask('POST', `${studio}/revert`, { body: at, ...by })).status).toBe(201);
      expect(await modeOf()).toBe(mode);
    }
  });

  it('come back by undo and restore, and clash whole', async () => {
    const one = await upload(1);
    const two = await upload(2);
    expect(await revert({ path, commit: two })).toMatchObject({
      status: 201,
      body: { path, media: { path, mime: 'image/svg+xml' }, deleted: false },
    });
    expect(await id()).toBe('1');
    await upload(3);
    const clash = await revert({ path, commit: two });
    expectRefusal(clash, 409, 'merge_conflict', /./);
    expect(clash.body.details.conflicts).toMatchObject([{ path, type: 'binary', fields: [] }]);
    expect((await revert({ path, commit: two, mode: 'restore' })).status).toBe(201);
    expect(await id()).toBe('2');
    const gone = (await app.ask('DELETE', `${studio}/media/${path}`)).body.commit.sha;
    expect((await revert({ path, commit: gone })).status).toBe(201);
    expect(await id()).toBe('2');
    await app.ask('DELETE', `${studio}/media/${path}`);
    expect((await revert({ path, commit: one })).status).toBe(201);
    expect(await id()).toBe('1');
    const editor = await app.makeToken(['edit_studio']);
    const [first] = (await app.ask('GET', `${studio}/commits?path=${path}&per_page=100`)).body.slice(-1);
    expect(first.sha).toBe(one);
    expectRefusal(await revert({ path, commit: one }, { token: editor }), 403, 'forbidden', /delete_studio/);
    expect((await revert({ path, commit: one })).body).toMatchObject({ deleted: true, sha: null });
  });

  it('take an entry by its path for the entry', async () => {
    const changed = await put({ frontmatter: { title: 'Two' } });
    const at = `src/content/posts/${slug}.md`;
    expect(await revert({ path: at, commit: changed })).toMatchObject({
      status: 201,
      body: { path: at, collection: 'posts', slug, entry: { title: 'One' } },
    });
  });

  it('that could not be uploaded come back by manage_studio alone', async () => {
    for (const at of ['public/run.php', 'astro.config.mjs']) {
      const before = await seed(app, { [at]: '// one\n' });
      await seed(app, { [at]: '// two\n' });
      const editor = await app.makeToken(['edit_studio', 'delete_studio']);
      const body = { path: at, commit: before, mode: 'restore' };
      expectRefusal(await revert(body, { token: editor }), 403, 'forbidden', 'Missing permission: manage_studio');
      expect((await revert(body)).status).toBe(201);
    }
  });
});

describe('a whole commit', () => {
  const undo = (commit: string, options: { token?: string; body?: object } = {}) =>
    app.ask('POST', `${studio}/commits/${commit}/revert`, { body: {}, ...options });
  const change = async (actions: object[]): Promise<string> =>
    (await app.ask('POST', `${studio}/changes`, { body: { actions } })).body.commit.sha;

  it('is taken back in one commit, which is not made twice', async () => {
    const before = await text();
    const other = { collection: 'posts', slug: 'en/beta' };
    const beta = (await app.ask('GET', `${posts}/en/beta?raw=true`)).body.raw;
    const commit = await change([
      { op: 'update', collection: 'posts', slug, frontmatter: { title: 'Two' } },
      { op: 'update', ...other, frontmatter: { title: 'Another' } },
    ]);
    const count = await commits();
    const { status, body } = await undo(commit);
    expect({ status, body }).toMatchObject({ status: 201, body: { unchanged: false, warnings: [] } });
    expect(body.commit.message).toMatch(/^Revert “Make 2 changes”/);
    expect((await text()).raw).toBe(before.raw);
    expect((await app.ask('GET', `${posts}/en/beta?raw=true`)).body.raw).toBe(beta);
    expect(await commits()).toBe(count + 1);
    expect(await undo(commit)).toMatchObject({ status: 200, body: { unchanged: true, commit: null } });
  });

  it('keeps no long text in memory until it is made or taken back', async () => {
    const slugs = ['en/long-one', 'en/long-two'];
    const long = `---\ntitle: Long\nauthor: ada\nrating: 1\n---\n${'word '.repeat(300_000)}\n`;
    await seed(app, Object.fromEntries(slugs.map((each) => [`src/content/posts/${each}.md`, long])));
    const update = (frontmatter: object) =>
      change(slugs.map((each) => ({ op: 'update', collection: 'posts', slug: each, frontmatter })));
    const commits = watchCommits();
    const commit = await update({ title: 'Longer' });
    await update({ rating: 2 });
    expect((await undo(commit)).status).toBe(201);
    expect(commits).toEqual([1, 2, 3].map(() => ({ files: 2, inMemory: 0 })));
    const { raw } = (await app.ask('GET', `${posts}/en/long-one?raw=true`)).body;
    expect(raw).toBe(long.replace('rating: 1', 'rating: 2'));
  });

  it('that deleted entries brings all of them back, those that cannot be read with a warning', async () => {
    await seed(app, { 'src/content/posts/en/unreadable.md': '---\ntitle: [\n---\nText\n' });
    const paths = [slug, 'en/unreadable'].map((each) => `${posts}/${each}?raw=true`);
    const before = await Promise.all(paths.map(async (each) => (await app.ask('GET', each)).body.raw));
    const commit = await change(
      [slug, 'en/unreadable'].map((each) => ({ op: 'delete', collection: 'posts', slug: each })),
    );
    const { status, body } = await undo(commit, { token: await app.makeToken(['edit_studio']) });
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { warnings: [{ code: 'frontmatter_invalid', path: 'src/content/posts/en/unreadable.md' }] },
    });
    expect(await Promise.all(paths.map(async (each) => (await app.ask('GET', each)).body.raw))).toEqual(before);
    await app.ask('DELETE', `${posts}/en/unreadable`);
  });

  it('that renamed an entry needs no right to delete', async () => {
    const before = await text();
    const commit = await put({ slug: `${slug}-moved` });
    const editor = await app.makeToken(['edit_studio']);
    expect(await undo(commit, { token: editor })).toMatchObject({ status: 201 });
    expect((await text()).raw).toBe(before.raw);
    expect((await app.ask('GET', `${posts}/${slug}-moved`)).status).toBe(404);
    expectRefusal(await undo(made, { token: editor }), 403, 'forbidden', 'Missing permission: delete_studio');
  });

  it('is taken back as a whole or not at all', async () => {
    const commit = await change([
      { op: 'update', collection: 'posts', slug, frontmatter: { title: 'Two' } },
      { op: 'update', collection: 'posts', slug: 'en/beta', frontmatter: { title: 'Third' } },
    ]);
    await put({ frontmatter: { title: 'Three' } });
    const count = await commits();
    const answer = await undo(commit);
    expectRefusal(answer, 409, 'merge_conflict', /changed since/);
    expect(answer.body.details.conflicts).toMatchObject([{ slug, fields: [{ field: '/title' }] }]);
    expect(await commits()).toBe(count);
  });

  describe('of many files', () => {
    const { writeOnto } = GitRepository.prototype;
    let [count, commit] = [0, ''];
    const fileAt = (n: number, run = count) => `src/content/posts/en/of-${run}-${n}.md`;
    const texts = (title: string) =>
      Object.fromEntries(Array.from({ length: 21 }, (_, n) => [fileAt(n), `---\ntitle: ${title}\nauthor: ada\n---\n`]));
    const titleOf = async (n: number) =>
      (await app.ask('GET', `${posts}/en/of-${count}-${n}?raw=true`)).body.frontmatter.title;
    beforeEach(async () => {
      count += 1;
      await seed(app, texts('One'));
      commit = await seed(app, texts('Two'));
      onTestFinished(() => void vi.restoreAllMocks());
    });
    /** Does something each time the commit has been made ahead of its turn. */
    const onMade = (act: (times: number) => Promise<unknown>) => {
      let times = 0;
      return vi.spyOn(GitRepository.prototype, 'writeOnto').mockImplementation(async function (
        this: GitRepository,
        ...given
      ) {
        const made = await writeOnto.apply(this, given);
        await act(++times);
        return made as never;
      });
    };
    const moveMain = (n: number) => seed(app, { 'public/moved.txt': `${count} ${n}` });

    it('is refused ahead of the turn of the branch', async () => {
      await seed(app, { [fileAt(20)]: '---\ntitle: Three\nauthor: ada\n---\n' });
      const writes = vi.spyOn(GitRepository.prototype, 'write');
      expectRefusal(await undo(commit), 409, 'merge_conflict', /changed since/);
      expect(writes).not.toHaveBeenCalled();
    });

    it('is made ahead of it, and again where the branch has moved', async () => {
      let moved = '';
      const made = onMade(async (times) => {
        if (times === 1) moved = await moveMain(times);
      });
      const { status, body } = await undo(commit);
      expect({ status, body }).toMatchObject({ status: 201, body: { commit: { parents: [moved] } } });
      expect(made).toHaveBeenCalledTimes(2);
      expect([await titleOf(0), await titleOf(20)]).toEqual(['One', 'One']);
      expect((await undo(commit)).body).toMatchObject({ unchanged: true, commit: null });
    });

    it('is made in its turn in the end, while the branch keeps moving', async () => {
      let moved = '';
      const made = onMade(async (times) => {
        moved = await moveMain(times);
      });
      expect((await undo(commit)).body).toMatchObject({ commit: { parents: [moved] } });
      expect(made).toHaveBeenCalledTimes(3);
      expect(await titleOf(20)).toBe('One');
    });
  });

  it('that is none is named', async () => {
    expectRefusal(await undo('0'.repeat(40)), 404, 'not_found', /^commit: must be the full id/);
  });

  it('takes many new files back, and refuses more than can be planned together', async () => {
    const files = (from: number, count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, at) => [`src/content/posts/many/${from + at}.md`, `---\ntitle: M\n---\n`]),
      );
    const few = await seed(app, files(0, 20));
    const many = await seed(app, files(100, 1_001));
    const { status } = await app.ask('POST', `${studio}/commits/${few}/revert`, { body: {} });
    expect(status).toBe(201);
    expectRefusal(
      await app.ask('POST', `${studio}/commits/${many}/revert`, { body: {} }),
      413,
      'too_large',
      /^commit: changed 1001 files/,
    );
  });
});

describe('refusals', () => {
  it('answers 412 when If-Match is stale, 409 when sha is, and takes the current ones', async () => {
    const stale = await app.ask('GET', `${posts}/${slug}`);
    const changed = await put({ frontmatter: { title: 'Two' } });
    const current = await app.ask('GET', `${posts}/${slug}`);
    const ifMatch = (answer: typeof stale) => ({ headers: { 'If-Match': answer.headers.get('etag') ?? '' } });
    expectRefusal(await revert({ commit: changed }, ifMatch(stale)), 412, 'precondition_failed', /^If-Match: /);
    expectRefusal(await revert({ commit: changed, sha: stale.body.sha }), 409, 'sha_mismatch', /^sha: /);
    expect((await revert({ commit: changed }, ifMatch(current))).status).toBe(201);
    const gone = await remove();
    expectRefusal(await revert({ commit: gone }, ifMatch(stale)), 412, 'precondition_failed', /^If-Match: .*deleted/);
  });

  it('names what is wrong with the input', async () => {
    expectRefusal(
      await app.ask('POST', `${studio}/revert`, { body: { commit: made } }),
      400,
      'invalid_request',
      /^collection: /,
    );
    expectRefusal(
      await app.ask('POST', `${studio}/revert`, { body: { commit: made, collection: 'posts' } }),
      400,
      'invalid_request',
      /^slug: /,
    );
    expectRefusal(await revert({ path: 'a.md', slug, commit: made }), 400, 'invalid_request', /^path: excludes/);
    expectRefusal(await revert({ commit: '0'.repeat(40) }), 404, 'not_found', /^commit: /);
    expectRefusal(await revert({ commit: 'main' }), 404, 'not_found', /^commit: /);
    expectRefusal(await revert({}), 400, 'invalid_request', /^commit: is required/);
    expectRefusal(await revert({ path: '../x', commit: made }), 400, 'invalid_path', /^path: /);
    expectRefusal(await revert({ path: 'public/none.svg', commit: made }), 404, 'not_found', /nor was it at/);
    const reader = await app.makeToken(['browse_studio']);
    expectRefusal(await revert({ commit: made }, { token: reader }), 403, 'forbidden', /edit_studio/);
  });
});

it('is two mutations of GraphQL, a conflict being an answer', async () => {
  const changed = await put({ frontmatter: { title: 'Two' } });
  await put({ frontmatter: { title: 'Three' } });
  const run = async (field: string, input: object, type = `${field[0]?.toUpperCase()}${field.slice(1)}Input`) =>
    (
      await app.ask('POST', '/graphql', {
        body: {
          query: `mutation ($input: ${type}!) { ${field}(organization: "acme", project: "site", input: $input) { path deleted unchanged entry { title } conflicts { fields { field } } } }`,
          variables: { input },
        },
      })
    ).body;
  const path = `src/content/posts/${slug}.md`;
  const clash = await run('revertEntry', { collection: 'posts', slug, commit: changed });
  expect(clash).toEqual({
    data: {
      revertEntry: {
        path,
        deleted: false,
        unchanged: true,
        entry: null,
        conflicts: [{ fields: [{ field: '/title' }] }],
      },
    },
  });
  const done = await run('revertMedia', { path, commit: made, mode: 'restore' });
  expect(done.data.revertMedia).toEqual({
    path,
    deleted: false,
    unchanged: false,
    entry: { title: 'One' },
    conflicts: null,
  });
});
