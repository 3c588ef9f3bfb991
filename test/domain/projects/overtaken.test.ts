import type { EntityManager } from '@mikro-orm/postgresql';
import { beforeAll, expect, it } from 'vitest';
import { Organization } from '../../../src/domain/organizations/organization.entity.ts';
import { updateOrganization } from '../../../src/domain/organizations/organizations.operations.ts';
import { Project, type StudioSettings } from '../../../src/domain/projects/project.entity.ts';
import { holdProject } from '../../../src/domain/projects/project-ref.ts';
import { runRetention } from '../../../src/jobs/upkeep.ts';
import { acme, shared, startTestApp, studio } from '../../support/app.ts';
import { seedPosts } from '../../support/conflict-site.ts';
import { overtake, withBefore } from '../../support/overtake.ts';

const app = shared(startTestApp);
beforeAll(() => seedPosts(app));

const rowOf = (machine_name: string) => app.services.orm.em.fork().findOne(Project, { machine_name });

/** Another writer of the project's settings. */
const setting = (change: Partial<StudioSettings>) => async (em: EntityManager) => {
  const row = await em.findOneOrFail(Project, { machine_name: 'site' });
  row.settings = { ...row.settings, ...change };
  await em.flush();
};

it('two who change different settings of a project at once both have theirs', async () => {
  const change = () => app.ask('PATCH', `${studio}/repository`, { body: { require_preconditions: true } });
  const { status, body } = await overtake(app, setting({ require_pull: true }), change);
  expect(status).toBe(200);
  expect(body.settings).toMatchObject({ require_pull: true, require_preconditions: true });
  expect((await rowOf('site'))?.settings).toMatchObject({ require_pull: true, require_preconditions: true });
});

it('routes that are saved leave a setting that was changed meanwhile', async () => {
  const save = () => app.ask('POST', `${studio}/route-patterns/detect`, { body: { save: true } });
  const { status } = await overtake(app, setting({ protected_branches: ['main'] }), save);
  expect(status).toBe(200);
  expect((await rowOf('site'))?.settings).toMatchObject({ protected_branches: ['main'], routes: expect.anything() });
});

it('two who set different limits of an organisation at once both have theirs', async () => {
  const first = async (em: EntityManager) => {
    const row = await em.findOneOrFail(Organization, { machine_name: 'acme' });
    row.limits = { ...row.limits, execution_days: 10 };
    await em.flush();
  };
  const second = () => app.run(updateOrganization, { organization: 'acme', limits: { crawl_max_html: 20 } });
  await overtake(app, first, second);
  const { limits } = await app.services.orm.em.fork().findOneOrFail(Organization, { machine_name: 'acme' });
  expect(limits).toMatchObject({ execution_days: 10, crawl_max_html: 20 });
});

async function makeDeleted(name: string): Promise<void> {
  await app.ask('POST', `${acme}/projects`, { body: { name } });
  await app.ask('DELETE', `${acme}/projects/${name}`);
  const before = new Date(Date.now() - 31 * 24 * 3600_000);
  await app.services.orm.em.fork().nativeUpdate(Project, { machine_name: name }, { deleted_at: before });
}

it('a project that is brought back while old ones are removed stays, with its repository', async () => {
  await makeDeleted('first');
  await makeDeleted('second');
  const { id } = await app.repository('second');
  const restore = () => app.ask('POST', `${acme}/projects/second/restore`);
  // Between the look at what is old and the removal of the second.
  const git = withBefore(app.services.git, 'remove', async () => expect((await restore()).status).toBe(200));
  await runRetention({ ...app.services, git }, 365);
  expect([await rowOf('first'), (await rowOf('second'))?.deleted_at]).toEqual([null, null]);
  expect(await app.services.git.exists(id)).toBe(true);
});

it('a project that is removed while it is brought back is not found', async () => {
  await makeDeleted('late');
  const remove = async (em: EntityManager) =>
    em.nativeDelete(Project, { id: (await holdProject(em, (await rowOf('late'))?.id ?? 0)).id });
  const { status } = await overtake(app, remove, () => app.ask('POST', `${acme}/projects/late/restore`));
  expect(status).toBe(404);
});
