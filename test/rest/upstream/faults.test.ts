import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadProject } from '../../../src/domain/projects/project-ref.ts';
import { syncJobFor } from '../../../src/jobs/job-handlers.ts';
import { pushMirrors } from '../../../src/jobs/upkeep.ts';
import { shared } from '../../support/app.ts';
import { post } from '../../support/conflict-site.ts';
import { git, save, temporaryDirectory, testStore } from '../../support/git-store.ts';
import {
  hostRoot,
  mirrorOf,
  projectOf,
  startMirrorApp,
  type TestProject,
  type UpstreamHost,
  upstreamHost,
} from '../../support/mirror.ts';
import { commitOf, oidOf, pack, repeat, treeOf } from '../../support/packs.ts';
import { expectRefusal } from '../../support/refusal.ts';

const app = shared(startMirrorApp);

const edit = (title: string) => ({ frontmatter: { title } });
const later = (seconds: number) => {
  app.clock.now = new Date((app.clock.now ?? new Date()).getTime() + seconds * 1000);
};
const goDown = (host: UpstreamHost) => {
  host.rules.guard = (_request, response) => {
    response.writeHead(503).end();
    return true;
  };
};
const goUp = (host: UpstreamHost) => {
  delete host.rules.guard;
};
/** The job that a failed push leaves behind, run as the queue does. */
const runJob = ({ record }: TestProject) =>
  syncJobFor(app.services).handle({ project_id: record.id }, new AbortController().signal);
/** A file with the root that vouches for the hosts of these tests. */
const rootFile = () => {
  const file = path.join(temporaryDirectory(), 'ca.pem');
  writeFileSync(file, hostRoot);
  return file;
};
const syncState = async ({ ask }: TestProject) => (await ask('GET', '/repository')).body.sync;

describe('an upstream that takes more of git than it may', () => {
  it('is not fetched, and the state of the repository says which bound it was', async () => {
    const { host, project } = await mirrorOf(app);
    const size = 15 * 1024 * 1024;
    const large = Buffer.alloc(8 * size);
    const base = { type: 'blob', content: Buffer.alloc(size) } as const;
    const tree = treeOf({ base: oidOf('blob', base.content), large: oidOf('blob', large) });
    const made = commitOf(oidOf('tree', tree.content));
    git(host.directory, ['index-pack', '--stdin'], pack([made, tree, base, { base: 1, delta: repeat(size, size, 8) }]));
    git(host.directory, ['update-ref', 'refs/heads/large', oidOf('commit', made.content)]);
    const { store } = testStore({
      dataDir: path.dirname(path.dirname(app.directory(project.record.uuid))),
      memory: 96 * 1024 * 1024,
      resolveUpstream: async () => ({ addresses: ['127.0.0.1'] }),
      caFile: rootFile(),
    });
    const whole = app.services.git;
    app.services.git = store;
    onTestFinished(() => {
      app.services.git = whole;
    });
    const message = 'git needed more than 96 MiB of memory for this';
    expectRefusal(await project.ask('POST', '/repository/sync', {}), 413, 'too_large', message);
    expect(await syncState(project)).toMatchObject({ state: 'error', message });
  });
});

describe('an upstream that has become a shallow clone', () => {
  const message =
    'The upstream lacks a part of its history, as a shallow clone does; complete it there: git fetch --unshallow';

  it('takes nothing off the branch here, and the state says why nothing comes from there', async () => {
    const { host, project } = await mirrorOf(app);
    const saved = await project.ask('PUT', '/collections/posts/one', edit('Two'));
    const pushed = saved.body.commit.sha as string;
    expect(await host.repository.head('main')).toBe(pushed);
    await save(host.repository, { 'content/posts/two.md': post({ title: 'Two' }) });
    const { commit } = await save(host.repository, { 'content/posts/three.md': post({ title: 'Three' }) });
    const file = path.join(host.directory, 'shallow');
    writeFileSync(file, `${commit?.sha}\n`);
    expectRefusal(await project.ask('POST', '/repository/sync', {}), 503, 'upstream_unavailable', message);
    expect(await project.git.head('main')).toBe(pushed);
    expect(await syncState(project)).toMatchObject({ state: 'error', upstream_sha: pushed, message });
    const next = await project.ask('PUT', '/collections/posts/one', edit('Three'));
    expect(next).toMatchObject({ status: 200, body: { title: 'Three', sync: { state: 'pending', ahead_by: 1 } } });
    rmSync(file);
    expect((await project.ask('POST', '/repository/sync', {})).body).toMatchObject({ state: 'in_sync' });
    expect(await project.git.isAncestor(next.body.commit.sha, (await host.repository.head('main')) ?? '')).toBe(true);
    expect(await project.git.refsBelow('refs/portico/rescue')).toEqual([]);
  });

  it('is said of a mirror that begins', async () => {
    const host = await upstreamHost();
    await save(host.repository, { a: '1' });
    const { commit } = await save(host.repository, { a: '2' });
    writeFileSync(path.join(host.directory, 'shallow'), `${commit?.sha}\n`);
    const project = await projectOf(app, 'begun-shallow');
    const { body } = await project.ask('PUT', '/repository/remote', { url: host.url });
    expect(body.sync).toMatchObject({ state: 'error', upstream_sha: null, message });
  });
});

describe('an upstream that is down', () => {
  it('lets reads and writes go on, and has it all when it is back', async () => {
    const { host, project } = await mirrorOf(app);
    goDown(host);
    later(31);
    expect((await project.ask('GET', '/collections/posts/one')).status).toBe(200);
    await app.services.studio.upstreams.settled();
    expect(await syncState(project)).toMatchObject({ state: 'error', message: expect.stringContaining('upstream') });
    const saved = await project.ask('PUT', '/collections/posts/one', edit('Offline'));
    expect(saved).toMatchObject({ status: 200, body: { sync: { state: 'pending', ahead_by: 1 } } });
    await expect(runJob(project)).rejects.toMatchObject({ code: 'upstream_unavailable' });
    goUp(host);
    await runJob(project);
    expect(await host.repository.head('main')).toBe(saved.body.commit.sha);
    const sync = await syncState(project);
    expect(sync).toMatchObject({ state: 'in_sync', ahead_by: 0 });
    expect(sync).not.toHaveProperty('message');
  });

  it('is not waited for by those who come after it failed', async () => {
    const { host, project } = await mirrorOf(app);
    goDown(host);
    await project.ask('PUT', '/collections/posts/one', edit('1'));
    const held: (() => void)[] = [];
    host.rules.guard = (_request, response) => {
      held.push(() => response.writeHead(503).end());
      return true;
    };
    later(29);
    const saved = await project.ask('PUT', '/collections/posts/one', edit('2'));
    expect(saved.body.sync).toMatchObject({ state: 'pending', ahead_by: 2 });
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
    goUp(host);
    const done = app.services.studio.upstreams.settled();
    for (const end of held) end();
    await done;
    await runJob(project);
    expect(await host.repository.head('main')).toBe(saved.body.commit.sha);
  });

  it('fails requests that need the upstream with 503', async () => {
    const { host, project } = await mirrorOf(app);
    goDown(host);
    for (const path of ['/repository/sync', '/schema/refresh'])
      expect(await project.ask('POST', path, {})).toMatchObject({
        status: 503,
        body: { code: 'upstream_unavailable' },
      });
    goUp(host);
    expect((await project.ask('POST', '/schema/refresh', {})).status).toBe(200);
  });

  it('is pushed to by the next process when this one died in between', async () => {
    const { host, project } = await mirrorOf(app);
    // Behind the operations' back: what a kill between commit and push leaves.
    const { commit } = await save(project.git, { 'content/posts/two.md': post({ title: 'Two' }) });
    const sent: unknown[] = [];
    const services = {
      ...app.services,
      jobs: {
        send: async (_kind: unknown, payload: unknown) => void sent.push(payload),
      },
    };
    await pushMirrors(services as typeof app.services);
    expect(sent).toContainEqual({ project_id: project.record.id });
    await runJob(project);
    expect(await host.repository.head('main')).toBe(commit?.sha);
    sent.length = 0;
    await pushMirrors(services as typeof app.services);
    expect(sent).not.toContainEqual({ project_id: project.record.id });
  });
});

describe('a push that is not taken', () => {
  it('stays here with the upstream’s own words when its rules refuse it', async () => {
    const { host, project } = await mirrorOf(app);
    host.rules.authorize = async () => ({ allow: false, message: 'main is protected' });
    const saved = await project.ask('PUT', '/collections/posts/one', edit('Ours'));
    expect(saved).toMatchObject({
      status: 200,
      body: { sync: { state: 'error', ahead_by: 1, message: expect.stringContaining('main is protected') } },
    });
    host.rules.authorize = async () => ({ allow: true });
    expect((await project.ask('POST', '/repository/sync', {})).body).toMatchObject({ state: 'in_sync' });
  });

  it('is merged and tried again when other clients are always faster, and gives up in the end without loss', async () => {
    const { host, project } = await mirrorOf(app);
    let others = 0;
    host.rules.authorize = async () => {
      others += 1;
      // Another client gets in between the check and the move: the branch is held, so this comes before.
      return others <= 2 ? { allow: false, message: 'cannot lock ref' } : { allow: true };
    };
    await save(host.repository, { 'content/posts/other.md': post({ title: 'Other' }) });
    const saved = await project.ask('PUT', '/collections/posts/one', edit('Ours'));
    expect(saved.status).toBe(200);
    host.rules.authorize = async () => ({ allow: true });
    await runJob(project);
    const head = (await host.repository.head('main')) ?? '';
    expect(head).toBe(await project.git.head('main'));
    expect(await host.repository.isAncestor(saved.body.commit.sha, head)).toBe(true);
  });
});

describe('many at once', () => {
  it('loses no commit of 16 writers here and one there', async () => {
    const { host, project } = await mirrorOf(app);
    const writers = Array.from({ length: 16 }, async (_, at) => {
      const { status, body } = await project.ask('POST', '/collections/posts', {
        slug: `here-${at}`,
        frontmatter: { title: `Here ${at}` },
      });
      expect(status).toBe(201);
      return body.commit.sha as string;
    });
    const there = (async () => {
      const made: string[] = [];
      for (let at = 0; at < 5; at += 1) {
        const { commit } = await save(host.repository, {
          [`content/posts/there-${at}.md`]: post({ title: `There ${at}` }),
        });
        made.push(commit?.sha ?? '');
      }
      return made;
    })();
    const commits = [...(await Promise.all(writers)), ...(await there)];
    await app.services.studio.upstreams.settled();
    await runJob(project);
    const head = (await host.repository.head('main')) ?? '';
    expect(head).toBe(await project.git.head('main'));
    for (const commit of commits) expect(await project.git.isAncestor(commit, head)).toBe(true);
  });

  it('loses nothing when two servers push to one upstream', async () => {
    const one = await mirrorOf(app);
    const two = { project: await projectOf(app, 'second-mirror') };
    expect((await two.project.ask('PUT', '/repository/remote', { url: one.host.url })).status).toBe(200);
    const answers = await Promise.all(
      [one, two].flatMap(({ project }, side) =>
        Array.from({ length: 5 }, (_, at) =>
          project.ask('POST', '/collections/posts', { slug: `p-${side}-${at}`, frontmatter: { title: 'x' } }),
        ),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    await app.services.studio.upstreams.settled();
    for (const { project } of [one, two, one]) await runJob(project);
    const head = (await one.host.repository.head('main')) ?? '';
    for (const { body } of answers) expect(await one.host.repository.isAncestor(body.commit.sha, head)).toBe(true);
    expect(await one.project.git.head('main')).toBe(head);
  });

  it('forgets an upstream with its project', async () => {
    const { project } = await mirrorOf(app);
    await app.services.orm.em.fork().execute('delete from project where id = ?', [project.record.id]);
    await runJob(project);
    expect(await loadProject(app.services.orm.em.fork(), { id: project.record.id })).toBeNull();
  });
});
