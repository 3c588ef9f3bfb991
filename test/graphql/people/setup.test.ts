import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeLink } from '../../../src/domain/users/one-time-link.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { goodPassword, openBrowser, secretOf } from '../../support/browser.ts';

let app: TestApp;
beforeEach(async () => {
  app = await startTestApp();
});
afterEach(() => app.stop());

const document = `mutation ($input: SetupInput!) { setup(input: $input) { organization user { id email instance_admin } } }`;
const link = async () => secretOf((await makeLink(app.services.orm.em.fork(), app.services, 'setup')).url);
const person = {
  name: 'Ada',
  email: ' Ada@Example.org ',
  password: goodPassword,
  organization_name: 'Analytical Engines',
};
const send = (secret: string, more: object = {}, headers = {}) => {
  const browser = openBrowser(app);
  const answer = browser.graphql(document, { input: { secret, ...person, ...more } }, headers);
  return answer.then(({ body, status }) => ({ browser, body, status }));
};
const me = `{ me { id email instance_admin grants { organization owner } } instance { setup_required password_sign_in } }`;

describe('setup', () => {
  it('makes an administrator who owns a new organisation and those without an Owner, and signs them in', async () => {
    const before = await openBrowser(app).graphql('{ instance { setup_required } me { id } }');
    expect(before.body.data).toEqual({ instance: { setup_required: true }, me: null });
    const { browser, body } = await send(await link());
    expect(body.data.setup).toEqual({
      organization: 'analytical-engines',
      user: { id: 1, email: 'ada@example.org', instance_admin: true },
    });
    expect(browser.setCookie).toMatch(/^portico=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/);
    expect((await browser.graphql(me)).body.data).toEqual({
      me: {
        id: 'user:1',
        email: 'ada@example.org',
        instance_admin: true,
        grants: [
          { organization: 'acme', owner: true },
          { organization: 'analytical-engines', owner: true },
        ],
      },
      instance: { setup_required: false, password_sign_in: true },
    });
  });

  it('succeeds once when two people use the link at the same time', async () => {
    const secret = await link();
    const all = await Promise.all([send(secret), send(secret, { email: 'b@example.org', organization_name: 'B' })]);
    const codes = all.map(({ body }) => body.errors?.[0].extensions.code ?? 'ok');
    expect(codes.sort()).toEqual(['CONFLICT', 'ok']);
    expect(await app.services.orm.em.fork().execute('select count(*)::int as n from "user"')).toEqual([{ n: 1 }]);
  });

  it('is refused with a secret that is wrong, replaced or a day old, and leaves nothing', async () => {
    const replaced = await link();
    const secret = await link();
    for (const wrong of ['', 'x', replaced, `${secret}x`]) {
      const { body } = await send(wrong);
      expect(body.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    }
    const made = Date.now();
    app.clock.now = new Date(made + 24 * 3600_000 + 5_000);
    expect((await send(secret)).body.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    app.clock.now = new Date(made + 24 * 3600_000 - 60_000);
    expect((await send(secret)).body.errors).toBeUndefined();
  });

  it('keeps the link when what was given is refused', async () => {
    const secret = await link();
    const refused = [
      [{ password: 'short' }, 'password: must be at least 12 characters'],
      [{ password: 'x'.repeat(257) }, 'password: must be at most 256 characters'],
      [{ password: 'ADA@example.org' }, 'password: must not be your e-mail or your name'],
      [{ name: 'Ada Lovelace King', password: 'ada lovelace king' }, 'password: must not be your e-mail or your name'],
      [{ email: 'ada' }, 'email: must be an e-mail address'],
      [{ organization_name: 'Acme' }, 'organization_name: acme is taken; choose another name'],
      [
        { organization_name: '!' },
        'machine_name: is required, because the name has no letter or digit to make one from',
      ],
    ] as const;
    for (const [more, message] of refused) expect((await send(secret, more)).body.errors).toMatchObject([{ message }]);
    expect((await send(secret, { password: 'x'.repeat(12) })).body.errors).toBeUndefined();
  });

  it('is refused from a page of another site', async () => {
    const secret = await link();
    for (const site of ['cross-site', 'same-site', 'none'])
      expect((await send(secret, {}, { 'Sec-Fetch-Site': site })).body.errors).toMatchObject([
        { extensions: { code: 'FORBIDDEN' } },
      ]);
  });
});
