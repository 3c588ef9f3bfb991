import { describe, expect, it } from 'vitest';
import { AuditRow } from '../../src/domain/audit/audit.entity.ts';
import { Token } from '../../src/domain/identity/token.entity.ts';
import { Member } from '../../src/domain/organizations/member.entity.ts';
import { Organization } from '../../src/domain/organizations/organization.entity.ts';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { Project } from '../../src/domain/projects/project.entity.ts';
import { createProject, deleteProject } from '../../src/domain/projects/projects.operations.ts';
import { OneTimeLink } from '../../src/domain/users/one-time-link.ts';
import { runRetention } from '../../src/jobs/upkeep.ts';
import { permissionNames } from '../../src/kernel/actor.ts';
import { shared, startTestApp } from '../support/app.ts';
import { makePerson, openBrowser, signedIn } from '../support/browser.ts';
import { overtake } from '../support/overtake.ts';
import { expectRefusal } from '../support/refusal.ts';

const app = shared(startTestApp);

let made = 0;
/** An organisation with a project, a token, and a person in it. */
async function place(role: 'owner' | 'admin' = 'owner') {
  made += 1;
  const name = `place-${made}`;
  await app.run(createOrganization, { name, machine_name: name });
  await app.run(createProject, { organization: name, name: 'Site' });
  const token = await app.makeToken(permissionNames, { organization: name });
  const email = `${name}@example.org`;
  const browser = await signedIn(app, await makePerson(app, { email, role, organization: name }));
  return { name, token, browser, path: `/api/v2/organizations/${name}` };
}

describe('DELETE of an organisation', () => {
  it('ends its projects, tokens and memberships, and frees its name', async () => {
    const { name, token, browser, path } = await place();
    const { status, body } = await browser.ask('DELETE', `${path}?confirm=${name}`);
    expect({ status, body: body || null }).toEqual({ status: 204, body: null });
    expectRefusal(await browser.ask('GET', path), 404, 'not_found', 'Organisation not found');
    expect((await app.ask('GET', path, { token })).status).toBe(401);
    expect((await browser.ask('GET', '/api/v2/organizations')).body).toEqual([]);
    const em = app.services.orm.em.fork();
    const gone = await em.findOneOrFail(Organization, { machine_name: name });
    expect(await em.count(Project, { organization_id: gone.id, deleted_at: null })).toBe(0);
    await app.run(createOrganization, { name, machine_name: name });
    expect(await em.count(Organization, { machine_name: name, deleted_at: null })).toBe(1);
  });

  it('ends the links by which its members could be given a password', async () => {
    const { name, browser, path } = await place();
    const user_id = await makePerson(app, { email: `${name}-two@example.org`, role: 'editor', organization: name });
    const link = 'mutation ($user_id: Int!) { createResetLink(input: { user_id: $user_id }) { reset_url } }';
    const { body } = await browser.graphql(link, { user_id });
    expect(body.data.createResetLink.reset_url).toContain('/reset#');
    const left = () => app.services.orm.em.fork().count(OneTimeLink, { user_id });
    expect(await left()).toBe(1);
    expect((await browser.ask('DELETE', `${path}?confirm=${name}`)).status).toBe(204);
    expect(await left()).toBe(0);
  });

  it('is refused without the name of the organisation, naming the field', async () => {
    const { name, browser, path } = await place();
    expectRefusal(await browser.ask('DELETE', path), 400, 'invalid_request', 'confirm: is required');
    const wrong = `confirm: must be ${name}, the name of what is to be deleted`;
    expectRefusal(await browser.ask('DELETE', `${path}?confirm=acme`), 400, 'invalid_request', wrong);
    expect((await browser.ask('GET', path)).status).toBe(200);
  });

  it('is refused to an Admin, to tokens and to an Owner who has not proved who they are', async () => {
    const { name, token, browser, path } = await place('admin');
    const refusal = 'Only an Owner of the organisation may do this';
    expectRefusal(await browser.ask('DELETE', `${path}?confirm=${name}`), 403, 'forbidden', refusal);
    expectRefusal(await app.ask('DELETE', `${path}?confirm=${name}`, { token }), 403, 'forbidden', refusal);
    const old = await place();
    app.clock.now = new Date(Date.now() + 11 * 60_000);
    const late = await old.browser.ask('DELETE', `${old.path}?confirm=${old.name}`);
    app.clock.now = null;
    expect(late.body.code).toBe('reauthentication_required');
    expect((await openBrowser(app).ask('DELETE', `${path}?confirm=${name}`)).status).toBe(401);
  });

  it('leaves the audit log, and data for 30 days', async () => {
    const { name, browser } = await place();
    const query = `mutation { deleteOrganization(organization: "${name}", input: { confirm: "${name}" }) { organization { machine_name } } }`;
    const { body } = await browser.graphql(query, {});
    expect(body).toEqual({ data: { deleteOrganization: { organization: { machine_name: name } } } });
    const em = () => app.services.orm.em.fork();
    const { id } = await em().findOneOrFail(Organization, { machine_name: name });
    const rows = () => em().count(AuditRow, { organization_id: id, action: 'organizations.deleteOrganization' });
    const left = async () => [
      await em().count(Organization, { id }),
      await em().count(Project, { organization_id: id }),
    ];
    app.clock.now = new Date(Date.now() + 29 * 24 * 3600_000);
    await runRetention(app.services, 365);
    expect(await left()).toEqual([1, 1]);
    app.clock.now = new Date(Date.now() + 31 * 24 * 3600_000);
    await runRetention(app.services, 365);
    app.clock.now = null;
    expect(await left()).toEqual([0, 0]);
    expect(await rows()).toBe(1);
  });
});

type Place = Awaited<ReturnType<typeof place>>;

describe('what comes while an organisation is deleted is refused, and leaves nothing in it', () => {
  const email = ({ name }: Place) => `${name}-new@example.org`;
  const invite = (at: Place) =>
    at.browser.ask('POST', `${at.path}/members`, { body: { email: email(at), role: 'editor' } });
  const nothing = async (_at: Place): Promise<unknown> => null;

  it.each<
    [string, (at: Place) => Promise<unknown>, (at: Place, made: never) => Promise<{ status: number; body: unknown }>]
  >([
    ['a project', nothing, ({ path, token }) => app.ask('POST', `${path}/projects`, { token, body: { name: 'Late' } })],
    [
      'a project that is restored',
      ({ name }) => app.run(deleteProject, { organization: name, project: 'site' }),
      ({ path, token }) => app.ask('POST', `${path}/projects/site/restore`, { token }),
    ],
    [
      'a token',
      nothing,
      ({ path, token }) => app.ask('POST', `${path}/tokens`, { token, body: { name: 'Late', preset: 'readonly' } }),
    ],
    ['an invitation', nothing, invite],
    [
      'a member who joins',
      async (at) => new URL((await invite(at)).body.join_url).hash.slice(1),
      async (_at, secret: string) => {
        const join = 'mutation ($input: AcceptInvitationInput!) { acceptInvitation(input: $input) { user { id } } }';
        const input = { secret, name: 'Late', password: 'correct horse battery' };
        const { body } = await openBrowser(app).graphql(join, { input });
        return { status: body.errors?.[0].extensions.code === 'NOT_FOUND' ? 404 : 200, body };
      },
    ],
  ])('%s', async (_what, prepare, act) => {
    const at = await place();
    const made = (await prepare(at)) as never;
    const { id } = await app.services.orm.em.fork().findOneOrFail(Organization, { machine_name: at.name });
    const { status } = await overtake(
      app,
      async (em) => {
        await em.execute('select 1 from organization where id = ? for update', [id]);
        await em.execute('update organization set deleted_at = now() where id = ?', [id]);
        await em.execute('update project set deleted_at = now() where organization_id = ?', [id]);
        await em.execute('delete from member where organization_id = ?', [id]);
      },
      () => act(at, made),
    );
    expect(status).toBe(404);
    const em = app.services.orm.em.fork();
    const left = [
      await em.count(Project, { organization_id: id, deleted_at: null }),
      await em.count(Token, { organization_id: id, name: 'Late' }),
      await em.count(Member, { organization_id: id }),
    ];
    expect(left).toEqual([0, 0, 0]);
  });
});
