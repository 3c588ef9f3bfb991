import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Token } from '../../src/domain/identity/token.entity.ts';
import { hashToken } from '../../src/domain/identity/token-text.ts';
import { createProject, deleteProject } from '../../src/domain/projects/projects.operations.ts';
import { GitRepository } from '../../src/engines/git/repository.ts';
import { type Permission, permissionNames } from '../../src/kernel/actor.ts';
import { lookEvery } from '../../src/kernel/run.ts';
import { acme, metricsToken, seed, shared, startTestApp, studio } from '../support/app.ts';
import { commitTo } from '../support/conflict-site.ts';
import { makeCrawler, makeSnapshot } from '../support/crawlers/snapshots.ts';
import { client } from '../support/git-client.ts';
import { temporaryDirectory } from '../support/git-store.ts';
import { commitOf, emptyTreeEntry, oidOf, pack, pushOf } from '../support/packs.ts';

const app = shared(startTestApp);
beforeAll(() => seed(app, { 'content/posts/a.md': '---\ntitle: A\n---\n', 'public/b.txt': 'b' }));

/** Numbers the projects whose answers take their time. */
let slow = 0;

/** How many writers wait or write, as `/metrics` says. */
const writersIn = (metrics: string) => Number(/^portico_git_writers (\d+)$/m.exec(metrics)?.[1]);

interface Slow {
  path: string;
  type: string;
  body: Buffer;
}

/** Sends the first half of a body, and the other when `between` is done. @returns the answer, as text, and its status */
async function sendInHalves({ path, type, body }: Slow, between: (token: string) => Promise<unknown>) {
  const token = await app.makeToken(permissionNames);
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': type,
    accept: 'application/json, text/event-stream',
  };
  const sent = request(`${app.url}${path}`, { method: 'POST', headers });
  const answered = once(sent, 'response');
  sent.write(body.subarray(0, body.length / 2));
  await expect.poll(() => app.services.grants.isAccepted(hashToken(token))).toBe(true);
  await between(token);
  sent.end(body.subarray(body.length / 2));
  const [response] = await answered;
  return { status: response.statusCode, text: await text(response) };
}

async function revoke(token: string): Promise<void> {
  const { body } = await app.ask('GET', `${acme}/tokens?per_page=100`);
  const { id } = body.find(({ last4 }: { last4: string }) => token.endsWith(last4));
  expect((await app.ask('DELETE', `${acme}/tokens/${id}`)).status).toBe(200);
}

const json = (path: string, body: object): Slow => ({
  path,
  type: 'application/json',
  body: Buffer.from(JSON.stringify(body)),
});

const multipart = (name: string): Slow => ({
  path: `${studio}/media`,
  type: 'multipart/form-data; boundary=b',
  body: Buffer.from(
    `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: text/plain\r\n\r\n${'x'.repeat(1000)}\r\n--b--\r\n`,
  ),
});

const createEntry = `mutation ($input: CreateEntryInput!) {
  createEntry(organization: "acme", project: "site", input: $input) { slug }
}`;

const commit = commitOf();
const oid = oidOf('commit', commit.content);
const push = (branch: string): Slow => ({
  path: '/git/acme/site.git/git-receive-pack',
  type: 'application/x-git-receive-pack-request',
  body: pushOf(oid, [`refs/heads/${branch}`], pack([commit, emptyTreeEntry])),
});

const requests: [string, (name: string) => Slow][] = [
  ['REST', (slug) => json(`${studio}/collections/posts`, { slug, frontmatter: { title: 'x' }, body: 'x' })],
  ['an upload', (name) => multipart(`${name}.txt`)],
  [
    'GraphQL',
    (slug) =>
      json('/graphql', {
        query: createEntry,
        variables: { input: { collection: 'posts', slug, frontmatter: { title: 'x' }, body: 'x' } },
      }),
  ],
  ['a push', push],
];

/** Holds a branch by a write that does not end. @returns what ends it */
async function holding(branch: string): Promise<() => Promise<unknown>> {
  const git = await app.repository();
  let begun = () => {};
  const isHeld = new Promise<void>((resolve) => (begun = resolve));
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const first = git.write({
    branch,
    author: { name: 'First', email: 'first@portico.test' },
    plan: async () => {
      begun();
      await held;
      return { changes: [], message: 'First', result: null };
    },
  });
  await isHeld;
  return () => {
    release();
    return first;
  };
}

/** Takes a permission from a token. */
async function narrow(token: string, without: Permission): Promise<void> {
  const em = app.services.orm.em.fork();
  const permissions = permissionNames.filter((name) => name !== without);
  await em.nativeUpdate(Token, { hash: hashToken(token) }, { permissions });
  const { organization_id } = await em.findOneOrFail(Token, { hash: hashToken(token) });
  app.services.grants.evict(`organization:${organization_id}`);
}

describe('a write that waits for its turn', () => {
  /** Has a write wait behind another one of its branch while something happens. */
  async function queued(write: object, between: (token: string) => Promise<unknown>, path = 'collections/posts') {
    const token = await app.makeToken(permissionNames);
    const release = await holding('main');
    const gauge = () => app.ask('GET', '/metrics', { token: metricsToken }).then(({ body }) => writersIn(body));
    const answer = app.ask('POST', `${studio}/${path}`, { token, body: write });
    await expect.poll(gauge).toBe(2);
    await between(token);
    await release();
    return answer;
  }
  const draft = (slug: string) => ({ slug, frontmatter: { title: 'x' }, body: 'x' });

  it('is done for a token that lasts', async () => {
    expect((await queued(draft('in-turn'), async () => {})).status).toBe(201);
  });

  it('is not done for a token that was revoked meanwhile', async () => {
    const { status, body } = await queued(draft('too-late'), revoke);
    expect([status, body.code]).toEqual([401, 'unauthenticated']);
  });

  it('is not done on a branch that has become protected', async () => {
    const protect = (require_pull: boolean) => app.ask('PATCH', `${studio}/repository`, { body: { require_pull } });
    await app.ask('PATCH', `${studio}/repository`, { body: { protected_branches: ['main'] } });
    const { body } = await queued(draft('protected'), () => protect(true));
    expect(body.code).toBe('branch_protected');
    expect((await protect(false)).status).toBe(200);
  });

  it('is not merged with errors that have come to keep it from being published', async () => {
    await app.ask('POST', `${studio}/branches`, { body: { name: 'broken' } });
    await commitTo(app, 'broken', { 'content/posts/broken.md': '---\ntitle: "A\n---\n' });
    const set = (publish_checks: string) => app.ask('PATCH', `${studio}/repository`, { body: { publish_checks } });
    expect((await queued({ head: 'broken' }, () => set('block'), 'merge')).body.code).toBe('checks_failed');
    expect((await set('warn')).status).toBe(200);
  });

  it('is not done with a permission that has ended, which it may have needed besides', async () => {
    const actions = [{ op: 'delete', collection: 'posts', slug: 'in-turn' }];
    const { body } = await queued({ message: 'Delete', actions }, (token) => narrow(token, 'delete_studio'), 'changes');
    expect([body.code, body.message]).toEqual(['forbidden', 'Missing permission: delete_studio']);
  });
});

describe('a push that waits for its turn', () => {
  const set = (settings: object) => app.ask('PATCH', `${studio}/repository`, { body: settings });

  beforeEach(async () => {
    if (!(await headOf('topic'))) await app.ask('POST', `${studio}/branches`, { body: { name: 'topic' } });
  });
  afterEach(() => set({ protected_branches: [], require_pull: false }));
  const headOf = async (branch: string) => (await app.repository()).head(branch);

  /** Has a push wait behind a writer of its branch while something happens. @returns what the client shows */
  async function queued(refspec: `${string}:${string}`, between: (token: string) => Promise<unknown>) {
    const token = await app.makeToken(permissionNames);
    const copy = temporaryDirectory();
    await client(copy, 'clone', '-q', `${app.url.replace('//', `//x:${token}@`)}/git/acme/site.git`, '.');
    await client(copy, 'commit', '-q', '--allow-empty', '-m', crypto.randomUUID());
    const release = await holding(refspec.replace(/^.*:/, ''));
    const waits = vi.spyOn(GitRepository.prototype, 'holdBranches');
    const pushed = client(copy, 'push', '-q', 'origin', refspec).then(
      () => 'pushed',
      (error: Error) => error.message,
    );
    await expect.poll(() => waits.mock.calls.length).toBe(1);
    waits.mockRestore();
    await between(token);
    await release();
    return pushed;
  }

  it('is done by rights and settings that last', async () => {
    expect(await queued('HEAD:main', async () => {})).toBe('pushed');
    expect(await queued(':topic', async () => {})).toBe('pushed');
  });

  it.each<[string, `${string}:${string}`, (token: string) => Promise<unknown>, string]>([
    ['with a token that was revoked', 'HEAD:main', revoke, 'Unauthenticated'],
    [
      'with a permission that has ended',
      'HEAD:main',
      (token) => narrow(token, 'manage_studio'),
      'Missing permission: manage_studio',
    ],
    [
      'to a branch that has come to move by pull requests',
      'HEAD:main',
      () => set({ protected_branches: ['main'], require_pull: true }),
      'main is protected',
    ],
    [
      'to delete a branch that has become protected',
      ':topic',
      () => set({ protected_branches: ['topic'] }),
      'topic is protected and cannot be deleted',
    ],
  ])('is not done %s', async (_what, refspec, between, refusal) => {
    const before = await Promise.all(['main', 'topic'].map(headOf));
    expect(await queued(refspec, between)).toContain(refusal);
    expect(await Promise.all(['main', 'topic'].map(headOf))).toEqual(before);
  });
});

describe('a deletion that waits for its turn', () => {
  const { deleteBranch } = GitRepository.prototype;
  const protect = (...protected_branches: string[]) =>
    app.ask('PATCH', `${studio}/repository`, { body: { protected_branches } });
  const propose = (base = 'main') => app.ask('POST', `${studio}/pulls`, { body: { title: 'P', head: 'topic', base } });

  /** Has something happen when a branch is about to wait. */
  function beforeTurn(happen: () => Promise<{ status: number }>): void {
    vi.spyOn(GitRepository.prototype, 'deleteBranch').mockImplementationOnce(async function (
      this: GitRepository,
      ...given
    ) {
      expect((await happen()).status).toBeLessThan(300);
      return deleteBranch.apply(this, given);
    });
  }
  const isThere = async () => (await (await app.repository()).head('topic')) !== null;

  beforeEach(async () => {
    if (!(await isThere())) await app.ask('POST', `${studio}/branches`, { body: { name: 'topic' } });
    await commitTo(app, 'topic', { 'public/b.txt': crypto.randomUUID() });
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await protect();
    await app.ask('DELETE', `${studio}/branches/topic?force=true`);
  });
  const remove = (query = '') => app.ask('DELETE', `${studio}/branches/topic${query}`);

  it('is not done when the branch has become protected', async () => {
    beforeTurn(() => protect('topic'));
    const { status, body } = await remove('?force=true');
    expect([status, body.code, await isThere()]).toEqual([409, 'protected', true]);
  });

  it('is not done when a pull request was opened from the branch; with force it is closed', async () => {
    beforeTurn(propose);
    const { status, body } = await remove();
    expect([status, body.code, await isThere()]).toEqual([409, 'in_use', true]);
    const [number] = body.details.pulls;
    expect((await app.ask('PATCH', `${studio}/pulls/${number}`, { body: { state: 'closed' } })).status).toBe(200);
    beforeTurn(propose);
    expect((await remove('?force=true')).status).toBe(204);
    expect((await app.ask('GET', `${studio}/pulls/${number + 1}`)).body).toMatchObject({
      state: 'closed',
      changed_files: 1,
    });
  });

  it('is not done after a merge when the branch has become protected, or another pull request was opened', async () => {
    await app.ask('POST', `${studio}/branches`, { body: { name: 'other' } });
    for (const happen of [() => protect('topic'), () => propose('other')]) {
      await commitTo(app, 'topic', { 'public/b.txt': crypto.randomUUID() });
      const { body: pull } = await propose();
      beforeTurn(happen);
      const path = `${studio}/pulls/${pull.number}/merge`;
      const { status, body } = await app.ask('POST', path, { body: { delete_branch: true } });
      expect({ status, deleted: body.branch_deleted, there: await isThere() }).toEqual({
        ...{ status: 200, deleted: false, there: true },
      });
      await protect();
    }
  });
});

describe('an answer that takes its time', () => {
  /** A request under way, whose answer is waited for, and what looks at its rights. */
  async function waitingFor(begin: (token: string, project: string) => Promise<IncomingMessage | Socket>) {
    const token = await app.makeToken(permissionNames);
    const project = `slow-${slow++}`;
    await app.run(createProject, { organization: 'acme', name: 'Slow', machine_name: project });
    const timers = vi.spyOn(globalThis, 'setInterval');
    const answer = await begin(token, project);
    const look = await vi.waitFor(() => {
      const [act] = timers.mock.calls.find(([, every]) => every === lookEvery) ?? [];
      if (!act) throw new Error('nothing looks at its rights');
      return act;
    });
    timers.mockRestore();
    return {
      token,
      project,
      look,
      isCut: () => answer.destroyed,
      closed: new Promise((resolve) => answer.once('close', resolve)),
    };
  }

  /** Reads a snapshot whose only content does not come. */
  async function exported(token: string, project: string) {
    const crawler = await makeCrawler(app, { project });
    const snapshot = await makeSnapshot(app, crawler.id, { '/': { body: Buffer.alloc(300_000, 'x') } });
    vi.spyOn(app.services.blobs, 'read').mockImplementationOnce(async function* () {
      await new Promise(() => {});
    });
    const path = `${acme}/projects/${project}/crawlers/${crawler.uuid}/snapshots/${snapshot?.id}/warc`;
    const sent = request(`${app.url}${path}`, { headers: { authorization: `Bearer ${token}` } }).end();
    const [response] = await once(sent, 'response');
    return response.on('error', () => {}).resume();
  }

  /** A clone whose request does not end. */
  async function cloned(token: string, project: string) {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/x-git-upload-pack-request',
      'git-protocol': 'version=2',
      'content-length': 50_000,
    };
    const path = `/git/acme/${project}.git/git-upload-pack`;
    const sent = request(`${app.url}${path}`, { method: 'POST', headers }).on('error', () => {});
    sent.write('0014command=ls-refs\n');
    const [socket] = await once(sent, 'socket');
    return socket;
  }

  const endings: [string, (token: string, project: string) => Promise<unknown>][] = [
    ['a token that was revoked', revoke],
    ['a project that was deleted', (_token, project) => app.run(deleteProject, { organization: 'acme', project })],
  ];
  const answers = { 'a snapshot': exported, 'a clone': cloned };

  it.each(
    Object.entries(answers).flatMap(([what, begin]) =>
      endings.map(([whose, end]) => [what, whose, begin, end] as const),
    ),
  )('%s goes on while it may, and is cut off for %s', async (_what, _whose, begin, end) => {
    const { token, project, look, isCut, closed } = await waitingFor(begin);
    const renewed = vi.spyOn(app.services.places, 'project');
    look();
    await vi.waitFor(() => expect(renewed).toHaveBeenCalled());
    await renewed.mock.results[0]?.value;
    renewed.mockRestore();
    expect(isCut()).toBe(false);
    await end(token, project);
    look();
    await closed;
    expect(isCut()).toBe(true);
  });
});

describe('a body that takes its time', () => {
  it.each(requests)('is written for a token that lasts: %s', async (what, make) => {
    const answer = await sendInHalves(make(`kept-${what.replace(/\W/g, '-')}`), async () => {});
    expect(answer.status).toBeLessThan(300);
    expect(answer.text).toMatch(/kept-/);
  });

  it.each(requests)('is not written for a token that was revoked meanwhile: %s', async (what, make) => {
    const git = await app.repository();
    const refs = async () => (await git.refsBelow('refs/heads')).map(({ name, oid }) => `${name} ${oid}`);
    const before = await refs();
    const answer = await sendInHalves(make(`revoked-${what.replace(/\W/g, '-')}`), revoke);
    expect(answer.text).toMatch(/[Uu]nauthenticated/);
    expect(await refs()).toEqual(before);
  });

  it('is pushed under the settings that hold then', async () => {
    const protect = () =>
      app.ask('PATCH', `${studio}/repository`, { body: { protected_branches: ['late'], require_pull: true } });
    const { text } = await sendInHalves(push('late'), async () => expect((await protect()).status).toBe(200));
    expect(text).toMatch(/late is protected/);
  });

  it('is not pushed into a project that is deleted, nor into one that took its name', async () => {
    const { text } = await sendInHalves(push('deleted'), async () => {
      await app.run(deleteProject, { organization: 'acme', project: 'site' });
      await app.run(createProject, { organization: 'acme', name: 'Site', machine_name: 'site' });
    });
    expect(text).toMatch(/Project not found/);
    for (const uuid of await app.services.git.list().then(({ ids }) => ids))
      expect(await app.services.git.open(uuid).refsBelow('refs/heads/deleted')).toEqual([]);
  });
});
