import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { GitRepository } from '../../src/engines/git/repository.ts';
import { RepositoryReads } from '../../src/engines/git/repository-reads.ts';
import { acme, shared, startTestApp } from '../support/app.ts';
import { commitTo, post, postPath, seedPosts } from '../support/conflict-site.ts';
import { expectRefusal } from '../support/refusal.ts';

const fields = { title: 'A', description: 'Text', draft: false, tags: ['one'] };
const app = shared(startTestApp);
let project: string;
let studio: string;
let made = 0;

/** Each test has a site of its own, with a branch `topic` beside `main`. */
beforeEach(async () => {
  project = `site-${++made}`;
  studio = `${acme}/projects/${project}/studio`;
  await app.run(createProject, { organization: 'acme', name: project, machine_name: project });
  await seedPosts(app, project);
  await app.ask('POST', `${studio}/branches`, { body: { name: 'topic' } });
});

const commit = (branch: string, files: Record<string, string | null>) => commitTo(app, branch, files, project);
const merge = (body: object, headers = {}) =>
  app.ask('POST', `${studio}/merge`, { body: { head: 'topic', ...body }, headers });
const headOf = async (branch: string) => (await app.repository(project)).head(branch);
const entry = async (slug: string) => (await app.ask('GET', `${studio}/collections/posts/${slug}?raw=true`)).body;

async function clash() {
  const base_sha = await commit('main', { [postPath('a')]: post({ ...fields, title: 'Ours' }) });
  const head_sha = await commit('topic', { [postPath('a')]: post({ ...fields, title: 'Theirs' }) });
  return { base_sha, head_sha };
}

describe('a dry run whose merge takes git long', () => {
  /** git is at the merge until it is ended. @returns why, and the signal it was given, once it has begun */
  function endless() {
    const begun = Promise.withResolvers<AbortSignal | undefined>();
    const ended = Promise.withResolvers<unknown>();
    const spy = vi.spyOn(RepositoryReads.prototype, 'mergeTrees').mockImplementation(async (_one, _other, signal) => {
      begun.resolve(signal);
      if (!signal) throw new Error('nothing ends it');
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      ended.resolve(signal.reason);
      throw signal.reason;
    });
    onTestFinished(() => spy.mockRestore());
    return { begun: begun.promise, ended: ended.promise };
  }

  it('is ended after 10 s', async () => {
    await clash();
    const { begun } = endless();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => timers.mockRestore());
    const answer = merge({ dry_run: true });
    expect(await begun).toBeDefined();
    for (const [over, time] of timers.mock.calls) if (time === 10_000 && over.name === 'over') over();
    expectRefusal(await answer, 503, 'git_timeout', 'git took too long and was stopped');
  });

  it('is ended when its client goes away', async () => {
    await clash();
    const { begun, ended } = endless();
    const gone = new AbortController();
    const answer = fetch(`${app.url}${studio}/merge`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${app.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ head: 'topic', dry_run: true }),
      signal: gone.signal,
    });
    expect(await begun).toBeDefined();
    gone.abort();
    await expect(answer).rejects.toThrow();
    expect(await ended).toBeDefined();
  });
});

describe('201', () => {
  it('merges keys of one entry that git calls a conflict', async () => {
    const ours = await commit('main', { [postPath('a')]: post({ ...fields, title: 'Ours' }) });
    const theirs = await commit('topic', {
      [postPath('a')]: post({ ...fields, description: 'Theirs' }),
      [postPath('b')]: null,
    });
    const { status, headers, body } = await merge({ message: 'Bring it in' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      merged: true,
      up_to_date: false,
      dry_run: false,
      strategy: 'merge',
      commit: { parents: [ours, theirs], message: expect.stringMatching(/^Bring it in/) },
      resolved: [{ path: postPath('a'), collection: 'posts', slug: 'a', fields: ['/title', '/description'] }],
    });
    expect(headers.get('x-commit-sha')).toBe(body.sha);
    expect(await headOf('main')).toBe(body.sha);
    expect((await entry('a')).raw).toBe(post({ ...fields, title: 'Ours', description: 'Theirs' }));
    expect((await app.ask('GET', `${studio}/collections/posts/b`)).status).toBe(404);
  });

  it('squashes into one commit with one parent', async () => {
    const ours = await commit('main', { 'x.css': 'x' });
    await commit('topic', { 'y.css': 'y' });
    await commit('topic', { 'z.css': 'z' });
    const { status, body } = await merge({ strategy: 'squash' });
    expect(status).toBe(201);
    expect(body.commit).toMatchObject({
      parents: [ours],
      message: expect.stringMatching(/^Squash branch 'topic' into main/),
    });
    expect((await app.ask('GET', `${studio}/file?path=z.css`)).body.content).toBe('z');
  });

  it('fast-forwards', async () => {
    const theirs = await commit('topic', { 'y.css': 'y' });
    const { status, body } = await merge({ strategy: 'ff' });
    expect(status).toBe(201);
    expect(body).toMatchObject({ merged: true, sha: theirs, commit: { sha: theirs } });
    expect(await headOf('main')).toBe(theirs);
  });

  it('takes resolutions of the heads they were made for', async () => {
    const heads = await clash();
    const resolutions = [{ path: postPath('a'), fields: { '/title': { value: 'Both' } } }];
    const { status, body } = await merge({ ...heads, resolutions });
    expect({ status, body }).toMatchObject({ status: 201, body: { merged: true } });
    expect((await entry('a')).title).toBe('Both');
  });

  it('takes resolutions with the stages they were shown with', async () => {
    await clash();
    const [{ path, stages }] = (await merge({})).body.details.conflicts;
    const { status } = await merge({ resolutions: [{ path, stages, take: 'incoming' }] });
    expect(status).toBe(201);
    expect((await entry('a')).title).toBe('Theirs');
  });

  it('merges once for one idempotency key', async () => {
    await commit('topic', { 'y.css': 'y' });
    const [first, again] = [await merge({}, { 'Idempotency-Key': 'k' }), await merge({}, { 'Idempotency-Key': 'k' })];
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body.sha).toBe(first.body.sha);
  });
});

describe('200', () => {
  it('when there is nothing to merge', async () => {
    const { status, body } = await merge({});
    expect(status).toBe(200);
    expect(body).toMatchObject({ merged: false, up_to_date: true, reason: 'up_to_date', commit: null });
    expect((await merge({ head: 'main' })).status).toBe(200);
  });

  it('for a dry run, which moves nothing', async () => {
    const { base_sha } = await clash();
    const { status, body } = await merge({ dry_run: true });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      merged: false,
      dry_run: true,
      mergeable: false,
      conflicts: [
        { path: postPath('a'), fields: [{ field: '/title', base: 'A', current: 'Ours', incoming: 'Theirs' }] },
      ],
    });
    const { stages } = body.conflicts[0];
    const settled = await merge({ dry_run: true, resolutions: [{ path: postPath('a'), stages, take: 'current' }] });
    expect(settled.body).toMatchObject({ mergeable: true, conflicts: [] });
    expect((await merge({ dry_run: true, strategy: 'ff' })).body.mergeable).toBe(false);
    expect(await headOf('main')).toBe(base_sha);
  });
});

describe('409', () => {
  it('merge_conflict with what is in conflict, and what is left of it', async () => {
    await commit('main', { [postPath('a')]: post({ ...fields, title: 'Ours', description: 'Ours' }) });
    await commit('topic', { [postPath('a')]: post({ ...fields, title: 'Theirs', description: 'Theirs' }) });
    const answer = await merge({});
    expectRefusal(answer, 409, 'merge_conflict', '1 file is in conflict');
    const [{ path, stages, fields: open }] = answer.body.details.conflicts;
    expect(open.map(({ field }: { field: string }) => field)).toEqual(['/title', '/description']);
    const partial = await merge({ resolutions: [{ path, stages, fields: { '/title': { take: 'incoming' } } }] });
    expect(partial.body).toMatchObject({
      code: 'merge_conflict',
      details: { conflicts: [{ fields: [{ field: '/description' }] }] },
    });
  });

  it('branch_moved with fresh conflicts when a head is not the one that was seen', async () => {
    const { base_sha } = await clash();
    const answer = await merge({ head_sha: base_sha });
    expectRefusal(answer, 409, 'branch_moved', /^head_sha: /);
    expect(answer.body.details).toMatchObject({ base_sha, conflicts: [{ path: postPath('a') }] });
    const stages = { base: null, current: null, incoming: null };
    const stale = await merge({ resolutions: [{ path: postPath('a'), stages, take: 'current' }] });
    expectRefusal(stale, 409, 'branch_moved', /^resolutions: /);
    expect(stale.body.details.conflicts).toHaveLength(1);
  });

  it('name_collision for names of either side that are one on some file systems, whatever the caller may do', async () => {
    const base_sha = await commit('main', { [postPath('Zed')]: post(fields), 'src/old.css': '1', 'src/OLD.css': '2' });
    await commit('topic', { [postPath('zed')]: post(fields) });
    const message =
      /posts\/zed\.md of the head differs from .*posts\/Zed\.md of the base only in case.*rename one of them/;
    const token = await app.makeToken(['browse_studio', 'edit_studio']);
    const pull = await app.ask('POST', `${studio}/pulls`, { body: { title: 'x', head: 'topic' } });
    for (const more of [{ token }, {}]) {
      for (const body of [{}, { strategy: 'squash' }, { dry_run: true }])
        expectRefusal(
          await app.ask('POST', `${studio}/merge`, { body: { head: 'topic', ...body }, ...more }),
          409,
          'name_collision',
          message,
        );
      const merged = await app.ask('POST', `${studio}/pulls/${pull.body.number}/merge`, { body: {}, ...more });
      expectRefusal(merged, 409, 'name_collision', message);
    }
    expect(await headOf('main')).toBe(base_sha);
    await commit('topic', { [postPath('zed')]: null, [postPath('other')]: post(fields) });
    expect((await merge({})).status).toBe(201);
  });

  it('name_collision only once what settles a conflict has left both names', async () => {
    await commit('main', { [postPath('zed')]: post(fields) });
    await commit('topic', { [postPath('Zed')]: post(fields) });
    const { base_sha, head_sha } = await clash();
    const dry = await merge({ dry_run: true });
    expect(dry.status).toBe(200);
    expect(dry.body.conflicts).toMatchObject([{ path: postPath('a') }]);
    const resolutions = [{ path: postPath('a'), take: 'current' }];
    const settled = { resolutions, base_sha, head_sha };
    expectRefusal(await merge({ ...settled, dry_run: true }), 409, 'name_collision', /posts\/Zed\.md of the head/);
    expectRefusal(await merge(settled), 409, 'name_collision', /posts\/Zed\.md of the head/);
  });

  it('not_fast_forward', async () => {
    await clash();
    expectRefusal(await merge({ strategy: 'ff' }), 409, 'not_fast_forward', /./);
  });
});

describe('403', () => {
  it('branch_protected when only pull requests move the base', async () => {
    await app.ask('PATCH', `${studio}/repository`, { body: { protected_branches: ['main'], require_pull: true } });
    await commit('topic', { 'y.css': 'y' });
    expectRefusal(await merge({}), 403, 'branch_protected', /^main is protected/);
    expect((await merge({ dry_run: true })).status).toBe(200);
  });

  it('for another author without manage_studio', async () => {
    const token = await app.makeToken(['edit_studio']);
    const body = { head: 'topic', author: { name: 'X', email: 'x@example.org' } };
    expect((await app.ask('POST', `${studio}/merge`, { body, token })).status).toBe(403);
  });
});

describe('400, 404 and 422', () => {
  it.each([
    [{ strategy: 'octopus' }, 400, 'invalid_request'],
    [{ head: undefined }, 400, 'invalid_request'],
    [{ head: 'nothing' }, 404, 'not_found'],
    [{ base: 'nothing' }, 404, 'not_found'],
    [{ head: 'a..b' }, 422, 'invalid_name'],
    [{ head: '--help' }, 404, 'not_found'],
  ])('%j is %i', async (body, status, code) => {
    expectRefusal(await merge(body), status, code, /^[a-z]+: /);
  });

  it('422 for resolutions of what is not in conflict', async () => {
    await clash();
    const stages = (await merge({})).body.details.conflicts[0].stages;
    for (const resolution of [
      { path: 'nothing.md', take: 'current' },
      { path: postPath('a'), take: 'current' },
      { path: postPath('a'), stages, fields: { '/nothing': { take: 'current' } } },
    ])
      expectRefusal(await merge({ resolutions: [resolution] }), 422, 'validation_failed', /^resolutions: /);
  });
});

describe('what settles a conflict in an entry', () => {
  const path = 'notes/a.md';
  const note = (title: string, more: object = {}) => post({ title, views: 'many', ...more });
  beforeEach(async () => {
    const declared = ['{ name: title, type: string }', '{ name: views, type: number }', '{ name: day, type: date }'];
    await commit('main', {
      '.pages.yml': `content: [{ name: notes, type: collection, path: notes, fields: [${declared.join(', ')}] }]\n`,
      [path]: note('One'),
    });
    expect((await merge({ head: 'main', base: 'topic', strategy: 'ff' })).status).toBe(201);
    await commit('main', { [path]: note('Two') });
    await commit('topic', { [path]: note('Three') });
  });
  const settle = async (way: object) => {
    const { body } = await merge({ dry_run: true });
    const { stages, hunks } = body.conflicts[0];
    const of = typeof way === 'function' ? way(hunks) : way;
    return merge({ resolutions: [{ path, stages, ...of }] });
  };
  const onMain = async () => (await app.ask('GET', `${studio}/file?path=${path}`)).body.content;

  it.each([
    [
      { fields: { '/title': { value: { a: 5 } } } },
      '/resolutions/0/fields/~1title',
      'resolutions.0.fields./title: must be text',
    ],
    [{ raw: note('Four', { day: 'never' }) }, '/resolutions/0/raw', 'resolutions.0.raw: day must be '],
  ])('is held against the schema as a save is: %j', async (way, field, message) => {
    const refused = await settle(way);
    expect(refused.status).toBe(422);
    expect(refused.body.code).toBe('validation_failed');
    expect(refused.body.details.errors).toEqual([
      { field, code: expect.any(String), message: expect.stringContaining(message) },
    ]);
    expect(await onMain()).toBe(note('Two'));
  });

  it('may leave the faults that both sides have', async () => {
    expect((await settle({ fields: { '/title': { value: 'Four' } } })).status).toBe(201);
    expect(await onMain()).toBe(note('Four'));
  });

  it('makes no longer entry than a save may', async () => {
    const [ours, theirs] = [post({ title: 'Two' }, 'Ours\n'), post({ title: 'Two' }, 'Theirs\n')];
    await commit('main', { [path]: ours });
    await commit('topic', { [path]: theirs });
    const long = 'x'.repeat(5 * 1024 * 1024 + 1);
    const byHunk = await settle((hunks: { id: string }[]) => ({ hunks: { [hunks[0]?.id ?? '']: { value: long } } }));
    expectRefusal(byHunk, 413, 'too_large', /^resolutions\.0: the entry would have /);
    expectRefusal(await settle({ raw: long }), 413, 'too_large', /^resolutions\.0: the entry would have /);
    expect(await onMain()).toBe(ours);
  });
});

describe('GraphQL', () => {
  const mutate = async (input: string) => {
    const query = `mutation { mergeBranches(organization: "acme", project: "${project}", input: ${input}) {
      merged sha conflicts { path fields { field } } } }`;
    return (await app.ask('POST', '/graphql', { body: { query } })).body;
  };

  it('gives conflicts as data', async () => {
    await clash();
    const { data, errors } = await mutate('{ head: "topic" }');
    expect(errors).toBeUndefined();
    expect(data.mergeBranches).toEqual({
      merged: false,
      sha: null,
      conflicts: [{ path: postPath('a'), fields: [{ field: '/title' }] }],
    });
  });

  it('merges', async () => {
    await commit('topic', { 'y.css': 'y' });
    expect((await mutate('{ head: "topic", strategy: squash }')).data.mergeBranches).toMatchObject({ merged: true });
  });

  it('refuses all else as an error', async () => {
    expect((await mutate('{ head: "nothing" }')).errors).toHaveLength(1);
  });
});

it('loses neither of two merges into one branch at the same time', async () => {
  await app.ask('POST', `${studio}/branches`, { body: { name: 'second' } });
  await commit('topic', { 'y.css': 'y' });
  await commit('second', { 'z.css': 'z' });
  const answers = await Promise.all([merge({}), merge({ head: 'second' })]);
  expect(answers.map(({ status }) => status)).toEqual([201, 201]);
  for (const name of ['y', 'z'])
    expect((await app.ask('GET', `${studio}/file?path=${name}.css`)).body.content).toBe(name);
});

describe('a merge that takes git long', () => {
  const { mergeTrees } = RepositoryReads.prototype;
  afterEach(() => vi.restoreAllMocks());

  /** Does something before each merge of trees. @returns how many there were */
  function onMerge(act: (merges: number, signal: AbortSignal | undefined) => Promise<unknown>) {
    let merges = 0;
    vi.spyOn(RepositoryReads.prototype, 'mergeTrees').mockImplementation(async function (
      this: RepositoryReads,
      ...given
    ) {
      await act(++merges, given[2]);
      return mergeTrees.apply(this, given);
    });
    return () => merges;
  }
  /** Waits until the turn of the merge is over. */
  const over = (signal: AbortSignal | undefined) =>
    new Promise<void>((_, reject) => {
      if (!signal) throw new Error('nothing ends it');
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  const moveMain = (n: number) => commit('main', { 'moved.css': `${n}` });
  async function change() {
    await commit('main', { [postPath('a')]: post({ ...fields, title: 'Ours' }) });
    await commit('topic', { [postPath('a')]: post({ ...fields, description: 'Theirs' }) });
  }

  it('is made ahead of its turn, and others write meanwhile', async () => {
    await change();
    let moved: string | undefined;
    onMerge(async (n, signal) => {
      if (n === 1) await over(signal);
      if (n === 2) moved = await moveMain(n);
    });
    const { body } = await merge({});
    expect(body).toMatchObject({ merged: true, commit: { parents: [moved, await headOf('topic')] } });
    expect((await entry('a')).raw).toBe(post({ ...fields, title: 'Ours', description: 'Theirs' }));
  });

  it.each([
    ['conflicts', {}, 'merge_conflict'],
    ['heads that have moved', { head_sha: '1'.repeat(40) }, 'branch_moved'],
  ])('is refused for %s ahead of its turn', async (_why, input, code) => {
    await clash();
    const merges = onMerge(async (n, signal) => (n === 1 ? over(signal) : moveMain(n)));
    const { status, body } = await merge(input);
    expect({ status, body }).toMatchObject({ status: 409, body: { code, details: { conflicts: [{}] } } });
    expect(merges()).toBe(2);
  });

  it('is made ahead of its turn again where the base has moved', async () => {
    await change();
    let late = 0;
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + late);
    const ahead = vi.spyOn(GitRepository.prototype, 'writeOnto');
    const merges = onMerge(async (n, signal) => {
      if (n === 1) await over(signal);
      if (n !== 2) return;
      late = 1_100;
      await moveMain(n);
    });
    expect((await merge({})).status).toBe(201);
    expect(merges()).toBe(3);
    expect(ahead).toHaveBeenCalledTimes(2);
  });
});

describe("files of git's settings", () => {
  const module = (url: string, more = '') => `[submodule "x"]\n\tpath = x\n${more}\turl = ${url}\n`;
  const conflictOf = async () => (await merge({})).body.details.conflicts[0];

  it('that name submodules are not written by a resolution', async () => {
    await commit('main', { '.gitmodules': module('https://a.test/a') });
    await commit('topic', { '.gitmodules': module('https://b.test/b') });
    const { path, stages, reason } = await conflictOf();
    expect({ path, reason }).toMatchObject({ path: '.gitmodules', reason: expect.stringContaining('submodules') });
    const raw = '[submodule "../../x"]\n\tpath = x\n\turl = -u./payload\n';
    expectRefusal(await merge({ resolutions: [{ path, stages, raw }] }), 422, 'validation_failed', /submodules/);
    expect((await merge({ resolutions: [{ path, stages, take: 'incoming' }] })).status).toBe(201);
  });

  it('that name submodules are not joined by lines', async () => {
    const lines = '\\\n\\\n\\\n\\\n\\\n';
    const text = (key: string, url: string) => `[submodule "x"]\n\tpath = x\n\t${key} = ${lines}${url}\n`;
    await commit('main', { '.gitmodules': text('foo', 'https://a.test/a') });
    await app.ask('POST', `${studio}/branches`, { body: { name: 'other' } });
    await commit('main', { '.gitmodules': text('foo', '-u./payload') });
    await commit('other', { '.gitmodules': text('url', 'https://a.test/a') });
    const { status, body } = await merge({ head: 'other' });
    expect(status).toBe(409);
    const [{ path, stages }] = body.details.conflicts;
    expect(path).toBe('.gitmodules');
    const taken = await merge({ head: 'other', resolutions: [{ path, stages, take: 'incoming' }] });
    expect(taken.status).toBe(201);
    const { content } = (await app.ask('GET', `${studio}/file?path=.gitmodules`)).body;
    expect(content).toBe(text('url', 'https://a.test/a'));
  });

  it.each([
    [2_047, 201],
    [2_048, 422],
  ])('that hold attributes may have a line of %i bytes from a resolution: %i', async (length, status) => {
    await commit('main', { '.gitattributes': '*.a text\n' });
    await commit('topic', { '.gitattributes': '*.b text\n' });
    const { path, stages } = await conflictOf();
    const raw = `${'a'.repeat(length)}\n`;
    expect((await merge({ resolutions: [{ path, stages, raw }] })).status).toBe(status);
  });
});
