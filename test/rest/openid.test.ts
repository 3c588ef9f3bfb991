import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { UserIdentity } from '../../src/domain/users/user.entity.ts';
import { shared, startTestApp } from '../support/app.ts';
import { type Browser, makePerson, openBrowser, secretOf, signedIn } from '../support/browser.ts';
import { oidcClient, openIdProvider } from '../support/openid-provider.ts';

const publicUrl = 'http://portico.test';
const provider = shared(() => openIdProvider(`${publicUrl}/auth/oidc/callback`));
const app = shared(() =>
  startTestApp({
    PORTICO_OIDC_ISSUER: provider.issuer,
    PORTICO_OIDC_CLIENT_ID: oidcClient.id,
    PORTICO_OIDC_CLIENT_SECRET: oidcClient.secret,
  }),
);
let id: number;
beforeAll(async () => {
  id = await makePerson(app, { email: 'ada@example.org', role: 'readonly' });
});
beforeEach(() => {
  app.clock.now = null;
  provider.account = 'ada-there';
});

/** Follows redirects as a browser does, with the cookies of each host, until a page of ours. @returns its address */
async function travel(
  browser: Browser,
  path: string,
  site = 'same-origin',
  change = (url: string) => url,
  /** Another session of this browser from the first redirect on: the cookie it has by then. */
  switchedTo: string | null = null,
) {
  const jars: Record<string, Map<string, string>> = { [publicUrl]: new Map(), [provider.issuer]: new Map() };
  const [name = '', value = ''] = browser.cookie?.split('=') ?? [];
  if (browser.cookie) jars[publicUrl]?.set(name, value);
  let url = `${publicUrl}${path}`;
  for (let hop = 0; hop < 10 && !url.startsWith(`${publicUrl}/sign-in`); hop += 1) {
    const { origin } = new URL(url);
    const jar = jars[origin] ?? new Map();
    const response = await fetch(change(url).replace(publicUrl, app.url), {
      redirect: 'manual',
      headers: {
        Cookie: [...jar].map((pair) => pair.join('=')).join('; '),
        'Sec-Fetch-Site': hop === 0 ? site : 'cross-site',
      },
    });
    for (const line of response.headers.getSetCookie()) {
      const [key = '', text = ''] = line.split(';')[0]?.split(/=(.*)/s) ?? [];
      jar.set(key, text);
    }
    await response.arrayBuffer();
    if (hop === 0 && switchedTo !== null) jars[publicUrl]?.set('portico', switchedTo.replace(/^portico=/, ''));
    url = new URL(response.headers.get('location') ?? '/sign-in#stuck', url).href;
  }
  const session = jars[publicUrl]?.get('portico');
  browser.cookie = session ? `portico=${session}` : null;
  return url.slice(publicUrl.length);
}
const whoIs = async (browser: Browser) => (await browser.graphql('{ me { id } }')).body.data?.me?.id ?? null;
const identities = async (browser: Browser) =>
  (await browser.graphql('{ identities { id issuer } }')).body.data.identities as { id: number; issuer: string }[];

describe('an account at the provider', () => {
  it('signs in once it is linked from inside a session, and not before', async () => {
    expect((await openBrowser(app).graphql('{ instance { oidc } }')).body.data.instance.oidc).toBe(
      new URL(provider.issuer).host,
    );
    const stranger = openBrowser(app);
    expect(await travel(stranger, '/auth/oidc')).toBe('/sign-in#unauthenticated');
    expect(stranger.cookie).toBeNull();
    const person = await signedIn(app, id);
    expect(await travel(person, '/auth/oidc?link')).toBe('/sign-in');
    expect(await identities(person)).toMatchObject([{ issuer: provider.issuer }]);
    const browser = openBrowser(app);
    expect(await travel(browser, '/auth/oidc')).toBe('/sign-in');
    expect(await whoIs(browser)).toBe(`user:${id}`);
    const other = await signedIn(app, await makePerson(app, { email: 'other@example.org', role: 'readonly' }));
    expect(await travel(other, '/auth/oidc?link')).toBe('/sign-in#already_exists');
  });

  it('is not linked from another site, nor long after the last proof of who is signed in', async () => {
    provider.account = 'somebody else there';
    const person = await signedIn(app, id);
    for (const site of ['cross-site', 'same-site', 'none'])
      expect(await travel(person, '/auth/oidc?link', site)).toBe('/sign-in#forbidden');
    app.clock.now = new Date(Date.now() + 10.1 * 60_000);
    expect(await travel(person, '/auth/oidc?link')).toBe('/sign-in#reauthentication_required');
    expect(await travel(openBrowser(app), '/auth/oidc?link')).toBe('/sign-in#unauthenticated');
  });

  it('is not linked by another person than the one who began it, nor by another session of theirs', async () => {
    provider.account = 'unknown-there';
    const [first, second] = [await signedIn(app, id), await signedIn(app, id)];
    const other = await signedIn(app, await makePerson(app, { email: 'next@example.org', role: 'readonly' }));
    for (const { cookie } of [other, second]) {
      const browser = openBrowser(app, first.cookie);
      expect(await travel(browser, '/auth/oidc?link', 'same-origin', undefined, cookie)).toBe('/sign-in#conflict');
      expect(browser.cookie).toBe(cookie);
    }
    expect(await identities(other)).toEqual([]);
    expect(await travel(openBrowser(app), '/auth/oidc')).toBe('/sign-in#unauthenticated');
  });

  /** Has something happen when the provider has confirmed who the visitor is. */
  function onceConfirmed(act: () => Promise<unknown>) {
    const { openid } = app.services;
    if (!openid) throw new Error('There is a provider');
    const finish = openid.finish.bind(openid);
    vi.spyOn(openid, 'finish').mockImplementationOnce(async (...given) => {
      const found = await finish(...given);
      await act();
      return found;
    });
  }

  it('is not linked by a session that ends, by a reset of the password too, while the provider answers', async () => {
    provider.account = 'of a thief there';
    const victim = await makePerson(app, { email: 'victim@example.org', role: 'readonly' });
    const admin = await signedIn(app, await makePerson(app, { email: 'chief@example.org', instance_admin: true }));
    const ends = [
      (thief: Browser) => openBrowser(app, thief.cookie).graphql('mutation { signOut { message } }'),
      async () => {
        const made = await admin.graphql(
          'mutation ($input: CreateResetLinkInput!) { createResetLink(input: $input) { reset_url } }',
          { input: { user_id: victim } },
        );
        const secret = secretOf(made.body.data.createResetLink.reset_url);
        return openBrowser(app).graphql(
          'mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) { user { id } } }',
          { input: { secret, password: 'another good password' } },
        );
      },
    ];
    for (const end of ends) {
      const thief = await signedIn(app, victim);
      onceConfirmed(() => end(thief));
      expect(await travel(thief, '/auth/oidc?link')).toBe('/sign-in#unauthenticated');
      expect(await travel(openBrowser(app), '/auth/oidc')).toBe('/sign-in#unauthenticated');
    }
    const person = await signedIn(app, victim);
    onceConfirmed(async () => {});
    expect(await travel(person, '/auth/oidc?link')).toBe('/sign-in');
  });

  it("ends the session that its sign-in replaces, another person's too, and no other", async () => {
    const other = await makePerson(app, { email: 'before@example.org', role: 'readonly' });
    for (const before of [id, other]) {
      const [replaced, elsewhere] = [await signedIn(app, before), await signedIn(app, before)];
      const browser = openBrowser(app, replaced.cookie);
      expect(await travel(browser, '/auth/oidc')).toBe('/sign-in');
      expect(browser.cookie).not.toBe(replaced.cookie);
      expect(await whoIs(browser)).toBe(`user:${id}`);
      expect((await replaced.graphql('{ me { id } }')).status).toBe(401);
      expect(await whoIs(elsewhere)).toBe(`user:${before}`);
      // A cookie of a session that has ended is no obstacle.
      const late = openBrowser(app, replaced.cookie ?? 'portico=x');
      expect(await travel(late, '/auth/oidc')).toBe('/sign-in');
      expect(await whoIs(late)).toBe(`user:${id}`);
    }
  });

  it('does nothing where the person refuses, or the answer is not the requested one', async () => {
    provider.account = null;
    expect(await travel(openBrowser(app), '/auth/oidc')).toBe('/sign-in#forbidden');
    provider.account = 'ada-there';
    const changes = [
      (url: string) => url.replace(/state=[^&]*/, 'state=x'),
      (url: string) => url.replace(/code=[^&]*/, 'code=x'),
      (url: string) => (url.includes('/callback') ? url.replace(/iss=[^&]*/, 'iss=http%3A%2F%2Fevil.test') : url),
    ];
    for (const change of changes) {
      const browser = openBrowser(app);
      const onlyBack = (url: string) => (url.includes('/callback') ? change(url) : url);
      expect(await travel(browser, '/auth/oidc', 'same-origin', onlyBack)).toBe('/sign-in#forbidden');
      expect(browser.cookie).toBeNull();
    }
    expect(await travel(openBrowser(app), '/auth/oidc/callback?code=x&state=')).toBe('/sign-in#forbidden');
  });

  it('takes on https what it is checked against from a cookie alone that no neighbouring host can set', async () => {
    const { settings } = app.services;
    settings.public_url = 'https://portico.test';
    try {
      const session = (await signedIn(app, id)).cookie ?? '';
      const begun = await fetch(`${app.url}/auth/oidc?link`, {
        redirect: 'manual',
        headers: { Cookie: `__Host-${session}`, 'Sec-Fetch-Site': 'same-origin' },
      });
      const [kept = ''] = begun.headers.getSetCookie();
      expect(kept).toMatch(/^__Host-portico-oidc=[^;]+; Path=\/; Secure; Max-Age=600; HttpOnly; SameSite=Lax$/);
      const pair = kept.split(';')[0] ?? '';
      const comeBack = async (cookie: string) => {
        const lines = app.log.length;
        const { state } = Object.fromEntries(new URLSearchParams(pair.slice(pair.indexOf('=') + 1)));
        const answer = await fetch(`${app.url}/auth/oidc/callback?code=x&state=${state}`, {
          redirect: 'manual',
          headers: { Cookie: `__Host-${session}; ${cookie}` },
        });
        expect(answer.headers.get('location')).toMatch(/#forbidden$/);
        // The code was sent to the provider.
        return app.log.slice(lines).some((line) => line.includes('sign-in with the OpenID provider failed'));
      };
      expect([await comeBack(pair), await comeBack(pair.replace('__Host-', ''))]).toEqual([true, false]);
    } finally {
      settings.public_url = publicUrl;
    }
  });

  it('is unlinked, but not when it is the only way in', async () => {
    const person = await signedIn(app, id);
    const [linked] = await identities(person);
    const unlink = (browser: Browser, identity_id = 0) =>
      browser.graphql('mutation ($input: UnlinkIdentityInput!) { unlinkIdentity(input: $input) { id } }', {
        input: { identity_id },
      });
    const other = await signedIn(app, await makePerson(app, { email: 'third@example.org', role: 'readonly' }));
    expect((await unlink(other, linked?.id)).body.errors).toMatchObject([{ message: 'Linked account not found' }]);
    app.services.settings.password_sign_in = false;
    expect((await unlink(person, linked?.id)).body.errors).toMatchObject([{ extensions: { code: 'CONFLICT' } }]);
    app.services.settings.password_sign_in = true;
    expect((await unlink(person, linked?.id)).body.errors).toBeUndefined();
    expect(await travel(openBrowser(app), '/auth/oidc')).toBe('/sign-in#unauthenticated');
  });

  it('is not unlinked where all others are of a provider that is in use no more, and those are', async () => {
    provider.account = 'moved there';
    const user_id = await makePerson(app, { email: 'moved@example.org', role: 'readonly' });
    const person = await signedIn(app, user_id);
    expect(await travel(person, '/auth/oidc?link')).toBe('/sign-in');
    const former = { issuer: 'https://former.example', subject: 'moved', user_id, linked_at: new Date() };
    await app.services.orm.em.fork().insert(UserIdentity, former);
    const linked = await identities(person);
    app.services.settings.password_sign_in = false;
    const codes: string[] = [];
    for (const { id } of linked) {
      const { body } = await person.graphql(
        'mutation ($input: UnlinkIdentityInput!) { unlinkIdentity(input: $input) { id } }',
        { input: { identity_id: id } },
      );
      codes.push(body.errors?.[0]?.extensions.code ?? 'done');
    }
    app.services.settings.password_sign_in = true;
    expect(linked.map(({ issuer }, at) => [issuer, codes[at]])).toEqual([
      [provider.issuer, 'CONFLICT'],
      [former.issuer, 'done'],
    ]);
  });

  it('stays when two are unlinked at the same time, and no other way in is left', async () => {
    const user_id = await makePerson(app, { email: 'both@example.org', role: 'readonly' });
    const person = await signedIn(app, user_id);
    for (const account of ['one of two', 'two of two']) {
      provider.account = account;
      expect(await travel(person, '/auth/oidc?link')).toBe('/sign-in');
    }
    const linked: { id: number }[] = await identities(person);
    app.services.settings.password_sign_in = false;
    const answers = await Promise.all(
      linked.map(({ id }) =>
        person.graphql('mutation ($input: UnlinkIdentityInput!) { unlinkIdentity(input: $input) { id } }', {
          input: { identity_id: id },
        }),
      ),
    );
    app.services.settings.password_sign_in = true;
    expect(answers.map(({ body }) => body.errors?.[0]?.extensions.code ?? 'done').sort()).toEqual(['CONFLICT', 'done']);
    expect(await identities(person)).toHaveLength(1);
  });

  it('is unlinked by a reset of the password, since it may have been linked by somebody else', async () => {
    provider.account = 'before there';
    const user_id = await makePerson(app, { email: 'reset@example.org', role: 'readonly' });
    expect(await travel(await signedIn(app, user_id), '/auth/oidc?link')).toBe('/sign-in');
    const admin = await signedIn(app, await makePerson(app, { email: 'root@example.org', instance_admin: true }));
    const made = await admin.graphql(`mutation { createResetLink(input: { user_id: ${user_id} }) { reset_url } }`);
    const person = openBrowser(app);
    await person.graphql('mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) { user { id } } }', {
      input: { secret: secretOf(made.body.data.createResetLink.reset_url), password: 'another good one' },
    });
    expect([await whoIs(person), await identities(person)]).toEqual([`user:${user_id}`, []]);
    expect(await travel(openBrowser(app), '/auth/oidc')).toBe('/sign-in#unauthenticated');
  });

  it('leaves neither code nor verifier in the log, and a row of each attempt in the audit log without them', async () => {
    const rows = await app.services.orm.em
      .fork()
      .execute(`select outcome, changes from audit where action = 'identity.signInWithProvider'`);
    expect(new Set(rows.map(({ outcome }) => outcome))).toEqual(new Set(['ok', 'denied']));
    expect(new Set(rows.map(({ changes }) => JSON.stringify(changes)))).toEqual(new Set(['{"answer":null}']));
    expect(app.log.join('\n')).not.toMatch(/code=(?!x)[\w-]{10}|verifier=[\w-]{10}/);
  });
});

describe('a provider that is away', () => {
  it('is reported as such, and is queried again the next time', async () => {
    const away = await startTestApp({ PORTICO_OIDC_ISSUER: 'http://127.0.0.1:1', PORTICO_OIDC_CLIENT_ID: 'x' });
    const ask = () => fetch(`${away.url}/auth/oidc`, { redirect: 'manual' });
    for (const answer of [await ask(), await ask()])
      expect([answer.status, answer.headers.get('location')]).toEqual([303, `${publicUrl}/sign-in#unavailable`]);
    await away.stop();
  });
});
