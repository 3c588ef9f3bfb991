import type { EntityManager } from '@mikro-orm/postgresql';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { userChanged } from '../../src/domain/identity/grant-cache.ts';
import { Member } from '../../src/domain/organizations/member.entity.ts';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { User, UserIdentity } from '../../src/domain/users/user.entity.ts';
import { permissionNames, presets } from '../../src/kernel/actor.ts';
import { type Answer, acme, shared, startTestApp } from '../support/app.ts';
import { type Browser, goodPassword, makePerson, openBrowser, secretOf, signedIn } from '../support/browser.ts';
import { overtake } from '../support/overtake.ts';

const app = shared(startTestApp);
let owner: Browser;
beforeAll(async () => {
  await app.run(createProject, { organization: 'acme', name: 'Two' });
  await app.run(createOrganization, { name: 'Other', machine_name: 'other' });
  owner = await signedIn(app, await makePerson(app, { email: 'owner@example.org', role: 'owner' }));
});
beforeEach(() => {
  app.clock.now = null;
});

const members = `${acme}/members`;
const invite = (body: object, by = owner) => by.ask('POST', members, { body });
const accept = (browser: Browser, input: object) =>
  browser.graphql(
    'mutation ($input: AcceptInvitationInput!) { acceptInvitation(input: $input) { user { id email } } }',
    { input },
  );
const messageOf = ({ body }: { body: { message?: string; errors?: { message: string }[] } }) =>
  body.message ?? body.errors?.[0]?.message ?? 'ok';
let made = 0;
const member = async (role: 'owner' | 'admin' | 'editor' | 'readonly') => {
  made += 1;
  const email = `member-${made}@example.org`;
  const browser = await signedIn(app, await makePerson(app, { email, role }));
  const list = (await owner.ask('GET', `${members}?per_page=100`)).body as { email: string; id: number }[];
  return { browser, email, id: list.find((each) => each.email === email)?.id ?? 0 };
};

describe('members', () => {
  it('are invited by a link, and have their rights once they have joined', async () => {
    app.clock.now = new Date();
    const invited = await invite({ email: 'New@Example.org', role: 'editor', permissions: ['manage_studio'] });
    expect([invited.status, invited.headers.get('cache-control')]).toEqual([201, 'no-store']);
    const { join_url, id, expires_at, created_at } = invited.body;
    expect(invited.headers.get('location')).toBe(`${members}/${id}`);
    expect(join_url).toMatch(/^http:\/\/portico\.test\/join#[\w-]{43}$/);
    expect(Date.parse(expires_at) - Date.parse(created_at)).toBe(7 * 24 * 3600_000);
    expect(invited.body).toMatchObject({
      email: 'new@example.org',
      name: null,
      role: 'editor',
      projects: null,
      joined_at: null,
    });
    const browser = openBrowser(app);
    expect(messageOf(await accept(browser, { secret: secretOf(join_url) }))).toBe('name: is required');
    expect(messageOf(await accept(browser, { secret: secretOf(join_url), name: 'New', password: 'short' }))).toBe(
      'password: must be at least 12 characters',
    );
    expect(messageOf(await accept(browser, { secret: secretOf(join_url), name: 'New', password: goodPassword }))).toBe(
      'ok',
    );
    const { grants } = (await browser.graphql('{ me { grants { organization owner permissions projects } } }')).body
      .data.me;
    expect(grants).toEqual([
      { organization: 'acme', owner: false, projects: null, permissions: [...presets.editor, 'manage_studio'] },
    ]);
    expect(
      messageOf(await accept(openBrowser(app), { secret: secretOf(join_url), name: 'N', password: goodPassword })),
    ).toBe('This invitation is no longer valid: ask for a new one');
    const again = await invite({ email: 'new@example.org', role: 'readonly' });
    expect([again.status, again.body.message]).toEqual([409, 'email: new@example.org is a member already']);
  });

  it('who have not joined are invited anew when their rights change: who made the link may not have what it leads to then', async () => {
    const { body } = await invite({ email: 'raised@example.org', role: 'readonly' });
    const raised = await owner.ask('PATCH', `${members}/${body.id}`, { body: { role: 'owner' } });
    expect([raised.status, raised.body.role, raised.body.joined_at]).toEqual([200, 'owner', null]);
    const taking = { secret: secretOf(body.join_url), name: 'Mallory', password: 'a password of mine' };
    expect(messageOf(await accept(openBrowser(app), taking))).toBe(
      'This invitation is no longer valid: ask for a new one',
    );
    const again = (await invite({ email: 'raised@example.org', role: 'editor' })).body;
    expect(again).toMatchObject({ id: body.id, role: 'editor' });
    const joining = { secret: secretOf(again.join_url), name: 'Raised', password: goodPassword };
    expect(messageOf(await accept(openBrowser(app), joining))).toBe('ok');
  });

  it('who have an account join by its password, or signed in to it, but not as somebody else', async () => {
    const link = async (email: string) => secretOf((await invite({ email, role: 'readonly' })).body.join_url);
    await makePerson(app, { email: 'there@example.org' });
    const secret = await link('there@example.org');
    expect(messageOf(await accept(openBrowser(app), { secret }))).toBe('password: is required: of your account');
    expect(messageOf(await accept(openBrowser(app), { secret, password: 'wrong' }))).toBe(
      'password: is not that of your account',
    );
    const somebody = await signedIn(app, await makePerson(app, { email: 'somebody@example.org' }));
    expect(messageOf(await accept(somebody, { secret }))).toMatch(/^The invitation is for another account/);
    expect(messageOf(await accept(openBrowser(app), { secret, password: goodPassword }))).toBe('ok');
    const second = await link('somebody@example.org');
    const before = somebody.cookie;
    expect(messageOf(await accept(somebody, { secret: second }))).toBe('ok');
    expect(somebody.cookie).not.toBe(before);
    expect((await somebody.ask('GET', acme)).status).toBe(200);
  });

  it('who have an account without a password are not taken over by an invitation once it is in use', async () => {
    const taking = async (email: string) => {
      const { join_url } = (await invite({ email, role: 'readonly' })).body;
      return { secret: secretOf(join_url), name: 'Mallory', password: 'a password of mine' };
    };
    const withoutPassword = async (email: string, role?: 'readonly') => {
      const user_id = await makePerson(app, { email, ...(role && { role, organization: 'other' }) });
      await app.services.orm.em.fork().nativeUpdate(User, { id: user_id }, { password: null });
      return user_id;
    };
    await withoutPassword('in-other@example.org', 'readonly');
    const user_id = await withoutPassword('elsewhere-known@example.org');
    const linked_at = new Date();
    await app.services.orm.em
      .fork()
      .insert(UserIdentity, { user_id, issuer: 'https://id.test', subject: 'x', linked_at });
    for (const email of ['in-other@example.org', 'elsewhere-known@example.org'])
      expect(messageOf(await accept(openBrowser(app), await taking(email)))).toMatch(
        /^This account has no password yet/,
      );
    // Of two who accept at the same time the second finds the account of the first.
    const input = await taking('both-at-once@example.org');
    const { id = 0 } = (await app.services.orm.em.fork().findOne(User, { email: 'both-at-once@example.org' })) ?? {};
    const { password } = await app.services.orm.em.fork().findOneOrFail(User, { email: 'owner@example.org' });
    const first = (em: EntityManager) => em.nativeUpdate(User, { id }, { password: password ?? null });
    const second = await overtake(app, first, () => accept(openBrowser(app), input));
    expect(messageOf(second)).toBe('The account has changed meanwhile: sign in again');
  });

  it('who administer the instance and have no password yet are not taken over by an invitation', async () => {
    const email = 'admin-to-be@example.org';
    const root = await signedIn(app, await makePerson(app, { email: 'maker@example.org', instance_admin: true }));
    const created = await root.graphql(
      'mutation ($input: CreateUserInput!) { createUser(input: $input) { reset_url } }',
      { input: { email, name: 'Admin', instance_admin: true } },
    );
    const { join_url } = (await invite({ email, role: 'readonly' })).body;
    const taking = { secret: secretOf(join_url), name: 'Mallory', password: 'a password of mine' };
    const refused = openBrowser(app);
    expect(messageOf(await accept(refused, taking))).toBe(
      'This account has no password yet: set one with the link an administrator made for it, then open the invitation again',
    );
    expect(refused.cookie).toBeNull();
    const browser = openBrowser(app);
    await browser.graphql('mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) { user { id } } }', {
      input: { secret: secretOf(created.body.data.createUser.reset_url), password: 'a password of theirs' },
    });
    expect(messageOf(await accept(browser, { secret: secretOf(join_url) }))).toBe('ok');
  });

  it('lose their rights at once when they are removed, and may be invited again', async () => {
    const { browser, id, email } = await member('editor');
    expect((await browser.ask('GET', acme)).status).toBe(200);
    expect((await owner.ask('DELETE', `${members}/${id}`)).status).toBe(204);
    expect((await browser.ask('GET', acme)).status).toBe(403);
    expect((await owner.ask('DELETE', `${members}/${id}`)).status).toBe(404);
    const { join_url } = (await invite({ email, role: 'readonly' })).body;
    await accept(browser, { secret: secretOf(join_url) });
    expect((await browser.ask('GET', acme)).status).toBe(200);
  });

  it('who are removed, or may no longer, have nothing done that waited for that', async () => {
    const inTurn = (id: number, change: (em: EntityManager) => Promise<unknown>, act: () => Promise<Answer>) =>
      overtake(
        app,
        async (em) => {
          await em.execute(`select 1 from organization where machine_name = 'acme' for update`);
          await change(em);
          await userChanged(em, (await em.findOneOrFail(Member, id)).user_id);
        },
        act,
      );
    const demote = (id: number) => (em: EntityManager) => em.nativeUpdate(Member, { id }, { role: 'readonly' });
    const acts: ((who: { browser: Browser; email: string; id: number }) => Promise<Answer>)[] = [
      ({ browser, email }) => invite({ email: `friend-of-${email}`, role: 'admin' }, browser),
      ({ browser, id }) => browser.ask('PATCH', `${members}/${id}`, { body: { role: 'admin' } }),
      ({ browser }) => browser.ask('POST', `${acme}/tokens`, { body: { name: 'Late', preset: 'admin' } }),
    ];
    for (const act of acts) {
      const kept = await member('admin');
      expect(
        (
          await inTurn(
            kept.id,
            async () => {},
            () => act(kept),
          )
        ).status,
      ).toBeLessThan(300);
      const { id, ...who } = await member('admin');
      expect((await inTurn(id, demote(id), () => act({ id, ...who }))).status).toBe(403);
      expect((await owner.ask('GET', `${members}?per_page=100`)).body).toContainEqual(
        expect.objectContaining({ id, role: 'readonly' }),
      );
    }
  });

  it('are confined to projects, and freed again by null', async () => {
    const { browser, id } = await member('editor');
    const projects = async () =>
      (await browser.ask('GET', `${acme}/projects`)).body.map((each: { machine_name: string }) => each.machine_name);
    expect(await projects()).toEqual(['site', 'two']);
    const change = (body: object) => owner.ask('PATCH', `${members}/${id}`, { body });
    expect((await change({ projects: ['two'] })).body).toMatchObject({ projects: ['two'], role: 'editor' });
    expect(await projects()).toEqual(['two']);
    expect((await browser.ask('GET', members)).status).toBe(403);
    expect((await change({ role: 'readonly' })).body).toMatchObject({ projects: ['two'], role: 'readonly' });
    expect((await change({ projects: null })).body.projects).toBeNull();
    expect(await projects()).toEqual(['site', 'two']);
    for (const [body, message] of [
      [{ projects: ['nowhere'] }, 'projects: nowhere is not a project of this organisation'],
      [{ projects: [] }, 'projects: must name at least one project, or be absent'],
      [{ role: 'owner', projects: ['two'] }, 'projects: must be absent for an Owner, who has all'],
      [{ role: 'king' }, /^role: /],
    ] as const)
      expect(messageOf(await change(body))).toMatch(message);
  });

  it('of whom the last Owner stays, however two of them are removed at the same time', async () => {
    const { browser: second, id } = await member('owner');
    const list = (await owner.ask('GET', `${members}?per_page=100`)).body as { id: number; role: string }[];
    const first = list.find((each) => each.role === 'owner' && each.id !== id)?.id ?? 0;
    const both = await Promise.all([
      owner.ask('PATCH', `${members}/${id}`, { body: { role: 'admin' } }),
      second.ask('PATCH', `${members}/${first}`, { body: { role: 'admin' } }),
    ]);
    expect(both.map(({ status }) => status).sort()).not.toEqual([200, 200]);
    const owners = (await app.ask('GET', `${members}?per_page=100`)).body.filter(
      (each: { role: string }) => each.role === 'owner',
    );
    expect(owners).toHaveLength(1);
    const by = owners[0].id === first ? owner : second;
    for (const answer of [
      await by.ask('DELETE', `${members}/${owners[0].id}`),
      await by.ask('PATCH', `${members}/${owners[0].id}`, { body: { role: 'editor' } }),
    ])
      expect([answer.status, answer.body.code]).toEqual([409, 'conflict']);
    if (by === second) await second.ask('PATCH', `${members}/${first}`, { body: { role: 'owner' } });
    else await owner.ask('PATCH', `${members}/${id}`, { body: { role: 'owner' } });
    await (by === second ? owner : owner).ask('PATCH', `${members}/${id}`, { body: { role: 'admin' } });
  });

  it('stay when all other Owners are disabled', async () => {
    const { email } = await member('owner');
    const list = (await owner.ask('GET', `${members}?per_page=100`)).body as {
      id: number;
      email: string;
      role: string;
    }[];
    const { email: own } = (await owner.graphql('{ me { email } }')).body.data.me;
    const emails = list.filter(({ role }) => role === 'owner').map((each) => each.email);
    expect(emails).toEqual(expect.arrayContaining([own, email]));
    const others = { email: { $in: emails.filter((each) => each !== own) } };
    const em = app.services.orm.em.fork();
    await em.nativeUpdate(User, others, { disabled_at: new Date() });
    const me = `${members}/${list.find((each) => each.email === own)?.id}`;
    const answers = [await owner.ask('DELETE', me), await owner.ask('PATCH', me, { body: { role: 'editor' } })];
    await em.nativeUpdate(User, others, { disabled_at: null });
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(Array(2).fill([409, 'conflict']));
  });

  it('are made Owners, changed and removed as such by Owners only', async () => {
    const { browser: admin } = await member('admin');
    const { id: other } = await member('owner');
    const { id: plain } = await member('readonly');
    const answers = [
      await invite({ email: 'x@example.org', role: 'owner' }, admin),
      await admin.ask('PATCH', `${members}/${plain}`, { body: { role: 'owner' } }),
      await admin.ask('PATCH', `${members}/${other}`, { body: { role: 'readonly' } }),
      await admin.ask('DELETE', `${members}/${other}`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect((await admin.ask('PATCH', `${members}/${plain}`, { body: { role: 'admin' } })).status).toBe(200);
    expect((await owner.ask('DELETE', `${members}/${other}`)).status).toBe(204);
  });

  it('are invited anew as an Owner, or as something else, by Owners only', async () => {
    const { browser: admin } = await member('admin');
    const email = 'owner-to-be@example.org';
    const { join_url } = (await invite({ email, role: 'owner' })).body;
    expect(messageOf(await invite({ email, role: 'readonly' }, admin))).toBe(
      'Only an Owner of the organisation may change or remove an Owner',
    );
    const browser = openBrowser(app);
    const joining = { secret: secretOf(join_url), name: 'Boss', password: 'another good one' };
    expect(messageOf(await accept(browser, joining))).toBe('ok');
  });

  it('are never given what the caller lacks', async () => {
    const some = permissionNames.filter((name) => name !== 'delete_studio' && name !== 'manage_workflows');
    const token = await app.makeToken(some);
    for (const body of [
      { role: 'admin' },
      { role: 'editor' },
      { role: 'readonly', permissions: ['manage_workflows'] },
    ]) {
      const refused = await app.ask('POST', members, { token, body: { email: 'lack@example.org', ...body } });
      expect([refused.status, refused.body.message]).toEqual([403, expect.stringMatching(/^permissions: you lack /)]);
    }
    const good = await app.ask('POST', members, { token, body: { email: 'lack@example.org', role: 'readonly' } });
    expect(good.status).toBe(201);
  });

  it('are found in their own organisation only', async () => {
    const { id } = await member('readonly');
    const foreign = '/api/v2/organizations/other/members';
    const token = await app.makeToken(permissionNames, { organization: 'other' });
    expect((await app.ask('PATCH', `${foreign}/${id}`, { token, body: { role: 'admin' } })).status).toBe(404);
    expect((await app.ask('DELETE', `${foreign}/${id}`, { token })).status).toBe(404);
    expect((await app.ask('GET', members, { token })).status).toBe(403);
    for (const wrong of ['0', 'x', '1.5', '99999999999'])
      expect((await owner.ask('DELETE', `${members}/${wrong}`)).status).toBe(404);
  });

  it('leave rows in the audit log, without the link', async () => {
    await invite({ email: 'audited@example.org', role: 'readonly' });
    const [row] = (await app.ask('GET', `${acme}/audit?action=organizations.inviteMember`)).body;
    expect(row).toMatchObject({
      subject_type: 'member',
      outcome: 'ok',
      changes: { email: 'audited@example.org', role: 'readonly' },
    });
    expect(app.log.join('\n')).not.toMatch(/\/join#[\w-]{43}/);
  });
});

describe('accounts', () => {
  const reset = (browser: Browser, user_id: number) =>
    browser.graphql('mutation ($input: CreateResetLinkInput!) { createResetLink(input: $input) { reset_url } }', {
      input: { user_id },
    });
  const set = (browser: Browser, secret: string, password: string) =>
    browser.graphql('mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) { user { id } } }', {
      input: { secret, password },
    });

  it('get a new password by a link, good for an hour and one use, which ends their sessions', async () => {
    const person = await makePerson(app, { email: 'forgot@example.org', role: 'readonly' });
    const old = await signedIn(app, person);
    const link = async () => secretOf((await reset(owner, person)).body.data.createResetLink.reset_url);
    const replaced = await link();
    const secret = await link();
    const fresh = openBrowser(app);
    expect(messageOf(await set(fresh, replaced, 'another good one'))).toBe(
      'This link is no longer valid: ask for a new one',
    );
    app.clock.now = new Date(Date.now() + 3600_000 + 5_000);
    expect(messageOf(await set(fresh, secret, 'another good one'))).toBe(
      'This link is no longer valid: ask for a new one',
    );
    app.clock.now = new Date(Date.now() + 3600_000 - 60_000);
    expect(messageOf(await set(fresh, secret, 'another good one'))).toBe('ok');
    app.clock.now = null;
    expect((await fresh.ask('GET', acme)).status).toBe(200);
    expect((await old.ask('GET', acme)).status).toBe(401);
  });

  it('get no new password any more by a link that was made before they joined an organisation or changed it', async () => {
    const person = await makePerson(app, { email: 'moves-on@example.org', role: 'readonly' });
    const browser = await signedIn(app, person);
    const link = async () => secretOf((await reset(owner, person)).body.data.createResetLink.reset_url);
    const before = await link();
    const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { user { id } } }';
    const input = { current_password: goodPassword, new_password: 'another good one' };
    expect(messageOf(await browser.graphql(change, { input }))).toBe('ok');
    const between = await link();
    const boss = await makePerson(app, { email: 'boss-of-other@example.org', role: 'owner', organization: 'other' });
    const elsewhere = await (await signedIn(app, boss)).ask('POST', acme.replace('acme', 'other/members'), {
      body: { email: 'moves-on@example.org', role: 'readonly' },
    });
    expect(messageOf(await accept(browser, { secret: secretOf(elsewhere.body.join_url) }))).toBe('ok');
    for (const secret of [before, between])
      expect(messageOf(await set(openBrowser(app), secret, 'one of my own'))).toBe(
        'This link is no longer valid: ask for a new one',
      );
  });

  it('get no new password by a link whose maker owns the organisation no longer, or is disabled', async () => {
    const person = await makePerson(app, { email: 'stays@example.org', role: 'readonly' });
    const root = await signedIn(
      app,
      await makePerson(app, { email: 'root-of-links@example.org', role: 'owner', instance_admin: true }),
    );
    const disable = 'mutation ($input: DisableUserInput!) { disableUser(input: $input) { id } }';
    const ends = {
      demoted: (id: number) => owner.ask('PATCH', `${members}/${id}`, { body: { role: 'readonly' } }),
      removed: (id: number) => owner.ask('DELETE', `${members}/${id}`),
      disabled: (_id: number, user_id: number) => root.graphql(disable, { input: { user_id } }),
    };
    for (const [how, end] of Object.entries(ends)) {
      const email = `${how}@example.org`;
      const user = await makePerson(app, { email, role: 'owner' });
      const secret = secretOf((await reset(await signedIn(app, user), person)).body.data.createResetLink.reset_url);
      const list = (await owner.ask('GET', `${members}?per_page=100`)).body;
      const { id } = list.find((one: { email: string }) => one.email === email);
      expect((await end(id, user)).status).toBeLessThan(300);
      expect([how, messageOf(await set(openBrowser(app), secret, 'one of the maker'))]).toEqual([
        how,
        'This link is no longer valid: ask for a new one',
      ]);
    }
  });

  it('are reset by an administrator, or by who owns every organisation they are in', async () => {
    const { browser: admin } = await member('admin');
    const person = await makePerson(app, { email: 'both@example.org', role: 'readonly' });
    expect(messageOf(await reset(admin, person))).toMatch(/^Only an administrator/);
    expect(messageOf(await reset(owner, person))).toBe('ok');
    const stranger = await makePerson(app, { email: 'elsewhere@example.org', role: 'readonly', organization: 'other' });
    const boss = await makePerson(app, { email: 'boss@example.org', role: 'readonly', instance_admin: true });
    expect(messageOf(await reset(owner, stranger))).toMatch(/^Only an administrator/);
    expect(messageOf(await reset(owner, boss))).toMatch(/^Only an administrator/);
    expect(messageOf(await reset(owner, 999_999))).toMatch(/^Only an administrator/);
    const root = await signedIn(app, boss);
    expect([messageOf(await reset(root, stranger)), messageOf(await reset(root, 999_999))]).toEqual([
      'ok',
      'User not found',
    ]);
  });

  it('are not reset by an Owner whose invitation they have not accepted', async () => {
    const email = 'free@example.org';
    const person = await makePerson(app, { email });
    const { join_url } = (await invite({ email, role: 'readonly' })).body;
    expect(messageOf(await reset(owner, person))).toMatch(/^Only an administrator/);
    const browser = await signedIn(app, person);
    expect(messageOf(await accept(browser, { secret: secretOf(join_url) }))).toBe('ok');
    expect(messageOf(await reset(owner, person))).toBe('ok');
  });

  it('that are disabled are out at once, until they are enabled again', async () => {
    const root = await signedIn(app, await makePerson(app, { email: 'root@example.org', instance_admin: true }));
    const person = await makePerson(app, { email: 'out@example.org', role: 'readonly' });
    const browser = await signedIn(app, person);
    const disable = (by: Browser, user_id: number, disabled: boolean) =>
      by.graphql('mutation ($input: DisableUserInput!) { disableUser(input: $input) { disabled_at } }', {
        input: { user_id, disabled },
      });
    expect(messageOf(await disable(owner, person, true))).toBe('Only an administrator of this instance may do this');
    const secret = secretOf((await reset(root, person)).body.data.createResetLink.reset_url);
    expect(messageOf(await disable(root, person, true))).toBe('ok');
    expect((await browser.ask('GET', acme)).status).toBe(401);
    await disable(root, person, false);
    expect(messageOf(await set(openBrowser(app), secret, 'a link of before'))).toBe(
      'This link is no longer valid: ask for a new one',
    );
    expect((await (await signedIn(app, person)).ask('GET', acme)).status).toBe(200);
    const { id } = await app.services.orm.em.fork().findOneOrFail(User, { email: 'root@example.org' });
    expect(messageOf(await disable(root, id, true))).toMatch(/^You cannot disable your own account/);
  });

  it('are created by an administrator, who owns the organisations they create', async () => {
    const root = await signedIn(app, await makePerson(app, { email: 'root2@example.org', instance_admin: true }));
    const created = await root.graphql(
      'mutation ($input: CreateUserInput!) { createUser(input: $input) { reset_url user { email } } }',
      {
        input: { email: 'made@example.org', name: 'Made' },
      },
    );
    expect(created.body.data.createUser).toMatchObject({ user: { email: 'made@example.org' } });
    const { body } = await root.ask('POST', '/api/v2/organizations', { body: { name: 'Mine' } });
    expect(body.machine_name).toBe('mine');
    expect((await root.ask('GET', '/api/v2/organizations/mine')).status).toBe(200);
    const listed = await root.graphql('{ users(first: 100) { nodes { email } } }');
    expect(listed.body.data.users.nodes).toContainEqual({ email: 'made@example.org' });
    expect(messageOf(await owner.graphql('{ users { nodes { email } } }'))).toBe(
      'Only an administrator of this instance may do this',
    );
  });
});
