import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { GitRepository } from '../../src/engines/git/repository.ts';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { makeBranch, post, seedPosts } from '../support/conflict-site.ts';
import { expectRefusal } from '../support/refusal.ts';

const app = shared(startTestApp);
beforeAll(async () => {
  await seedPosts(app);
  await makeBranch(app, 'release/1.0');
  await makeBranch(app, 'topic');
});

const plain = { protected_branches: [], require_pull: false, require_preconditions: false };
const set = (body: object) => app.ask('PATCH', `${studio}/repository`, { body });
beforeEach(async () => {
  expect((await set({ ...plain, content_root: null, default_branch: 'main' })).status).toBe(200);
});

describe('200', () => {
  it('keeps what is not named and shows the whole record', async () => {
    const { status, body } = await set({ protected_branches: ['main', 'release/*'] });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      default_branch: 'main',
      content_root: null,
      settings: { ...plain, protected_branches: ['main', 'release/*'] },
    });
    expect((await set({ require_pull: true })).body.settings).toMatchObject({
      require_pull: true,
      protected_branches: ['main', 'release/*'],
    });
    expect((await app.ask('GET', `${studio}/repository`)).body).toMatchObject({ settings: { require_pull: true } });
    const { body: branches } = await app.ask('GET', `${studio}/branches`);
    expect(branches.map(({ name, protected: held }: { name: string; protected: boolean }) => [name, held])).toEqual([
      ['main', true],
      ['release/1.0', true],
      ['topic', false],
    ]);
  });

  it('moves the default branch', async () => {
    expect((await set({ default_branch: 'topic' })).body.default_branch).toBe('topic');
    const { body } = await app.ask('GET', `${studio}/branches`);
    expect(body[0]).toMatchObject({ name: 'topic', default: true });
  });

  it('moves it to no branch that is deleted at that moment', async () => {
    await makeBranch(app, 'fleeting');
    const { setDefaultBranch } = GitRepository.prototype;
    vi.spyOn(GitRepository.prototype, 'setDefaultBranch').mockImplementationOnce(async function (
      this: GitRepository,
      name,
    ) {
      await this.deleteBranch(name, (await this.head(name)) ?? '');
      return setDefaultBranch.call(this, name);
    });
    expectRefusal(await set({ default_branch: 'fleeting' }), 404, 'not_found', /^default_branch: fleeting/);
    vi.restoreAllMocks();
    expect((await app.ask('GET', `${studio}/repository`)).body.default_branch).toBe('main');
  });

  it('reads the site below its content root', async () => {
    await seed(app, { 'docs/content/guides/one.md': post({ title: 'One' }) });
    const collections = async () =>
      (await app.ask('GET', `${studio}/collections`)).body.map(({ name, path }: Record<string, string>) => [
        name,
        path,
      ]);
    const before = await collections();
    await set({ content_root: 'docs' });
    expect(await collections()).toEqual([['guides', 'docs/content/guides']]);
    expect((await app.ask('GET', `${studio}/collections/guides/one`)).body.title).toBe('One');
    await set({ content_root: null });
    expect(await collections()).toEqual(before);
  });
});

describe('what is set is enforced', () => {
  const change = (branch: string) => ({ branch, frontmatter: { title: `T ${Math.random()}` } });
  const put = (body: object, headers = {}) => app.ask('PUT', `${studio}/collections/posts/a`, { body, headers });

  it('403 for direct writes to a protected branch that needs a pull request', async () => {
    await set({ protected_branches: ['main', 'release/*'], require_pull: true });
    for (const branch of ['main', 'release/1.0']) {
      expectRefusal(await put(change(branch)), 403, 'branch_protected', /^.* is protected/);
      const draft = { slug: 'new', frontmatter: {}, branch };
      expectRefusal(
        await app.ask('POST', `${studio}/collections/posts`, { body: draft }),
        403,
        'branch_protected',
        /./,
      );
      const gone = await app.ask('DELETE', `${studio}/collections/posts/a?branch=${encodeURIComponent(branch)}`);
      expectRefusal(gone, 403, 'branch_protected', /./);
    }
    expect((await put(change('topic'))).status).toBe(200);
    await set({ require_pull: false });
    expect((await put(change('main'))).status).toBe(200);
  });

  it('403 for a new branch of a protected name, which would hold what no pull request brought, without manage_studio', async () => {
    await set({ protected_branches: ['release/*'], require_pull: true });
    const { body: written } = await put(change('topic'));
    const editor = await app.makeToken(['browse_studio', 'edit_studio', 'delete_studio']);
    const body = { name: 'release/2.0', from: written.commit.sha };
    const refused = await app.ask('POST', `${studio}/branches`, { token: editor, body });
    expectRefusal(
      refused,
      403,
      'branch_protected',
      'release/2.0 is protected; making it needs the permission manage_studio',
    );
    expect((await app.ask('GET', `${studio}/branches/release/2.0`)).status).toBe(404);
    expect((await app.ask('POST', `${studio}/branches`, { body })).status).toBe(201);
    await set({ require_pull: false });
    expect((await app.ask('POST', `${studio}/branches`, { token: editor, body: { name: 'release/3.0' } })).status).toBe(
      201,
    );
    await set(plain);
    for (const name of ['release/2.0', 'release/3.0'])
      expect((await app.ask('DELETE', `${studio}/branches/${name}`)).status).toBe(204);
  });

  it('says of each branch why the caller may not commit to it, in the words of the refusal', async () => {
    await set({ protected_branches: ['release/*'], require_pull: true });
    const rightOn = async (branch: string, token = app.token) =>
      (await app.ask('GET', `${studio}/branches/${branch}`, { token })).body.can_commit;
    const refused = await put(change('release/1.0'));
    expect(await rightOn('release/1.0')).toEqual({
      allowed: false,
      reason: refused.body.code,
      message: refused.body.message,
    });
    expect(await rightOn('topic')).toEqual({ allowed: true });
    const reader = await app.makeToken(['browse_studio']);
    const body = change('topic');
    const forbidden = await app.ask('PUT', `${studio}/collections/posts/a`, { token: reader, body });
    const lacking = { allowed: false, reason: forbidden.body.code, message: forbidden.body.message };
    expect(await rightOn('topic', reader)).toEqual(lacking);
    expect(await rightOn('release/1.0', reader)).toEqual(lacking);
    const { body: all } = await app.ask('GET', `${studio}/branches`);
    expect(all.map((each: { can_commit: { allowed: boolean } }) => each.can_commit.allowed)).toEqual([
      true,
      false,
      true,
    ]);
    await set({ require_pull: false });
    expect(await rightOn('release/1.0')).toEqual({ allowed: true });
  });

  it('428 for changes that do not say what they change', async () => {
    await set({ require_preconditions: true });
    expectRefusal(await put(change('main')), 428, 'precondition_required', /^If-Match: /);
    expectRefusal(
      await app.ask('DELETE', `${studio}/collections/posts/b`),
      428,
      'precondition_required',
      /^If-Match: /,
    );
    const { headers, body } = await app.ask('GET', `${studio}/collections/posts/a`);
    expect((await put({ ...change('main'), sha: body.sha })).status).toBe(200);
    expect((await put(change('main'), { 'If-Match': headers.get('etag') ?? '' })).status).toBe(412);
    expect(
      (await app.ask('POST', `${studio}/collections/posts`, { body: { slug: 'fresh', frontmatter: {} } })).status,
    ).toBe(201);
  });
});

describe('DELETE /branches/{name}', () => {
  const remove = (name: string, query = '', headers = {}) =>
    app.ask('DELETE', `${studio}/branches/${name}${query}`, { headers });
  const names = async () => (await app.ask('GET', `${studio}/branches`)).body.map(({ name }: { name: string }) => name);

  it('204, and it is gone', async () => {
    await makeBranch(app, 'gone/deep');
    const { status, body } = await remove('gone/deep');
    expect([status, body]).toEqual([204, '']);
    expect(await names()).not.toContain('gone/deep');
  });

  it('404 for a branch that is not there', async () => {
    expectRefusal(await remove('nothing/here'), 404, 'not_found', /^name: branch nothing\/here/);
  });

  it('409 for the default branch and protected ones, also with force', async () => {
    await set({ protected_branches: ['release/**'] });
    for (const query of ['', '?force=true']) {
      expectRefusal(await remove('main', query), 409, 'protected', /default/);
      expectRefusal(await remove('release/1.0', query), 409, 'protected', /protected/);
    }
  });

  it('412 when the branch has moved', async () => {
    await makeBranch(app, 'moving');
    const sha = (await app.ask('GET', `${studio}/branches?q=moving`)).body[0].commit;
    expectRefusal(
      await remove('moving', '', { 'If-Match': `"${'1'.repeat(40)}.00000000"` }),
      412,
      'precondition_failed',
      /^If-Match/,
    );
    expect((await remove('moving', '', { 'If-Match': `"${sha}.0"` })).status).toBe(204);
  });
});

describe('refusals', () => {
  it.each([
    [{ protected_branches: [''] }, 400, 'invalid_request'],
    [{ protected_branches: ['[z-'] }, 400, 'invalid_request'],
    [{ protected_branches: Array.from({ length: 51 }, () => 'a') }, 400, 'invalid_request'],
    [{ content_root: '../up' }, 400, 'invalid_path'],
    [{ default_branch: 'nothing' }, 404, 'not_found'],
    [{ default_branch: 'a..b' }, 422, 'invalid_name'],
  ])('%j is %i', async (body, status, code) => {
    expectRefusal(await set(body), status, code, /^[a-z_.0]+/);
  });
});
