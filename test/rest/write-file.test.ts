/** `write_file`: text files that are neither entries nor media, in `/changes` and `/drafts`. */

import { beforeAll, describe, expect, it } from 'vitest';
import { checkFree } from '../../src/domain/studio/changes/write-rules.ts';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { countCommits, of, ownBranch, post } from '../support/change-actions.ts';
import { commitTo } from '../support/conflict-site.ts';
import { save, testStore } from '../support/git-store.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
beforeAll(async () => {
  await seed(app, { ...siteFiles, 'lib/a.ts': 'one\n', 'nfd/cafe\u0301.txt': 'decomposed\n' });
  const git = await app.repository();
  await git.write({
    branch: 'main',
    author: { name: 'S', email: 's@t' },
    plan: async () => ({
      message: 'Link',
      result: null,
      changes: [
        { path: 'link', content: Buffer.from('README.md'), mode: '120000' },
        { path: 'away', content: Buffer.from('lib'), mode: '120000' },
        { path: 'run.sh', content: Buffer.from('true\n'), mode: '100755' },
      ],
    }),
  });
});

const write = (path: string, content: string, more: object = {}) => ({ op: 'write_file', path, content, ...more });
const change = (body: object, options: { token?: string } = {}) =>
  app.ask('POST', `${studio}/changes`, { body, ...options });
const file = async (path: string, branch: string, query = '') =>
  app.ask('GET', `${studio}/file?path=${encodeURIComponent(path)}&branch=${branch}${query}`);
const shaOf = async (path: string, branch = 'main'): Promise<string> => (await file(path, branch)).body.sha;
const limit = 1024 * 1024;

describe('201', () => {
  it('makes a file, replaces the version it names, and keeps its bytes and mode', async () => {
    const branch = await ownBranch(app);
    const text = '\ufeffa\r\nb\rc\u2028 \n\n';
    const made = await change({ branch, actions: [write('src/new.ts', text)] });
    expect(made).toMatchObject({
      status: 201,
      body: {
        commit: { message: 'Create src/new.ts' },
        results: [{ op: 'write_file', path: 'src/new.ts', unchanged: false, warnings: [] }],
      },
    });
    expect((await file('src/new.ts', branch)).body).toMatchObject({
      content: text,
      sha: made.body.results[0].sha,
    });
    const replaced = await change({
      branch,
      actions: [write('run.sh', 'false\n', { sha: await shaOf('run.sh', branch) })],
    });
    expect(replaced.body.commit.message).toBe('Update run.sh');
    const { body } = await app.ask('GET', `${studio}/filetree?branch=${branch}&depth=1`);
    expect(body.tree).toContainEqual(expect.objectContaining({ path: 'run.sh', mode: '100755', size: 6 }));
  });

  it('writes beside entries in one commit, onto what the actions before it did', async () => {
    const branch = await ownBranch(app);
    const before = await countCommits(app, branch);
    const { status, body } = await change({
      branch,
      actions: [
        write('lib/b.ts', 'one\n'),
        post('en/with-code'),
        write('lib/b.ts', 'two\n'),
        { op: 'delete_media', path: 'lib/a.ts' },
      ],
    });
    expect({ status, body }).toMatchObject({ status: 201 });
    expect(await countCommits(app, branch)).toBe(before + 1);
    expect((await file('lib/b.ts', branch)).body.content).toBe('two\n');
    expect((await file('lib/a.ts', branch)).status).toBe(404);
  });

  it.each(['.gitignore', '.github/workflows/build.yml', '.env', '.gitattributes', 'Makefile', 'empty'])(
    'writes %s, as a push with manage_studio may',
    async (path) => {
      const branch = await ownBranch(app);
      const content = path === 'empty' ? '' : `${'a'.repeat(2047)}\n`;
      expect((await change({ branch, actions: [write(path, content)] })).status).toBe(201);
      expect((await file(path, branch)).body.content).toBe(content);
    },
  );

  it('takes text of 1 MiB, counted in bytes', async () => {
    const branch = await ownBranch(app);
    const content = `${'é'.repeat(limit / 2 - 1)}ab`;
    expect((await change({ branch, actions: [write('big.ts', content)] })).status).toBe(201);
    const answer = await change({ branch, actions: [write('bigger.ts', `${content}c`)] });
    expectRefusal(answer, 413, 'too_large', `actions.0.content: must be at most ${limit} bytes`);
  });

  it('begins a draft', async () => {
    const { status, body } = await app.ask('POST', `${studio}/drafts`, {
      body: { actions: [write('lib/a.ts', 'draft\n', { sha: await shaOf('lib/a.ts') })] },
    });
    expect({ status, body }).toMatchObject({ status: 201, body: { results: [{ op: 'write_file' }] } });
    expect((await file('lib/a.ts', body.branch.name)).body.content).toBe('draft\n');
    expect((await file('lib/a.ts', 'main')).body.content).toBe('one\n');
  });

  it('is taken back by a revert, from a change, a creation and a deletion', async () => {
    const branch = await ownBranch(app);
    const revert = (commit: string) =>
      app.ask('POST', `${studio}/revert`, { body: { branch, path: 'lib/a.ts', commit } });
    const changed = await change({
      branch,
      actions: [write('lib/a.ts', 'two\n', { sha: await shaOf('lib/a.ts', branch) })],
    });
    expect((await revert(changed.body.commit.sha)).body).toMatchObject({ deleted: false, unchanged: false });
    expect((await file('lib/a.ts', branch)).body.content).toBe('one\n');
    const deleted = await change({ branch, actions: [{ op: 'delete_media', path: 'lib/a.ts' }] });
    expect((await revert(deleted.body.commit.sha)).body).toMatchObject({ deleted: false });
    expect((await file('lib/a.ts', branch)).body.content).toBe('one\n');
  });
});

it('200: makes no commit for the bytes that are there', async () => {
  const sha = await shaOf('lib/a.ts');
  const { status, body } = await change({ actions: [write('lib/a.ts', 'one\n', { sha })] });
  expect({ status, body }).toMatchObject({
    status: 200,
    body: { commit: null, unchanged: true, results: [{ sha, unchanged: true }] },
  });
});

describe('400', () => {
  it.each([
    ['without a text', { op: 'write_file', path: 'a' }, 'actions.0.content: is required'],
    ['with NUL', write('a', 'a\u0000b'), 'actions.0.content: must not contain NUL'],
    ['with half of a pair', write('a', '\ud800'), /^actions\.0\.content: must be well-formed Unicode/],
    ['with a backslash', write('a\\b', ''), 'actions.0.path: must not contain a backslash'],
    ['that leads out', write('../a', ''), /^actions\.0\.path: must not contain the segment/],
    ['that is absolute', write('/a', ''), /^actions\.0\.path: must not start/],
    ['that is a directory', write('a/', ''), /^actions\.0\.path: must not start or end/],
    ['that is empty', write('', ''), 'actions.0.path: must not be empty'],
    ['in .git', write('.git/config', ''), 'actions.0.path: must not contain a segment that names .git'],
    ['in .GIT of a module', write('a/.GIT. /x', ''), /^actions\.0\.path: must not contain a segment that names/],
    ['in git~1', write('git~1/x', ''), /^actions\.0\.path: must not contain a segment that names/],
    ['with a control character', write('a\nb', ''), 'actions.0.path: must not contain control characters'],
    ['of 65 levels', write(Array(65).fill('a').join('/'), ''), /^actions\.0\.path: must be at most 64 segments/],
    ['with a name of 256 bytes', write('a'.repeat(256), ''), /^actions\.0\.path: must not contain a segment of more/],
  ])('for one %s', async (_what, action, message) => {
    const answer = await change({ actions: [action] });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
  });
});

describe('403', () => {
  it('without manage_studio, before anything is done; deletions need delete_studio too', async () => {
    const token = await app.makeToken(['edit_studio', 'delete_studio']);
    const sha = await shaOf('lib/a.ts');
    for (const action of [write('lib/a.ts', 'x', { sha }), write('new.ts', 'x')]) {
      const answer = await change({ actions: [post('en/never'), action] }, { token });
      expectRefusal(answer, 403, 'forbidden', 'Missing permission: manage_studio');
      const draft = await app.ask('POST', `${studio}/drafts`, { body: { actions: [action] }, token });
      expectRefusal(draft, 403, 'forbidden', 'Missing permission: manage_studio');
    }
    const deletion = { op: 'delete_media', path: 'lib/a.ts' };
    expectRefusal(
      await change({ actions: [deletion] }, { token }),
      403,
      'forbidden',
      'actions.0: Missing permission: manage_studio',
    );
    const manager = await app.makeToken(['edit_studio', 'manage_studio']);
    const branch = await ownBranch(app);
    expect((await change({ branch, actions: [write('new.ts', 'x')] }, { token: manager })).status).toBe(201);
    expectRefusal(
      await change({ branch, actions: [deletion] }, { token: manager }),
      403,
      'forbidden',
      'Missing permission: delete_studio',
    );
  });
});

describe('409', () => {
  it('for a version that another writer has replaced or deleted', async () => {
    const branch = await ownBranch(app);
    const sha = await shaOf('lib/a.ts', branch);
    await commitTo(app, branch, { 'lib/a.ts': 'theirs\n' });
    const action = write('lib/a.ts', 'mine\n', { sha });
    const answer = await change({ branch, actions: [action] });
    expectRefusal(answer, 409, 'sha_mismatch', /^actions\.0\.sha: .* has changed since it was read/);
    expect(answer.body.details.current_sha).toBe(await shaOf('lib/a.ts', branch));
    await change({ branch, actions: [{ op: 'delete_media', path: 'lib/a.ts' }] });
    const gone = await change({ branch, actions: [action] });
    expectRefusal(gone, 409, 'sha_mismatch', 'actions.0.sha: the file has been deleted since it was read');
  });

  it('lets one of two writers of the same version through', async () => {
    const branch = await ownBranch(app);
    const sha = await shaOf('lib/a.ts', branch);
    const answers = await Promise.all(
      ['x\n', 'y\n'].map((text) => change({ branch, actions: [write('lib/a.ts', text, { sha })] })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  it('for a file that is there and not named by version, also where two make it', async () => {
    const answer = await change({ actions: [write('lib/a.ts', 'x')] });
    expectRefusal(answer, 409, 'already_exists', /^actions\.0\.path: lib\/a\.ts exists; sha must name/);
    expectRefusal(await change({ actions: [write('lib', 'x')] }), 409, 'already_exists', /lib is a directory/);
    const branch = await ownBranch(app);
    const twice = await Promise.all(['x', 'y'].map((text) => change({ branch, actions: [write('lib/c.ts', text)] })));
    expect(twice.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  it('for a name that differs from another one only in case or normalisation', async () => {
    for (const path of ['LIB/b.ts', 'lib/A.ts', 'nfd/caf\u00e9.txt']) {
      const answer = await change({ actions: [write(path, 'x')] });
      expectRefusal(answer, 409, 'name_collision', /^actions\.0\.path: .* only in case or normalisation/);
    }
    const branch = await ownBranch(app);
    const path = 'nfd/cafe\u0301.txt';
    const own = write(path, 'x', { sha: await shaOf(path, branch) });
    expect((await change({ branch, actions: [own] })).body.results).toMatchObject([{ path }]);
  });

  it('beside a directory that is alike for what that one has, and nothing else', async () => {
    const branch = await ownBranch(app);
    await commitTo(app, branch, { 'LIB/deep/c.ts': 'c' });
    expect((await change({ branch, actions: [write('lib/new.ts', 'x')] })).body.results).toMatchObject([
      { path: 'lib/new.ts' },
    ]);
    for (const [path, differs] of [
      ['LIB/A.ts', 'A.ts differs from a.ts'],
      ['LIB/a.ts', 'LIB/a.ts differs from lib/a.ts'],
      ['lib/deep/new.ts', 'lib/deep differs from LIB/deep'],
    ] as const)
      expectRefusal(
        await change({ branch, actions: [write(path, 'x')] }),
        409,
        'name_collision',
        `actions.0.path: ${differs} only in case or normalisation`,
      );
  });
});

describe('422', () => {
  it.each([
    ['an entry', 'src/content/posts/en/alpha.md', /is an entry; write it as one/],
    ['a new entry', 'src/content/posts/en/none.md', /is an entry; write it as one/],
    ['media', 'public/logo.svg', /is a file of media; upload it/],
    ['new media', 'public/notes.txt', /is a file of media; upload it/],
    ['a symlink', 'link', /is a symlink or submodule/],
    ['what lies behind one', 'away/a.ts', /^actions\.1\.path: away is a symlink or submodule/],
    ['what lies below a file', 'lib/a.ts/b', /lib\/a\.ts is a file, not a directory/],
    ['submodules', '.gitmodules', /push it with git/],
    ['submodules in disguise', 'x/.g\u200citmodules', /push it with git/],
    ['submodules by a short name', 'GITMOD~1', /push it with git/],
  ])('for %s', async (_what, path, message) => {
    const sha = (await file(path, 'main')).body.sha;
    const answer = await change({ actions: [of('update', 'en/alpha', {}), write(path, 'x', sha && { sha })] });
    expectRefusal(answer, 422, 'not_editable', message);
    expect(answer.body.details.errors).toMatchObject([{ field: '/actions/1/path', code: 'not_editable' }]);
  });

  it('for a line of attributes that git does not read', async () => {
    const answer = await change({ actions: [write('a/.gitattributes', `x\n${'a'.repeat(2048)}`)] });
    expectRefusal(answer, 422, 'not_editable', 'actions.0.content: must have lines of at most 2047 bytes for git');
  });

  it.each(['con', 'a./b', 'aux.ts', 'x '])('for the unwise new name %j', async (path) => {
    expectRefusal(await change({ actions: [write(path, '')] }), 422, 'invalid_name', /^actions\.0\.path: /);
  });
});

describe('the kind of a file', () => {
  it.each([
    ['src/content/posts/en/alpha.md', { kind: 'entry', entry: { collection: 'posts', slug: 'en/alpha' } }],
    ['public/logo.svg', { kind: 'media' }],
    ['lib/a.ts', { kind: 'other' }],
    ['link', { kind: 'other' }],
  ])('of %s', async (path, kind) => {
    expect((await file(path, 'main', '&include=kind')).body).toMatchObject(kind);
    expect((await file(path, 'main')).body).not.toHaveProperty('kind');
  });

  it('has a tag of its own, which changes with the tree', async () => {
    const branch = await ownBranch(app);
    const tag = async (query = '') => (await file('lib/a.ts', branch, query)).headers.get('etag');
    const [plain, kind] = [await tag(), await tag('&include=kind')];
    expect(kind).not.toBe(plain);
    await commitTo(app, branch, { 'lib/z.ts': 'z\n' });
    expect(await tag()).toBe(plain);
    expect(await tag('&include=kind')).not.toBe(kind);
  });
});

it('a directory with many spellings is looked for in a hundred of them at most', async () => {
  const { store } = testStore();
  const repository = await store.create('site', 'main');
  const spellings = (levels: number): string[] =>
    levels === 0 ? [''] : spellings(levels - 1).flatMap((below) => ['a/', 'A/'].map((name) => name + below));
  await save(repository, Object.fromEntries(spellings(7).map((directory) => [`${directory}x.md`, 'x'])));
  const head = await repository.snapshot(await repository.head('main'));
  const free = (directory: string) => checkFree(head, `${directory}new.md`, 'path');
  await expect(free('a/'.repeat(6))).resolves.toBeUndefined();
  await expect(free('a/'.repeat(7))).rejects.toMatchObject({
    code: 'name_collision',
    message: 'path: a/a/a/a/a/a/a is there in more than 100 spellings; rename some',
  });
});
