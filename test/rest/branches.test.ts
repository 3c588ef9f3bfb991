import { beforeAll, describe, expect, it, vi } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { RepositoryReads } from '../../src/engines/git/repository-reads.ts';
import { acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
let first: string;
let tip: string;
beforeAll(async () => {
  first = await seed(app, siteFiles);
  tip = await seed(app, { 'second.md': '2\n' });
});

const branches = `${studio}/branches`;
const make = (body: object) => app.ask('POST', branches, { body });

describe('201', () => {
  it('begins at the default branch', async () => {
    const { status, headers, body } = await make({ name: 'topic' });
    expect({ status, body }).toEqual({
      status: 201,
      body: { name: 'topic', default: false, protected: false, commit: tip, can_commit: { allowed: true } },
    });
    expect(headers.get('location')).toBe(`${branches}/topic`);
    expect(headers.get('x-commit-sha')).toBeNull();
  });

  it('is a draft with a title as it was typed, on the branch it begins at', async () => {
    const { status, body } = await make({ name: 'Spring-colours', title: 'Spring: colours', from: 'topic' });
    expect({ status, draft: body.draft }).toMatchObject({
      status: 201,
      draft: { title: 'Spring: colours', base: 'topic', own: true },
    });
    const listed = (await app.ask('GET', branches)).body.find(
      ({ name }: { name: string }) => name === 'Spring-colours',
    );
    expect(listed.draft.title).toBe('Spring: colours');
    expect((await make({ name: 'long', title: 'x'.repeat(201) })).status).toBe(400);
    expect((await make({ name: 'longest', title: 'x'.repeat(200) })).status).toBe(201);
  });

  it('begins at a branch or at a commit', async () => {
    expect((await make({ name: 'early', from: first })).body.commit).toBe(first);
    expect((await make({ name: 'early-too', from: 'early' })).body.commit).toBe(first);
  });

  it.each(['a/b', 'ünï', 'a#b', 'release-1.0', "it's"])('takes the name %s', async (name) => {
    const { status, headers } = await make({ name });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`${branches}/${name.split('/').map(encodeURIComponent).join('/')}`);
    expect((await app.ask('GET', `${studio}/collections?branch=${encodeURIComponent(name)}`)).status).toBe(200);
  });

  it('is made once for an idempotency key', async () => {
    const ask = () => app.ask('POST', branches, { body: { name: 'keyed' }, headers: { 'Idempotency-Key': 'b' } });
    const [one, two] = [await ask(), await ask()];
    expect([one.status, two.status]).toEqual([201, 201]);
    expect(two.body).toEqual(one.body);
  });
});

describe('200', () => {
  it('lists the default branch first, then by name', async () => {
    const { body } = await app.ask('GET', `${branches}?per_page=100`);
    const [main, ...names] = body.map(({ name }: { name: string }) => name);
    expect(main).toBe('main');
    expect(names).toEqual([...names].sort());
    expect(body[0]).toEqual({
      name: 'main',
      default: true,
      protected: false,
      commit: tip,
      can_commit: { allowed: true },
    });
  });

  it('shows one branch by its name', async () => {
    await make({ name: 'deep/one', from: first });
    const { status, body } = await app.ask('GET', `${branches}/deep/one?compare=true`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ name: 'deep/one', commit: first, ahead_by: 0, behind_by: 1 });
    expectRefusal(await app.ask('GET', `${branches}/nowhere`), 404, 'not_found', 'name: branch nowhere does not exist');
  });

  it('compares on request', async () => {
    const { body } = await app.ask('GET', `${branches}?compare=true&q=early`);
    expect(body).toEqual([
      expect.objectContaining({ name: 'early', ahead_by: 0, behind_by: 1 }),
      expect.objectContaining({ name: 'early-too', ahead_by: 0, behind_by: 1 }),
    ]);
  });

  it('leaves out how far a branch is apart where counting takes too long', async () => {
    const counting = vi.spyOn(RepositoryReads.prototype, 'aheadBehind').mockImplementation(() => new Promise(() => {}));
    const list = async () => (await app.ask('GET', `${branches}?compare=true`)).body;
    const fields = (await list()).map((one: object) => 'ahead_by' in one || 'behind_by' in one);
    expect(new Set(fields)).toEqual(new Set([false]));
    counting.mockRestore();
    const apart = { ahead_by: expect.any(Number), behind_by: expect.any(Number) };
    for (const one of await list()) expect(one).toMatchObject(apart);
  });

  it('finds part of a name, whatever its case', async () => {
    expect((await app.ask('GET', `${branches}?q=RELEASE`)).body).toMatchObject([{ name: 'release-1.0' }]);
    expect((await app.ask('GET', `${branches}?q=.*`)).body).toEqual([]);
  });

  it('pages', async () => {
    const { headers, body } = await app.ask('GET', `${branches}?per_page=2&page=2`);
    expect(body).toHaveLength(2);
    expect(headers.get('link')).toContain('rel="prev"');
    expect((await app.ask('GET', `${branches}?page=1000`)).body).toEqual([]);
  });
});

describe('400', () => {
  it.each([
    ['name: is required', {}],
    ['name: must be a string', { name: 1 }],
    ['from: must be a string', { name: 'x', from: ['main'] }],
  ])('%s', async (message, body) => {
    expectRefusal(await make(body), 400, 'invalid_request', message);
  });
});

describe('404', () => {
  it.each(['nothing', '0'.repeat(40), 'a'.repeat(40)])('from %s, which is nowhere', async (from) => {
    expectRefusal(await make({ name: 'x', from }), 404, 'not_found', /^from: /);
  });
});

describe('409', () => {
  it('a name that is taken, or differs only in case', async () => {
    expectRefusal(await make({ name: 'main' }), 409, 'already_exists', 'name: branch main exists');
    expectRefusal(await make({ name: 'MAIN' }), 409, 'name_collision', /^name: /);
  });

  it('a name below a branch, or above one', async () => {
    await make({ name: 'deep/er' });
    expectRefusal(await make({ name: 'main/below' }), 409, 'name_collision', /^name: /);
    expectRefusal(await make({ name: 'deep' }), 409, 'name_collision', /^name: /);
  });

  it('all but one of many who make the same', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => make({ name: 'raced' })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
  });
});

describe('422', () => {
  it.each([
    ...[
      '',
      '-x',
      'refs/heads/x',
      'a'.repeat(40),
      '0'.repeat(64),
      '--upload-pack=id',
      'a b',
      'a..b',
      'a~1',
      'a^',
      'a:b',
      'a?',
      'a*',
      'a[b',
      'a\\b',
      'a@{b',
      'HEAD',
      'a.',
      '.a',
    ],
    ...['a/.b', 'a.lock', 'a.lock/b', '/a', 'a/', 'a//b', 'a\u0000', 'a\n', '\u007f', '\ud800', 'x'.repeat(251)],
  ])('name %j', async (name) => {
    expectRefusal(await make({ name }), 422, 'invalid_name', /^name: /);
  });

  it.each(['a..b', 'main~1', 'refs/heads/../main'])('from %j', async (from) => {
    expectRefusal(await make({ name: 'x', from }), 422, 'invalid_name', /^from: /);
  });
});

describe('the same name at the same time', () => {
  const make = (name: string, title?: string, token = app.token) =>
    app.ask('POST', `${studio}/branches`, { token, body: { name, ...(title !== undefined && { title }) } });

  it('is one draft, of the caller who got the name', async () => {
    const tokens = await Promise.all(Array.from({ length: 6 }, () => app.makeToken(['browse_studio', 'edit_studio'])));
    const answers = await Promise.all(tokens.map((token, at) => make('draft/at-once', `Title ${at}`, token)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(5).fill(409)]);
    const won = answers.findIndex(({ status }) => status === 201);
    const { body } = await app.ask('GET', `${studio}/branches/draft/at-once`);
    expect(body.draft.title).toBe(`Title ${won}`);
  });

  it('is one branch, also where names differ in case alone', async () => {
    const answers = await Promise.all(['at-once', 'At-Once', 'AT-ONCE', 'at-ONCE'].map((name) => make(name)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
  });
});

it('keeps no connections for branches that wait for others of their project', async () => {
  const { em } = app.services.orm;
  // Not in the transaction, which sees the activity of one moment.
  const waiting = () =>
    em.fork().execute(`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
  let made: ReturnType<typeof make>[] = [];
  await em.fork().transactional(async (holder) => {
    await holder.execute(`select 1 from project where machine_name = 'site' for no key update`);
    made = Array.from({ length: 12 }, (_, at) => make({ name: `many-${at}` }));
    await expect.poll(waiting).not.toHaveLength(0);
    for (let at = 0; at < 10; at += 1) expect((await app.ask('GET', `${acme}/projects`)).status).toBe(200);
    expect(await waiting()).toHaveLength(1);
  });
  expect((await Promise.all(made)).map(({ status }) => status)).toEqual(Array<number>(12).fill(201));
});

it('takes one connection each for branches of many projects, also when no rights are remembered', async () => {
  const names = Array.from({ length: 24 }, (_, at) => `many-${at}`);
  for (const machine_name of names) {
    await app.run(createProject, { organization: 'acme', name: machine_name, machine_name });
    await seed(app, { 'a.md': 'a' }, machine_name);
  }
  const made = await Promise.all(
    names.map((name) => app.ask('POST', `${acme}/projects/${name}/studio/branches`, { body: { name: 'topic' } })),
  );
  expect(made.map(({ status }) => status)).toEqual(names.map(() => 201));
});

it('is deleted by the ETag it was read with, and no longer when it has moved', async () => {
  const at = `${studio}/branches/tagged`;
  await app.ask('POST', `${studio}/branches`, { body: { name: 'tagged' } });
  const { headers, body } = await app.ask('GET', at);
  const etag = headers.get('etag') ?? '';
  expect(etag).toMatch(new RegExp(`^"${body.commit}\\.[0-9a-f]{8}"$`));
  expect((await app.ask('GET', at, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  const author = { name: 'Other', email: 'other@portico.test' };
  const changes = [{ path: 'moved.txt', content: Buffer.from('moved') }];
  const git = await app.repository();
  await git.write({ branch: 'tagged', author, plan: async () => ({ changes, message: 'Move', result: null }) });
  expect((await app.ask('DELETE', at, { headers: { 'If-Match': etag } })).status).toBe(412);
  const now = (await app.ask('GET', at)).headers.get('etag') ?? '';
  expect((await app.ask('DELETE', at, { headers: { 'If-Match': now } })).status).toBe(204);
});
