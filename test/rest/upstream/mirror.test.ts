import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import { post } from '../../support/conflict-site.ts';
import { save } from '../../support/git-store.ts';
import { projectOf, startMirrorApp, upstreamHost } from '../../support/mirror.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startMirrorApp();
});
afterAll(() => app?.stop());

let made = 0;
/** A host with one post, and a project that mirrors it. */
async function mirrored(settings: object = {}) {
  const host = await upstreamHost();
  await save(host.repository, { 'content/posts/one.md': post({ title: 'One', tags: '[a]' }) });
  const project = await projectOf(app, `mirror-${++made}`);
  const set = await project.ask('PUT', '/repository/remote', { url: host.url, ...settings });
  expect(set).toMatchObject({ status: 200 });
  await app.services.upstreams.settled();
  return { host, project, set: set.body };
}

describe('a mirror', () => {
  it('has what the upstream has, and pushes each commit', async () => {
    const { host, project, set } = await mirrored();
    expect(set).toMatchObject({
      mode: 'remote',
      upstream: { url: host.url, auth_kind: 'none', push: 'on_commit' },
      hook_secret: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect((await project.ask('GET', '/collections/posts/one')).body.title).toBe('One');
    const saved = await project.ask('PUT', '/collections/posts/one', { frontmatter: { title: 'Two' } });
    expect(saved).toMatchObject({ status: 200, body: { sync: { state: 'in_sync', ahead_by: 0, behind_by: 0 } } });
    expect(await host.repository.head('main')).toBe(saved.body.commit.sha);
  });
});
