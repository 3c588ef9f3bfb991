import type { EntityManager } from '@mikro-orm/postgresql';
import { expect, it } from 'vitest';
import { Organization } from '../../../src/domain/organizations/organization.entity.ts';
import { loadProject } from '../../../src/domain/projects/project-ref.ts';
import { openUpstream, storeUpstream } from '../../../src/domain/studio/upstream/remote.ts';
import { syncPass } from '../../../src/domain/studio/upstream/sync-pass.ts';
import { Upstream, UpstreamBranch } from '../../../src/domain/studio/upstream/upstream.entity.ts';
import { DomainError } from '../../../src/kernel/errors.ts';
import { replacing } from '../../../src/lib/objects.ts';
import { shared } from '../../support/app.ts';
import { post } from '../../support/conflict-site.ts';
import { save } from '../../support/git-store.ts';
import { mirrorOf, startMirrorApp, upstreamHost } from '../../support/mirror.ts';
import { overtake, withBefore } from '../../support/overtake.ts';

const app = shared(startMirrorApp);

const pass = {
  fetch: true,
  push: 'as_set' as const,
  branches: null,
  resolutions: null,
  author: { name: 'Test', email: 'test@portico.test' },
  signal: new AbortController().signal,
};

/** A mirror, and another upstream for it, set as `PUT /repository/remote` does. */
async function mirrorOfTwo() {
  const { host, project: made } = await mirrorOf(app);
  const other = await upstreamHost();
  const em = app.services.orm.em.fork();
  const project = await loadProject(em, { id: made.record.id });
  if (!project) throw new Error('there is no such project');
  const organization = await em.findOneOrFail(Organization, { id: project.organization_id });
  const set = (within: EntityManager, url: string, token: string) =>
    storeUpstream(
      { em: within, services: app.services, project, organization: organization as never },
      { url, auth: { kind: 'token', token }, push: 'on_commit', new_hook_secret: false },
    );
  const remove = () => app.services.orm.em.fork().nativeDelete(Upstream, { project_id: project.id });
  const replace = () => app.services.orm.em.fork().transactional((em) => set(em, other.url, 'another'));
  const rowOf = () => app.services.orm.em.fork().findOneOrFail(Upstream, { project_id: project.id });
  return { host, other, project, git: made.git, set, remove, replace, rowOf };
}

const branchesOf = ({ id }: { id: number }) =>
  app.services.orm.em.fork().find(UpstreamBranch, { project_id: id }, { orderBy: { name: 'asc' } });

it.each(['replaced', 'removed, and another one set'])(
  'what a pass finds out of an upstream that is %s meanwhile is not kept of the new one',
  async (how) => {
    const { host, project, remove, replace, rowOf } = await mirrorOfTwo();
    await save(host.repository, { 'content/posts/two.md': post({ title: 'Two' }) });
    const git = withBefore(app.services.git, 'fetchUpstream', async () => {
      if (how !== 'replaced') await remove();
      await replace();
    });
    await expect(syncPass({ ...app.services, git }, project, pass)).rejects.toMatchObject({ code: 'busy' });
    expect([await branchesOf(project), (await rowOf()).fetched_at ?? null]).toEqual([[], null]);
  },
);

it('a failure of an upstream that was removed is not kept of the next one', async () => {
  const { project, remove, replace, rowOf } = await mirrorOfTwo();
  const git = replacing(app.services.git, {
    async fetchUpstream() {
      await remove();
      await replace();
      throw new DomainError('upstream_unavailable', 'The old one is down');
    },
  });
  await expect(syncPass({ ...app.services, git }, project, pass)).rejects.toMatchObject({
    code: 'upstream_unavailable',
  });
  expect((await rowOf()).fetch_error ?? null).toBeNull();
});

it('what was fetched from another host is not taken for the branches of one that was never fetched', async () => {
  const { other, project, git, replace } = await mirrorOfTwo();
  await replace();
  await syncPass(app.services, project, { ...pass, fetch: false, branches: ['main'] });
  expect(await other.repository.head('main')).toBe(await git.head('main'));
});

it('a pass begins only when another process has ended the one for an upstream that was removed', async () => {
  const { project, remove, replace } = await mirrorOfTwo();
  const events: string[] = [];
  const begun = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const first = replacing(app.services.git, {
    async fetchUpstream() {
      begun.resolve();
      await release.promise;
      events.push('the old one ends');
      throw new DomainError('upstream_unavailable', 'The old one is down');
    },
  });
  const old = syncPass({ ...app.services, git: first }, project, pass).catch(() => {});
  await begun.promise;
  await remove();
  await replace();
  const { locks } = app.services;
  const second = {
    ...app.services,
    git: withBefore(app.services.git, 'fetchUpstream', async () => {
      events.push('the new one begins');
      release.resolve();
    }),
    locks: replacing(locks, {
      async unlessHeld<Result>(name: string, work: () => Promise<Result>) {
        const done = await locks.unlessHeld(name, work);
        if (!done) release.resolve();
        return done;
      },
    }),
  };
  await syncPass(second, project, pass);
  await old;
  expect(events).toEqual(['the old one ends', 'the new one begins']);
});

it('a pass that waits for a host ends when the upstream is removed', async () => {
  const { project, remove } = await mirrorOfTwo();
  const git = replacing(app.services.git, {
    async fetchUpstream(_id, _remote, signal) {
      await remove();
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  await expect(syncPass({ ...app.services, git }, project, pass)).rejects.toMatchObject({ code: 'not_found' });
});

it('a commit made after the upstream was removed is not pushed there, nor is what was fetched there taken', async () => {
  const { host, project, git: local, remove } = await mirrorOfTwo();
  const { commit: theirs } = await save(host.repository, { 'content/posts/two.md': post({ title: 'Two' }) });
  let ours: string | undefined;
  const git = withBefore(app.services.git, 'fetchUpstream', async () => {
    await remove();
    ours = (await save(local, { 'content/posts/secret.md': post({ title: 'Secret' }) })).commit?.sha;
  });
  await expect(syncPass({ ...app.services, git }, project, pass)).rejects.toMatchObject({ code: 'not_found' });
  expect([await host.repository.head('main'), await local.head('main')]).toEqual([theirs?.sha, ours]);
});

it('a pass pushes no further branch when the upstream is replaced during a push', async () => {
  const { host, project, git: local, replace } = await mirrorOfTwo();
  const first = (await local.head('main')) ?? '';
  for (const name of ['a', 'b']) await local.createBranch(name, first);
  const git = withBefore(app.services.git, 'pushUpstream', replace);
  await expect(syncPass({ ...app.services, git }, project, pass)).rejects.toMatchObject({ code: 'busy' });
  expect((await host.repository.branches()).map(({ name }) => name)).toEqual(['refs/heads/a', 'refs/heads/main']);
  expect(await branchesOf(project)).toEqual([]);
});

it('a pass that is stopped keeps how the branches stand that it has pushed', async () => {
  const { project, git: local } = await mirrorOfTwo();
  const first = (await local.head('main')) ?? '';
  for (const name of ['a', 'b']) await local.createBranch(name, first);
  const stop = new AbortController();
  const git = replacing(app.services.git, {
    async pushUpstream(...given) {
      const answer = await app.services.git.pushUpstream(...given);
      stop.abort(new DomainError('unavailable', 'The server is stopping'));
      return answer;
    },
  });
  const stopped = syncPass({ ...app.services, git }, project, { ...pass, signal: stop.signal });
  await expect(stopped).rejects.toMatchObject({ code: 'unavailable' });
  const kept = (await branchesOf(project)).map(({ name, synced_sha, problem }) => [name, synced_sha, problem ?? null]);
  expect(kept).toEqual([
    ['a', first, null],
    ['main', first, null],
  ]);
});

it('of two who set an upstream at once, the credentials of one never go to the address of the other', async () => {
  const { host, other, project, set, rowOf } = await mirrorOfTwo();
  const first = (em: EntityManager) => set(em, other.url, 'of the other');
  const second = () => app.services.orm.em.fork().transactional((em) => set(em, host.url, 'of the first'));
  await overtake(app, first, second);
  expect(await openUpstream(app.services, project, await rowOf())).toMatchObject({
    url: host.url,
    auth: { token: 'of the first' },
  });
});
