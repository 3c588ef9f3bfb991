import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { countCommits, entryOn, of, ownBranch, post } from '../support/change-actions.ts';
import { commitTo } from '../support/conflict-site.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
beforeAll(() => seed(app, siteFiles));

const branch = () => ownBranch(app);
const commits = (name: string) => countCommits(app, name);
const entry = (name: string, slug: string) => entryOn(app, name, slug);
const change = (body: object, options: { token?: string; headers?: Record<string, string> } = {}) =>
  app.ask('POST', `${studio}/changes`, { body, ...options });

describe('400', () => {
  it.each([
    ['no action', { actions: [] }, 'actions: must have at least 1 action'],
    [
      '101 actions',
      { actions: Array.from({ length: 101 }, (_, at) => post(`en/${at}`)) },
      /^actions: must have at most 100/,
    ],
    ['an unknown operation', { actions: [{ op: 'burn' }] }, /^actions\.0\.op: must be one of create, update, move/],
    [
      'an action without its slug',
      { actions: [post('a'), { op: 'delete', collection: 'posts' }] },
      'actions.1.slug: is required',
    ],
    [
      'a file without content',
      { actions: [{ op: 'upload_media', path: 'public/a.png' }] },
      'actions.0.content: is required',
    ],
    ['raw beside a body', { actions: [of('update', 'en/alpha', { raw: '', body: '' })] }, /^actions\.0\.raw: excludes/],
    ['a path outside', { actions: [{ op: 'delete_media', path: '../x' }] }, /^actions\.0\.path: must not contain/],
  ])('for %s', async (_what, body, message) => {
    const answer = await change(body);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
  });

  it('names what it does not know', async () => {
    const name = await branch();
    const answer = await change({ branch: name, actions: [{ ...of('update', 'en/alpha'), colour: 1 }] });
    expect(answer.headers.get('x-ignored-fields')).toBe('actions.0.colour');
  });
});

describe('403', () => {
  it('for deletions without delete_studio, before anything is done', async () => {
    const token = await app.makeToken(['edit_studio']);
    for (const action of [of('delete', 'en/alpha'), { op: 'delete_media', path: 'public/logo.svg' }]) {
      const answer = await change({ actions: [post('en/never'), action] }, { token });
      expectRefusal(answer, 403, 'forbidden', 'Missing permission: delete_studio');
    }
    const allowed = await change({ branch: await branch(), actions: [post('en/allowed')] }, { token });
    expect(allowed.status).toBe(201);
  });

  it('for files outside the media roots and other authors without manage_studio', async () => {
    const token = await app.makeToken(['edit_studio', 'delete_studio']);
    const outside = await change({ actions: [{ op: 'upload_media', path: 'scripts/x.txt', content: '' }] }, { token });
    expectRefusal(outside, 403, 'forbidden', 'actions.0: Missing permission: manage_studio');
    const author = { name: 'Eve', email: 'eve@portico.test' };
    const named = await change({ author, actions: [post('en/x')] }, { token });
    expectRefusal(named, 403, 'forbidden', 'Missing permission: manage_studio');
  });
});

describe('404', () => {
  it('names the action whose entry, collection or file is not there', async () => {
    const gone = await change({ actions: [of('delete', 'en/alpha'), of('update', 'en/alpha', { body: 'x' })] });
    expectRefusal(gone, 404, 'not_found', 'actions.1: posts has no entry en/alpha');
    expect(gone.body.details.errors).toMatchObject([{ field: '/actions/1', code: 'not_found' }]);
    const file = await change({ actions: [{ op: 'delete_media', path: 'public/none.png' }] });
    expectRefusal(file, 404, 'not_found', 'actions.0.path: public/none.png is not a file');
    expectRefusal(await change({ branch: 'none', actions: [post('a')] }), 404, 'not_found', /^branch: none/);
  });
});

describe('409', () => {
  it('leaves nothing of a change whose last action is refused', async () => {
    const name = await branch();
    const before = await commits(name);
    const answer = await change({ branch: name, actions: [post('en/one'), post('en/two'), post('en/alpha')] });
    expectRefusal(answer, 409, 'already_exists', 'actions.2.slug: posts has an entry en/alpha');
    expect(answer.body.details.errors).toMatchObject([{ field: '/actions/2/slug', code: 'already_exists' }]);
    expect(await commits(name)).toBe(before);
    expect((await entry(name, 'en/one')).status).toBe(404);
  });

  it('for an entry made twice, and a move to a name that is taken', async () => {
    const twice = await change({ actions: [post('en/twice'), post('en/twice')] });
    expectRefusal(twice, 409, 'already_exists', 'actions.1.slug: posts has an entry en/twice');
    const taken = await change({ actions: [of('move', 'en/alpha', { to: 'en/beta' })] });
    expectRefusal(taken, 409, 'already_exists', 'actions.0.to: posts has an entry en/beta');
  });

  it('for a branch that is not where the caller saw it', async () => {
    const name = await branch();
    const [head] = (await app.ask('GET', `${studio}/commits?branch=${name}&per_page=1`)).body;
    const wrong = await change({ branch: name, expected_head: '1'.repeat(40), actions: [post('en/x')] });
    expectRefusal(wrong, 409, 'branch_moved', 'expected_head: the branch has moved since it was read');
    expect(wrong.body.details).toEqual({ current_sha: head.sha });
    const right = await change({ branch: name, expected_head: head.sha, actions: [post('en/x')] });
    expect(right.status).toBe(201);
  });

  it('for versions that have moved, of entries and of files', async () => {
    const sha = '1'.repeat(40);
    const { body: alpha } = await entry('main', 'en/alpha');
    for (const action of [of('update', 'en/alpha', { sha, body: 'x' }), of('delete', 'en/alpha', { sha })]) {
      const answer = await change({ actions: [action] });
      expectRefusal(answer, 409, 'sha_mismatch', 'actions.0.sha: the stored file has changed since it was read');
      expect(answer.body.details.current_sha).toBe(alpha.sha);
    }
    const upload = { op: 'upload_media', path: 'public/logo.svg', content: btoa('<svg ></svg>'), overwrite: true, sha };
    expectRefusal(await change({ actions: [upload] }), 409, 'sha_mismatch', /^actions\.0\.sha/);
  });

  it('compares versions with what the caller can have seen, not with what the change itself wrote', async () => {
    const name = await branch();
    const { body: alpha } = await entry(name, 'en/alpha');
    const twice = (sha: string) => ({
      branch: name,
      actions: [
        of('update', 'en/alpha', { sha: alpha.sha, frontmatter: { title: 'One' } }),
        of('update', 'en/alpha', { sha, body: 'Two\n' }),
      ],
    });
    expectRefusal(await change(twice('1'.repeat(40))), 409, 'sha_mismatch', /^actions\.1\.sha/);
    expect((await change(twice(alpha.sha))).status).toBe(201);
    expect((await entry(name, 'en/alpha')).body).toMatchObject({ title: 'One', body: 'Two\n' });
  });

  it('for what entries that are left require, unless it is forced', async () => {
    const name = await branch();
    const deletion = { op: 'delete', collection: 'authors', slug: 'ada' };
    const actions = [of('delete', 'en/alpha'), deletion];
    const answer = await change({ branch: name, actions });
    expectRefusal(answer, 409, 'in_use', /^actions\.1: authors\/ada is required by 3 entries/);
    expect(answer.body.details.references).toHaveLength(3);
    const late = [{ ...deletion, slug: 'bob' }, of('update', 'en/beta', { frontmatter: { author: 'bob' } })];
    expect((await change({ branch: name, actions: late })).body.message).toMatch(
      /^actions\.0: authors\/bob is required/,
    );
    const forced = await change({ branch: name, actions: [actions[0], { ...deletion, force: true }] });
    expect(forced.status).toBe(201);
  });

  it('merges what has changed since, and says what clashes', async () => {
    const name = await branch();
    const { body: alpha } = await entry(name, 'en/alpha');
    const path = 'src/content/posts/en/alpha.md';
    await commitTo(app, name, { [path]: alpha.raw.replace('"Alpha"', '"Theirs"') });
    const merge = (frontmatter: object) =>
      change({
        branch: name,
        actions: [of('update', 'en/alpha', { sha: alpha.sha, on_conflict: 'merge', frontmatter })],
      });
    const clash = await merge({ title: 'Ours' });
    expectRefusal(clash, 409, 'merge_conflict', /^actions\.0: /);
    expect(clash.body.details.conflicts).toMatchObject([{ path, fields: [{ field: '/title' }] }]);
    const { body } = await merge({ rating: 1 });
    expect(body.results[0]).toMatchObject({ merged: true });
    expect((await entry(name, 'en/alpha')).body.frontmatter).toMatchObject({ title: 'Theirs', rating: 1 });
  });
});

describe('415', () => {
  it('for a file that is not what its name says', async () => {
    const answer = await change({ actions: [{ op: 'upload_media', path: 'public/a.png', content: btoa('text') }] });
    expectRefusal(answer, 415, 'unsupported_media', /^actions\.0\.content: is not a file of type image\/png/);
  });
});

describe('422', () => {
  it('names the field of the action that breaks its schema', async () => {
    const answer = await change({ actions: [post('en/ok'), post('en/bad', { title: 5 })] });
    expectRefusal(answer, 422, 'validation_failed', /^actions\.1\.frontmatter\.title: must be text/);
    expect(answer.body.details.errors).toMatchObject([{ field: '/actions/1/frontmatter/title', code: 'type' }]);
  });

  it('for a reference to an entry that another action deletes', async () => {
    const actions = [
      post('en/orphan', { author: 'bob' }),
      { op: 'delete', collection: 'authors', slug: 'bob', force: true },
    ];
    const answer = await change({ actions });
    expectRefusal(answer, 422, 'validation_failed', /^actions\.0\.frontmatter\.author: "bob" is no entry/);
  });

  it('for a name that is unwise', async () => {
    expectRefusal(await change({ actions: [post('en/con')] }), 422, 'invalid_name', /^actions\.0\.slug: /);
    const move = of('move', 'en/alpha', { to: 'en/nul.x' });
    expectRefusal(await change({ actions: [move] }), 422, 'invalid_name', /^actions\.0\.to: /);
  });
});

describe('a project with rules of its own', () => {
  const rules = (settings: object) => app.ask('PATCH', `${studio}/repository`, { body: settings });
  afterAll(() => rules({ require_preconditions: false, require_pull: false, protected_branches: [] }));

  it('428 without the version that is changed, but for what the change itself made', async () => {
    const name = await branch();
    await rules({ require_preconditions: true });
    const edit = of('update', 'en/alpha', { body: 'x' });
    const answer = await change({ branch: name, actions: [edit] });
    expectRefusal(answer, 428, 'precondition_required', /^actions\.0/);
    const header = await change({ branch: name, actions: [edit] }, { headers: { 'If-Match': '*' } });
    expect(header.status).toBe(428);
    const own = [post('en/own'), of('update', 'en/own', { body: 'y' }), of('delete', 'en/own')];
    expect((await change({ branch: name, actions: own })).status).toBe(200);
    const { body: alpha } = await entry(name, 'en/alpha');
    expect((await change({ branch: name, actions: [{ ...edit, sha: alpha.sha }] })).status).toBe(201);
    await rules({ require_preconditions: false });
  });

  it('403 for a branch that only pull requests move', async () => {
    await rules({ require_pull: true, protected_branches: ['main'] });
    expectRefusal(await change({ actions: [post('en/x')] }), 403, 'branch_protected', /^main is protected/);
  });
});
