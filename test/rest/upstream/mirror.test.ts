import { describe, expect, it } from 'vitest';
import { shared } from '../../support/app.ts';
import { post } from '../../support/conflict-site.ts';
import { client } from '../../support/git-client.ts';
import { fsck, git, save } from '../../support/git-store.ts';
import { mirrorOf, projectOf, startMirrorApp, upstreamHost } from '../../support/mirror.ts';

const app = shared(startMirrorApp);

const edit = (fields: object) => ({ frontmatter: fields });
const onePath = 'content/posts/one.md';
/** Lets what was fetched become old. */
const later = (seconds: number) => {
  app.clock.now = new Date((app.clock.now ?? new Date()).getTime() + seconds * 1000);
};

describe('a mirror', () => {
  it('has what the upstream has, and pushes each commit', async () => {
    const { host, project, set } = await mirrorOf(app);
    expect(set).toMatchObject({
      mode: 'remote',
      upstream: {
        url: host.url,
        auth_kind: 'none',
        push: 'on_commit',
        hook_url: `http://portico.test${project.base}/repository/hook`,
      },
      hook_secret: expect.stringMatching(/^[\w-]{43}$/),
      sync: { state: 'in_sync', ahead_by: 0, behind_by: 0, last_pushed_at: null },
      diverged: [],
    });
    expect((await project.ask('GET', '/collections/posts/one')).body.title).toBe('One');
    const saved = await project.ask('PUT', '/collections/posts/one', edit({ title: 'Two' }));
    expect(saved).toMatchObject({ status: 200, body: { sync: { state: 'in_sync', ahead_by: 0, behind_by: 0 } } });
    expect(await host.repository.head('main')).toBe(saved.body.commit.sha);
    expect(saved.body.sync.upstream_sha).toBe(saved.body.commit.sha);
    const created = await project.ask('POST', '/collections/posts', { slug: 'new', frontmatter: { title: 'New' } });
    expect(created.body.sync.state).toBe('in_sync');
    expect((await project.ask('DELETE', '/collections/posts/new')).body.sync.state).toBe('in_sync');
    expect(await host.repository.head('main')).toBe(await project.git.head('main'));
    const { body } = await project.ask('GET', '/repository');
    expect(body.sync.last_pushed_at).toEqual(expect.any(String));
    fsck(host.directory);
  });

  it('takes the upstream’s commits before it writes, and in the background when it reads', async () => {
    const { host, project } = await mirrorOf(app);
    await save(host.repository, { [onePath]: post({ title: 'Theirs', tags: ['a'] }, 'First\n\nSecond\n') });
    later(31);
    await project.ask('GET', '/collections/posts/one');
    await app.services.studio.upstreams.settled();
    expect((await project.ask('GET', '/collections/posts/one')).body.title).toBe('Theirs');
    const { commit } = await save(host.repository, { [onePath]: post({ title: 'Again', tags: ['a'] }) });
    later(3);
    const saved = await project.ask('PUT', '/collections/posts/one', edit({ tags: ['b'] }));
    expect(saved.body).toMatchObject({ title: 'Again', frontmatter: { tags: ['b'] } });
    expect(saved.body.commit.parents).toEqual([commit?.sha]);
  });

  it('queries the upstream no more often than configured', async () => {
    const { host, project } = await mirrorOf(app);
    const set = await project.ask('PATCH', '/repository', { fresh_for: { read: 100, write: 50 } });
    expect(set.body.settings.fresh_for).toEqual({ read: 100, write: 50 });
    host.requests.length = 0;
    later(49);
    await project.ask('GET', '/collections/posts');
    expect(host.requests).toEqual([]);
    await project.ask('PUT', '/collections/posts/one', edit({ title: 'Two' }));
    expect(host.requests.filter((line) => line.includes('upload-pack'))).toEqual([]);
    for (const fresh_for of [
      { read: -1, write: 2 },
      { read: 86_401, write: 2 },
      { read: 30, write: 3_601 },
    ])
      expect((await project.ask('PATCH', '/repository', { fresh_for })).status).toBe(400);
    for (const fresh_for of [
      { read: 0, write: 0 },
      { read: 86_400, write: 3_600 },
    ])
      expect((await project.ask('PATCH', '/repository', { fresh_for })).status).toBe(200);
  });

  it('merges, field by field, what came there first', async () => {
    const { host, project } = await mirrorOf(app);
    const { commit } = await save(host.repository, {
      [onePath]: post({ title: 'One', tags: ['a', 'theirs'] }, 'First\n\nSecond\n'),
    });
    // Fetched a moment ago, so the write does not look: the push is what finds out.
    const saved = await project.ask('PUT', '/collections/posts/one', edit({ title: 'Ours', tags: ['a', 'ours'] }));
    expect(saved.body.sync).toMatchObject({ state: 'in_sync' });
    const { body } = await project.ask('GET', '/collections/posts/one');
    expect(body.frontmatter).toEqual({ title: 'Ours', tags: ['a', 'ours', 'theirs'] });
    const head = await host.repository.head('main');
    expect(head).toBe(await project.git.head('main'));
    expect((await host.repository.commit(head ?? '')).parents).toEqual([saved.body.commit.sha, commit?.sha]);
  });

  it('keeps branches in step on both sides', async () => {
    const { host, project } = await mirrorOf(app);
    const first = (await host.repository.head('main')) ?? '';
    expect((await project.ask('POST', '/branches', { name: 'ours' })).body.sync.state).toBe('in_sync');
    expect(await host.repository.head('ours')).toBe(first);
    await host.repository.createBranch('theirs', first);
    expect((await project.ask('POST', '/repository/sync', {})).body.state).toBe('in_sync');
    const { body } = await project.ask('GET', '/branches');
    expect(body.map(({ name, sync }: { name: string; sync: { state: string } }) => [name, sync.state])).toEqual([
      ['main', 'in_sync'],
      ['ours', 'in_sync'],
      ['theirs', 'in_sync'],
    ]);
    // Deleted there, deleted here; deleted here, deleted there.
    await host.repository.deleteBranch('theirs', first);
    expect((await project.ask('DELETE', '/branches/ours')).status).toBe(204);
    await project.ask('POST', '/repository/sync', {});
    expect((await project.git.branches()).map(({ name }) => name)).toEqual(['refs/heads/main']);
    expect((await host.repository.branches()).map(({ name }) => name)).toEqual(['refs/heads/main']);
  });

  it('brings a branch back that was deleted here while it grew there', async () => {
    const { host, project } = await mirrorOf(app);
    await project.ask('POST', '/branches', { name: 'topic' });
    const { commit } = await save(
      host.repository,
      { 'content/posts/two.md': post({ title: 'Two' }) },
      { branch: 'topic' },
    );
    await project.ask('DELETE', '/branches/topic');
    await project.ask('POST', '/repository/sync', {});
    expect(await project.git.head('topic')).toBe(commit?.sha);
    expect(await host.repository.head('topic')).toBe(commit?.sha);
  });

  it('pushes only on request, if so set', async () => {
    const { host, project } = await mirrorOf(app, { push: 'manual' });
    const before = await host.repository.head('main');
    const saved = await project.ask('PUT', '/collections/posts/one', edit({ title: 'Two' }));
    expect(saved.body.sync).toMatchObject({ state: 'pending', ahead_by: 1, behind_by: 0 });
    expect(await host.repository.head('main')).toBe(before);
    expect((await project.ask('POST', '/repository/sync', {})).body).toMatchObject({ state: 'in_sync' });
    expect(await host.repository.head('main')).toBe(saved.body.commit.sha);
  });

  it('carries a git client’s push on', async () => {
    const { host, project } = await mirrorOf(app);
    const clone = `${host.directory}-clone`;
    const address = `${app.url.replace('://', `://x:${app.token}@`)}/git/acme/${project.name}.git`;
    await client(host.directory, 'clone', '-q', address, clone);
    await client(clone, 'checkout', '-q', '-b', 'pushed');
    await client(clone, 'commit', '-q', '--allow-empty', '-m', 'Empty');
    await client(clone, 'push', '-q', 'origin', 'pushed');
    await app.services.studio.upstreams.settled();
    expect(await host.repository.head('pushed')).toBe(git(clone, ['rev-parse', 'HEAD']));
  });

  it('becomes the only repository again', async () => {
    const { host, project } = await mirrorOf(app);
    expect((await project.ask('DELETE', '/repository/remote')).status).toBe(204);
    expect((await project.ask('DELETE', '/repository/remote')).status).toBe(404);
    const before = await host.repository.head('main');
    const saved = await project.ask('PUT', '/collections/posts/one', edit({ title: 'Two' }));
    expect(saved.body).not.toHaveProperty('sync');
    expect(await host.repository.head('main')).toBe(before);
    expect((await project.ask('GET', '/repository')).body).toMatchObject({
      mode: 'hosted',
      upstream: null,
      sync: null,
    });
    expect((await project.ask('POST', '/repository/sync', {})).status).toBe(404);
  });

  it('begins with the upstream’s default branch', async () => {
    const host = await upstreamHost();
    await save(host.repository, { 'content/posts/one.md': post({ title: 'One' }) });
    await host.repository.createBranch('trunk', (await host.repository.head('main')) ?? '');
    await host.repository.setDefaultBranch('trunk');
    const project = await projectOf(app, 'trunk');
    const { body } = await project.ask('PUT', '/repository/remote', { url: host.url });
    expect(body).toMatchObject({ default_branch: 'trunk', sync: { state: 'in_sync' } });
    expect((await project.ask('POST', '/repository/sync', { branch: 'nowhere' })).status).toBe(404);
  });

  it('joins a project that has content to an upstream that is empty', async () => {
    const project = await projectOf(app, 'filled');
    await project.ask('POST', '/collections/posts', { slug: 'one', frontmatter: { title: 'One' } });
    const host = await upstreamHost();
    const { body } = await project.ask('PUT', '/repository/remote', { url: host.url });
    expect(body.sync).toMatchObject({ state: 'in_sync' });
    expect(await host.repository.head('main')).toBe(await project.git.head('main'));
  });
});
