import type { EntityManager } from '@mikro-orm/postgresql';
import { expect, it } from 'vitest';
import { Organization } from '../../../src/domain/organizations/organization.entity.ts';
import { loadProject } from '../../../src/domain/projects/project-ref.ts';
import { openUpstream, storeUpstream } from '../../../src/domain/studio/upstream/remote.ts';
import { syncPass } from '../../../src/domain/studio/upstream/sync-pass.ts';
import { Upstream, UpstreamBranch } from '../../../src/domain/studio/upstream/upstream.entity.ts';
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
  const em = app.services.orm.em.fork();
  const project = await loadProject(em, { id: made.record.id });
  if (!project) throw new Error('there is no such project');
  const organization = await em.findOneOrFail(Organization, { id: project.organization_id });
  const set = (within: EntityManager, url: string, token: string) =>
    storeUpstream(
      { em: within, services: app.services, project, organization: organization as never },
      { url, auth: { kind: 'token', token }, push: 'on_commit', new_hook_secret: false },
    );
  const rowOf = () => app.services.orm.em.fork().findOneOrFail(Upstream, { project_id: project.id });
  return { host, other: await upstreamHost(), project, set, rowOf };
}

it('what a pass finds out of an upstream that was replaced meanwhile is not kept of the new one', async () => {
  const { host, other, project, set, rowOf } = await mirrorOfTwo();
  await save(host.repository, { 'content/posts/two.md': post({ title: 'Two' }) });
  const replace = () => app.services.orm.em.fork().transactional((em) => set(em, other.url, 'another'));
  const git = withBefore(app.services.git, 'fetchUpstream', replace);
  await expect(syncPass({ ...app.services, git }, project, pass)).rejects.toMatchObject({ code: 'busy' });
  const branches = await app.services.orm.em.fork().find(UpstreamBranch, { project_id: project.id });
  expect([branches, (await rowOf()).fetched_at ?? null]).toEqual([[], null]);
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
