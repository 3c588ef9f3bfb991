import { createHmac } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { importJob } from '../../../src/domain/studio/repository/import-repository.ts';
import { importJobFor } from '../../../src/jobs/job-handlers.ts';
import { shared } from '../../support/app.ts';
import { post } from '../../support/conflict-site.ts';
import { signIn } from '../../support/git-http.ts';
import { git, save } from '../../support/git-store.ts';
import {
  mirrorOf,
  projectOf,
  revocable,
  startMirrorApp,
  type TestProject,
  upstreamHost,
} from '../../support/mirror.ts';
import { expectRefusal } from '../../support/refusal.ts';

const app = shared(startMirrorApp);

const secret = 'hunter2-never-shown';
let projects = 0;
const newProject = () => projectOf(app, `remote-${++projects}`);

describe('the address', () => {
  it.each([
    ['http://127.0.0.1/x.git', /url: must be https/],
    ['ext::sh -c id', /url: must be https/],
    ['file:///etc', /url: must be https/],
    ['--upload-pack=id', /url: must be https/],
    ['https://user@host/x', /url: must not contain a user name/],
    ['https://user:pass@host/x', /url: must not contain/],
    ['ssh://git:pass@host/x', /url: must not contain a password/],
    [`https://host/${'x'.repeat(2000)}`, /url: must be at most 2000/],
  ])('%s is refused', async (url, message) => {
    const project = await newProject();
    expectRefusal(await project.ask('PUT', '/repository/remote', { url }), 400, 'invalid_request', message);
  });

  it('is not one of this machine’s networks unless allowed', async () => {
    const project = await newProject();
    for (const url of ['https://10.1.2.3/x.git', 'https://169.254.169.254/x.git', 'https://[fd00::1]/x.git'])
      expect((await project.ask('PUT', '/repository/remote', { url })).status).toBe(400);
    expect((await project.ask('GET', '/repository')).body.mode).toBe('hosted');
  });

  it('is not set by a credential that was revoked while the host answered', async () => {
    const [project, host] = [await newProject(), await upstreamHost()];
    const { token, revoke } = await revocable(app, ['browse_studio', 'manage_studio']);
    const { git } = app.services;
    const lsRemote = git.lsRemote.bind(git);
    vi.spyOn(git, 'lsRemote').mockImplementationOnce(async (...given) => {
      await revoke();
      return lsRemote(...given);
    });
    const put = await app.ask('PUT', `${project.base}/repository/remote`, { token, body: { url: host.url } });
    expect(put.status).toBe(401);
    expect((await project.ask('GET', '/repository')).body.mode).toBe('hosted');
  });

  it('is of the credentials’ kind', async () => {
    const project = await newProject();
    const ssh = { url: 'ssh://git@127.0.0.1/x.git', auth: { kind: 'token', token: secret } };
    expectRefusal(
      await project.ask('PUT', '/repository/remote', ssh),
      400,
      'invalid_request',
      /auth.kind: must be ssh_key/,
    );
    const https = { url: 'https://127.0.0.1/x.git', auth: { kind: 'ssh_key', private_key: secret } };
    expectRefusal(
      await project.ask('PUT', '/repository/remote', https),
      400,
      'invalid_request',
      /auth.kind: ssh_key needs/,
    );
    for (const auth of [
      { kind: 'token' },
      { kind: 'token', token: 'a\nb' },
      { kind: 'basic', username: 'a:b', password: 'c' },
      { kind: 'none of these' },
    ])
      expect((await project.ask('PUT', '/repository/remote', { url: 'https://127.0.0.1/x', auth })).status).toBe(400);
  });

  it('is tried before it is kept', async () => {
    const project = await newProject();
    const host = await upstreamHost();
    host.rules.guard = signIn(`x-access-token:${secret}`);
    const wrong = await project.ask('PUT', '/repository/remote', {
      url: host.url,
      auth: { kind: 'token', token: 'no' },
    });
    expect(wrong).toMatchObject({
      status: 503,
      body: { code: 'upstream_unavailable', details: { reason: 'auth_failed' } },
    });
    expect((await project.ask('GET', '/repository')).body.upstream).toBeNull();
    const right = { url: host.url, auth: { kind: 'token', token: secret } };
    expect(await project.ask('PUT', '/repository/remote', right)).toMatchObject({
      status: 200,
      body: { upstream: { auth_kind: 'token' } },
    });
  });

  it('needs manage_studio', async () => {
    const project = await newProject();
    const token = await app.makeToken(['browse_studio', 'edit_studio', 'delete_studio']);
    const ask = (method: string, path: string) =>
      app.ask(method, `${project.base}${path}`, { token, body: { url: 'https://127.0.0.1/x' } });
    expect((await ask('PUT', '/repository/remote')).status).toBe(403);
    expect((await ask('DELETE', '/repository/remote')).status).toBe(403);
  });
});

describe('credentials', () => {
  it('are nowhere to be read', async () => {
    const host = await upstreamHost();
    await save(host.repository, { 'content/posts/one.md': post({ title: 'One' }) });
    host.rules.guard = signIn(`me:${secret}`);
    const project = await newProject();
    const auth = { kind: 'basic', username: 'me', password: secret };
    const set = await project.ask('PUT', '/repository/remote', { url: host.url, auth });
    expect(set.status).toBe(200);
    await project.ask('PUT', '/collections/posts/one', { frontmatter: { title: 'Two' } });
    const em = app.services.orm.em.fork();
    const stored = JSON.stringify([
      await em.execute('select * from upstream'),
      await em.execute('select * from audit'),
      (await project.ask('GET', '/repository')).body,
      set.body.upstream,
      app.log,
    ]);
    expect(stored).not.toContain(secret);
    expect(stored).not.toContain(Buffer.from(`me:${secret}`).toString('base64'));
    expect(app.log.join('')).not.toContain(set.body.hook_secret);
  });
});

const signature = (key: string, body: string) => `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;
const send = (project: TestProject, body: string, headers: Record<string, string>) =>
  app.ask('POST', `${project.base}/repository/hook`, {
    token: null,
    body,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
  });

describe('push notices', () => {
  it('fetch at once when they are signed', async () => {
    const { host, project, set } = await mirrorOf(app);
    const { commit } = await save(host.repository, { 'content/posts/two.md': post({ title: 'Two' }) });
    const body = 'payload=%7B%22ref%22%3A1%7D';
    const answer = await send(project, body, { 'X-Hub-Signature-256': signature(set.hook_secret, body) });
    expect(answer).toMatchObject({ status: 202, body: { accepted: true } });
    await app.services.studio.upstreams.settled();
    expect(await project.git.head('main')).toBe(commit?.sha);
  });

  it('are refused otherwise, and nothing is fetched', async () => {
    const { host, project, set } = await mirrorOf(app);
    host.requests.length = 0;
    const good = signature(set.hook_secret, '{}');
    for (const headers of [
      {},
      { 'X-Hub-Signature-256': '' },
      { 'X-Hub-Signature-256': 'sha256=' },
      { 'X-Hub-Signature-256': good.slice(0, -1) },
      { 'X-Hub-Signature-256': good.replace(/.$/, (last) => (last === '0' ? '1' : '0')) },
      { 'X-Hub-Signature-256': signature('other', '{}') },
      { 'X-Hub-Signature-256': good.replace('sha256', 'sha1') },
    ] as Record<string, string>[])
      expect((await send(project, '{}', headers)).status).toBe(401);
    expect((await send(project, '{ }', { 'X-Hub-Signature-256': good })).status).toBe(401);
    const hosted = await newProject();
    expect((await send(hosted, '{}', { 'X-Hub-Signature-256': good })).status).toBe(401);
    await app.services.studio.upstreams.settled();
    expect(host.requests).toEqual([]);
  });

  it('reveal nothing to callers without rights', async () => {
    const { project } = await mirrorOf(app);
    const hosted = await newProject();
    const places = [project.base, hosted.base, project.base.replace(project.name, 'gone')];
    places.push(
      project.base.replace('acme', 'gone'),
      project.base.replace('acme', '-'),
      project.base.replace('acme', 'A'),
    );
    for (const headers of [{}, { 'X-Hub-Signature-256': signature('guess', '{}') }] as Record<string, string>[]) {
      const answers = await Promise.all(places.map((base) => send({ ...project, base }, '{}', headers)));
      const said = answers.map(({ status, body: { request_id: _id, ...body } }) => JSON.stringify([status, body]));
      expect(new Set(said).size).toBe(1);
      expect(answers[0]?.status).toBe(401);
    }
  });

  it('have a body of at most a mebibyte', async () => {
    const { project, set } = await mirrorOf(app);
    const body = 'x'.repeat(1024 * 1024);
    expect((await send(project, body, { 'X-Hub-Signature-256': signature(set.hook_secret, body) })).status).toBe(202);
    expect((await send(project, `${body}x`, { 'X-Hub-Signature-256': 'sha256=0' })).status).toBe(413);
  });

  it('keep their secret until another is requested', async () => {
    const { host, project, set } = await mirrorOf(app);
    const again = await project.ask('PUT', '/repository/remote', { url: host.url });
    expect(again.body.hook_secret).toBeNull();
    const other = await project.ask('PUT', '/repository/remote', { url: host.url, new_hook_secret: true });
    expect(other.body.hook_secret).toMatch(/^[\w-]{43}$/);
    expect((await send(project, '', { 'X-Hub-Signature-256': signature(set.hook_secret, '') })).status).toBe(401);
    expect((await send(project, '', { 'X-Hub-Signature-256': signature(other.body.hook_secret, '') })).status).toBe(
      202,
    );
  });
});

describe('an import', () => {
  const begin = async (mode: string, branches: unknown, odd: readonly string[] = []) => {
    const host = await upstreamHost();
    await save(host.repository, { 'content/posts/one.md': post({ title: 'One' }) });
    for (const name of ['next', 'old'])
      await host.repository.createBranch(name, (await host.repository.head('main')) ?? '');
    for (const ref of odd) git(host.directory, ['update-ref', ref, (await host.repository.head('main')) ?? '']);
    const project = await newProject();
    const sent: unknown[] = [];
    const { jobs } = app.services;
    app.services.jobs = {
      send: async (kind, payload) => void (kind.name === importJob.name && sent.push(payload)),
      sendMany: async () => {},
    };
    const response = await project.ask('POST', '/repository/import', { url: host.url, mode, branches });
    app.services.jobs = jobs;
    const work = async () => {
      await importJobFor(app.services).handle(importJob.payload.parse(sent[0]), new AbortController().signal);
      await app.services.studio.upstreams.settled();
      return (await project.ask('GET', '/repository')).body;
    };
    return { project, response, work };
  };
  const namesIn = async (project: TestProject) =>
    (await project.git.branches()).map(({ name }) => name.slice(11)).sort();

  it('brings in the branches it names, and a mirror the others with them', async () => {
    const hosted = await begin('hosted', ['next', 'old']);
    expect(hosted.response.status).toBe(202);
    expect(await hosted.work()).toMatchObject({ default_branch: 'next', import: { state: 'completed' } });
    expect(await namesIn(hosted.project)).toEqual(['next', 'old']);
    const mirror = await begin('remote', ['next']);
    expect(await mirror.work()).toMatchObject({ default_branch: 'next', sync: { state: 'in_sync' } });
    expect(await namesIn(mirror.project)).toEqual(['main', 'next', 'old']);
  });

  it('leaves out branches and tags whose names cannot be used here, and says so', async () => {
    const odd = ['refs/heads/-x', 'refs/heads/HEAD', 'refs/heads/a\u202eb', 'refs/tags/-t'];
    const notice =
      'Left out for their names: branch "-x" (must not start with a dash), branch "HEAD" (must not be HEAD), ' +
      'branch "a\\u{202e}b" (must not contain invisible characters or marks of direction), ' +
      'tag "-t" (must not start with a dash); rename them at the source to have them here';
    const hosted = await begin('hosted', undefined, odd);
    expect(await hosted.work()).toMatchObject({ import: { state: 'completed', message: notice }, sync: null });
    expect(await namesIn(hosted.project)).toEqual(['main', 'next', 'old']);
    expect(await hosted.project.git.refsBelow('refs/tags')).toEqual([]);
    const mirror = await begin('remote', undefined, odd);
    expect(await mirror.work()).toMatchObject({
      import: { state: 'completed', message: notice },
      sync: { state: 'in_sync', message: notice.replace(/, tag "-t" [^)]*\)/, '') },
    });
    expect(await namesIn(mirror.project)).toEqual(['main', 'next', 'old']);
  });

  /** Begins an import; what it is to do is done by the answer's `work`. */
  const beginIn = async (project: TestProject, url: string) => {
    const sent: unknown[] = [];
    const { jobs } = app.services;
    app.services.jobs = { send: async (_kind, payload) => void sent.push(payload), sendMany: async () => {} };
    const response = await project.ask('POST', '/repository/import', { url });
    app.services.jobs = jobs;
    expect(response.status).toBe(202);
    const payload = importJob.payload.parse(sent[0]);
    return () => importJobFor(app.services).handle(payload, new AbortController().signal);
  };
  const cancel = (project: TestProject) => project.ask('POST', '/repository/import/cancel', {});
  const importOf = async (project: TestProject) => (await project.ask('GET', '/repository')).body.import;
  const stopped = { state: 'failed', phase: null, message: 'The import was cancelled' };

  it('that is queued is cancelled, and another one is not taken for it', async () => {
    const host = await upstreamHost();
    await save(host.repository, { 'a.md': 'a' });
    const project = await newProject();
    const first = await beginIn(project, 'https://127.0.0.1:1/gone.git');
    expect(await cancel(project)).toMatchObject({ status: 202, body: { import: stopped } });
    await first();
    expect(await importOf(project)).toMatchObject(stopped);
    const second = await beginIn(project, host.url);
    await first();
    expect(await importOf(project)).toMatchObject({ state: 'queued', message: null, finished_at: null });
    await second();
    expect(await importOf(project)).toMatchObject({ state: 'completed', url: host.url });
    expectRefusal(await cancel(project), 409, 'conflict', /^No import is under way$/);
  });

  it('that hangs is cancelled, leaves nothing, and another one can begin', async () => {
    const host = await upstreamHost();
    await save(host.repository, { 'a.md': 'a' });
    host.rules.guard = ({ method }) => method === 'POST';
    const project = await newProject();
    const work = (await beginIn(project, host.url))();
    await expect.poll(() => host.requests).toContain('POST git-upload-pack');
    expect(await importOf(project)).toMatchObject({ state: 'running' });
    expect(await cancel(project)).toMatchObject({ status: 202, body: { import: stopped } });
    await work;
    expect(await importOf(project)).toMatchObject(stopped);
    expect(await project.git.branches()).toEqual([]);
    delete host.rules.guard;
    await (await beginIn(project, host.url))();
    expect(await importOf(project)).toMatchObject({ state: 'completed', message: null });
  });

  it('that was never begun cannot be cancelled', async () => {
    expectRefusal(await cancel(await newProject()), 409, 'conflict', /^No import is under way$/);
  });

  it('fails when there is no such branch, and can be tried again', async () => {
    const { work } = await begin('hosted', ['main', 'nope']);
    const message = 'branches: the source has no branch nope';
    expect(await work()).toMatchObject({ import: { state: 'failed', message }, sync: null });
  });

  it('that stays a mirror is pending while it runs, and an error with its message when it fails', async () => {
    const { project, work } = await begin('remote', ['nope']);
    expect((await project.ask('GET', '/repository')).body.sync).toMatchObject({ state: 'pending', upstream_sha: null });
    const message = 'branches: the source has no branch nope';
    expect(await work()).toMatchObject({ import: { state: 'failed' }, sync: { state: 'error', message } });
    expect((await project.ask('POST', '/repository/sync', {})).body.state).toBe('in_sync');
  });

  it.each([
    [[], 400, 'invalid_request'],
    [['a..b'], 422, 'invalid_name'],
    [['main', ''], 422, 'invalid_name'],
    [['main', '-x'], 422, 'invalid_name'],
    [Array.from({ length: 101 }, (_, at) => `b${at}`), 400, 'invalid_request'],
    [Array.from({ length: 100 }, (_, at) => `b${at}`), 202, undefined],
    ['main', 400, 'invalid_request'],
  ])('takes 1 to 100 names of branches (%#)', async (branches, status, code) => {
    const { response } = await begin('hosted', branches);
    expect([response.status, response.body.code]).toEqual([status, code]);
  });

  it('of a private repository may stay a mirror', async () => {
    const host = await upstreamHost();
    const { commit } = await save(host.repository, { 'content/posts/one.md': post({ title: 'One' }) });
    host.rules.guard = signIn(`x-access-token:${secret}`);
    const project = await newProject();
    const sent: { project_id: number }[] = [];
    const { jobs } = app.services;
    app.services.jobs = { send: async (_kind, payload) => void sent.push(payload as never), sendMany: async () => {} };
    const body = { url: host.url, auth: { kind: 'token', token: secret }, mode: 'remote' };
    const key = { 'Idempotency-Key': 'import-1' };
    const response = await project.ask('POST', '/repository/import', body, key);
    // The answer holds a secret: it is kept for no repeat.
    const again = await project.ask('POST', '/repository/import', body, key);
    expectRefusal(again, 409, 'busy', /under way/);
    app.services.jobs = jobs;
    expect(response).toMatchObject({
      status: 202,
      body: {
        mode: 'remote',
        import: { state: 'queued', url: host.url },
        hook_secret: expect.stringMatching(/^[\w-]{43}$/),
      },
    });
    const notice = { 'X-Hub-Signature-256': signature(response.body.hook_secret, '{}') };
    expect((await send(project, '{}', notice)).status).toBe(202);
    expect(JSON.stringify(sent)).not.toContain(secret);
    // No request is ahead of the import: its branches appear all at once.
    await project.ask('GET', '/collections');
    await app.services.studio.upstreams.settled();
    expect(await project.git.branches()).toEqual([]);
    await importJobFor(app.services).handle(importJob.payload.parse(sent[0]), new AbortController().signal);
    await app.services.studio.upstreams.settled();
    const { body: record } = await project.ask('GET', '/repository');
    expect(record).toMatchObject({
      import: { state: 'completed' },
      sync: { state: 'in_sync', upstream_sha: commit?.sha },
    });
    const saved = await project.ask('PUT', '/collections/posts/one', { frontmatter: { title: 'Two' } });
    expect(await host.repository.head('main')).toBe(saved.body.commit.sha);
  });
});
