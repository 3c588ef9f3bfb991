import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createOrganization } from '../../../src/domain/organizations/organizations.operations.ts';
import { makeLink } from '../../../src/domain/users/one-time-link.ts';
import { acme, shared, startTestApp } from '../../support/app.ts';
import { type Browser, goodPassword, makePerson, openBrowser, secretOf, signedIn } from '../../support/browser.ts';
import { noteHeldConnections } from '../../support/held-connections.ts';

const app = shared(startTestApp);
let owner: Browser;
let invited: number;
beforeAll(async () => {
  await app.run(createOrganization, { name: 'Other', machine_name: 'other' });
  owner = await signedIn(app, await makePerson(app, { email: 'owner@example.org', role: 'owner' }));
  invited = await makePerson(app, { email: 'invited@example.org', organization: 'other', role: 'editor' });
});
beforeEach(() => app.services.orm.em.fork().execute('delete from sign_in_throttle'));

const mutations = {
  acceptInvitation: 'mutation ($input: AcceptInvitationInput!) { acceptInvitation(input: $input) { user { id } } }',
  resetPassword: 'mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) { user { id } } }',
  setup: 'mutation ($input: SetupInput!) { setup(input: $input) { user { id } } }',
};
type Name = keyof typeof mutations;
const send = async (name: Name, input: object) => {
  const { body } = await openBrowser(app).graphql(mutations[name], { input });
  return body.errors?.[0]?.extensions.reason ?? 'ok';
};
const rowsOf = async (name: Name) => {
  const rows = await app.services.orm.em
    .fork()
    .execute<{ id: string }[]>('select id from audit where action = ?', [`identity.${name}`]);
  return rows.length;
};
const secret = 'A'.repeat(43);

describe('links that are good for one use', () => {
  it('are opened without a wait for a connection while one is held', async () => {
    const { body } = await owner.ask('POST', `${acme}/members`, {
      body: { email: 'invited@example.org', role: 'editor' },
    });
    const join = secretOf(body.join_url);
    const held = await noteHeldConnections(app.services.orm);
    const accept = (password: string) => send('acceptInvitation', { secret: join, password });
    expect([await accept('not that one'), await accept(goodPassword)]).toEqual(['forbidden', 'ok']);
    const em = app.services.orm.em.fork();
    const { url } = await makeLink(em, app.services, 'reset', { user_id: invited });
    expect(await send('resetPassword', { secret: secretOf(url), password: 'another good one' })).toBe('ok');
    expect(held).toEqual([]);
  });

  it.each(['acceptInvitation', 'resetPassword'] as const)(
    '%s is refused after fifty that open nothing, and leaves no rows from then on',
    async (name) => {
      const before = await rowsOf(name);
      const input = { secret, password: goodPassword, ...(name === 'acceptInvitation' && { name: 'Eve' }) };
      const outcomes = [];
      for (let at = 0; at < 60; at += 1)
        outcomes.push(await send(name, { ...input, secret: secret.slice(2) + String(10 + at) }));
      expect(outcomes.slice(0, 50)).toEqual(Array(50).fill('forbidden'));
      expect(outcomes.slice(50)).toEqual(Array(10).fill('rate_limited'));
      expect((await rowsOf(name)) - before).toBe(50);
    },
  );

  it('leave no row of a set-up that is over', async () => {
    const input = { secret, name: 'Eve', email: 'eve@example.org', password: goodPassword, organization_name: 'E' };
    expect(await send('setup', input)).toBe('conflict');
    expect(await rowsOf('setup')).toBe(0);
  });
});
