import type { EntityManager } from '@mikro-orm/postgresql';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { UserSession } from '../../../src/domain/users/sessions.ts';
import { beginAttempt, SignInThrottle } from '../../../src/domain/users/throttle.ts';
import { User } from '../../../src/domain/users/user.entity.ts';
import { acme, shared, startTestApp } from '../../support/app.ts';
import { type Browser, goodPassword, makePerson, openBrowser, signedIn } from '../../support/browser.ts';
import { overtake } from '../../support/overtake.ts';

const app = shared(startTestApp);
let id: number;
const email = 'ada@example.org';
beforeAll(async () => {
  id = await makePerson(app, { email, role: 'owner' });
});
beforeEach(async () => {
  app.clock.now = null;
  await app.services.orm.em.fork().nativeDelete(SignInThrottle, {});
});

const signIn = (browser: Browser, password = goodPassword, account = email, headers = {}) =>
  browser.graphql(
    'mutation ($input: SignInInput!) { signIn(input: $input) { user { id } } }',
    { input: { email: account, password } },
    headers,
  );
const whoIs = async (browser: Browser) => (await browser.graphql('{ me { id } }')).body.data?.me?.id ?? null;
const minutes = (count: number) => new Date(Date.now() + count * 60_000);
const days = (count: number) => minutes(count * 24 * 60);
const errorsOf = ({ body }: { body: { errors?: { message: string; extensions: { reason: string } }[] } }) =>
  (body.errors ?? []).map(({ message, extensions }) => `${extensions.reason}: ${message}`);

describe('signIn', () => {
  it('sets a cookie by which REST and GraphQL know the person', async () => {
    const browser = openBrowser(app);
    expect((await signIn(browser, goodPassword, 'ADA@example.org')).body.data).toEqual({ signIn: { user: { id } } });
    expect(browser.setCookie).toMatch(/^portico=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/);
    expect(await whoIs(browser)).toBe(`user:${id}`);
    expect((await browser.ask('GET', acme)).body).toMatchObject({ machine_name: 'acme' });
  });

  it('makes a new session, never one the browser came with', async () => {
    const browser = openBrowser(app, `portico=${'x'.repeat(43)}`);
    expect((await signIn(browser)).status).toBe(401);
    expect(browser.setCookie).toMatch(/^portico=; Path=\/; Max-Age=0;/);
    await signIn(browser);
    const first = browser.cookie;
    await signIn(browser);
    expect(browser.cookie).not.toBe(first);
    expect(browser.cookie).not.toContain('xxx');
    expect(await whoIs(openBrowser(app, first))).toBeNull();
  });

  it('answers alike whether the account or the password is wrong, or the account is disabled', async () => {
    await makePerson(app, { email: 'gone@example.org' });
    await app.services.orm.em.fork().nativeUpdate(User, { email: 'gone@example.org' }, { disabled_at: new Date() });
    const attempts = [
      [email, 'wrong'],
      ['nobody@example.org', goodPassword],
      ['gone@example.org', goodPassword],
    ];
    for (const [account = '', password = ''] of attempts) {
      const browser = openBrowser(app);
      expect(errorsOf(await signIn(browser, password, account))).toEqual([
        'unauthenticated: E-mail or password is wrong',
      ]);
      expect(browser.cookie).toBeNull();
    }
  });

  it('stores a password anew that was stored at a lower cost', async () => {
    const weak = await makePerson(app, { email: 'weak@example.org' });
    const kept = async () => (await app.services.orm.em.fork().findOneOrFail(User, { id: weak })).password;
    expect(await kept()).toMatch(/^\$scrypt\$ln=4,/);
    expect(errorsOf(await signIn(openBrowser(app), goodPassword, 'weak@example.org'))).toEqual([]);
    expect(await kept()).toMatch(/^\$scrypt\$ln=17,r=8,p=1\$/);
    expect(errorsOf(await signIn(openBrowser(app), goodPassword, 'weak@example.org'))).toEqual([]);
  });

  it('is refused from a page of another site, and where the browser says nothing, from another origin', async () => {
    const origin = { 'Sec-Fetch-Site': '' };
    const elsewhere = [
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
      { ...origin, Origin: 'http://evil.test' },
    ];
    for (const headers of elsewhere)
      expect(errorsOf(await signIn(openBrowser(app), goodPassword, email, headers))[0]).toMatch(/^forbidden: /);
  });

  it('is refused after ten failures with when to come back, and counts nothing that succeeds', async () => {
    app.clock.now = new Date();
    for (let time = 1; time <= 9; time += 1) await beginAttempt(app.services, email, '127.0.0.1');
    expect(errorsOf(await signIn(openBrowser(app)))).toEqual([]);
    for (let time = 1; time <= 9; time += 1) await beginAttempt(app.services, email.toUpperCase(), '127.0.0.1');
    expect(errorsOf(await signIn(openBrowser(app), 'wrong'))[0]).toMatch(/^unauthenticated/);
    const blocked = await signIn(openBrowser(app));
    expect(errorsOf(blocked)).toEqual(['rate_limited: Too many failed attempts; try again in 60 s']);
    expect(blocked.body.errors[0].extensions).toMatchObject({ code: 'RATE_LIMITED', details: { retry_after: 60 } });
  });

  it('leaves rows of attempts, with neither password nor cookie in the log', async () => {
    const rows = await app.services.orm.em
      .fork()
      .execute<{ outcome: string }[]>(
        `select actor, outcome, subject_type, subject_id, changes from audit where action = 'identity.signIn'`,
      );
    expect(rows).toContainEqual({
      actor: 'anonymous',
      outcome: 'denied',
      subject_type: 'user',
      subject_id: 'nobody@example.org',
      changes: { email: 'nobody@example.org', password: null },
    });
    expect(rows.filter(({ outcome }) => outcome === 'ok').length).toBeGreaterThan(0);
    const browser = openBrowser(app);
    await signIn(browser);
    expect(app.log.join('\n')).not.toContain(goodPassword);
    expect(app.log.join('\n')).not.toContain(browser.cookie?.split('=')[1]);
  });
});

describe('a session', () => {
  it('changes nothing for requests that another page may have made', async () => {
    const browser = await signedIn(app, id);
    const body = { name: 'Changed' };
    for (const headers of [{ 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'same-site' }]) {
      expect((await browser.ask('PATCH', acme, { body, headers })).status).toBe(403);
      expect((await browser.graphql('{ me { id } }', {}, headers)).status).toBe(403);
    }
    expect((await browser.ask('GET', acme, { headers: { 'Sec-Fetch-Site': 'cross-site' } })).body.name).toBe('Acme');
    expect((await browser.ask('PATCH', acme, { body: { name: 'Acme' } })).status).toBe(200);
  });

  it('yields to a token that is sent beside it', async () => {
    const browser = await signedIn(app, id);
    const bearer = { Authorization: `Bearer ${app.token}`, 'Sec-Fetch-Site': 'cross-site' };
    const { body } = await browser.graphql('{ me { id email } }', {}, bearer);
    expect(body.data.me).toEqual({ id: expect.stringMatching(/^token:/), email: null });
    expect((await browser.ask('GET', acme, { headers: { Authorization: 'Bearer ptc_x' } })).status).toBe(401);
  });

  it('counts under the name alone that the address of the service calls for', async () => {
    const { settings } = app.services;
    const cookie = (await signedIn(app, id)).cookie ?? '';
    const statusWith = async (sent: string) => (await openBrowser(app, sent).ask('GET', acme)).status;
    expect([await statusWith(cookie), await statusWith(`__Host-${cookie}`)]).toEqual([200, 401]);
    const { public_url } = settings;
    settings.public_url = 'https://portico.test';
    try {
      // A page of another host below portico.test can set the first, not the second.
      expect([await statusWith(cookie), await statusWith(`__Host-${cookie}`)]).toEqual([401, 200]);
      expect(await statusWith(`${cookie}; __Host-portico=${'x'.repeat(43)}`)).toBe(401);
    } finally {
      settings.public_url = public_url;
    }
  });

  it('is over once it is signed out, also for who has kept its cookie', async () => {
    const browser = await signedIn(app, id);
    const kept = openBrowser(app, browser.cookie);
    expect(await whoIs(kept)).toBe(`user:${id}`);
    await browser.graphql('mutation { signOut { message } }');
    expect(browser.cookie).toBeNull();
    const { status, body } = await kept.ask('GET', acme);
    expect([status, body.message]).toEqual([401, 'Unauthenticated']);
    expect(kept.setCookie).toMatch(/Max-Age=0/);
  });

  it('ends seven days after its last use, and thirty after it began', async () => {
    const browser = await signedIn(app, id);
    const began = Date.now();
    const use = async (at: number) => {
      app.clock.now = new Date(began + at * 24 * 3600_000);
      app.services.grants.evict(`user:${id}`);
      const there = (await openBrowser(app, browser.cookie).ask('GET', acme)).status;
      // The use is noted in the background.
      await new Promise((resolve) => setTimeout(resolve, 50));
      return there;
    };
    expect([await use(6.99), await use(13.9), await use(20.8), await use(27.7), await use(29.9)]).toEqual(
      Array(5).fill(200),
    );
    expect(await use(30.01)).toBe(401);
    app.clock.now = null;
    const idle = await signedIn(app, id);
    app.clock.now = days(7.01);
    expect((await idle.ask('GET', acme)).status).toBe(401);
  });

  it('has to be proved again after ten minutes for what hands out power', async () => {
    const browser = await signedIn(app, id);
    const token = () => browser.ask('POST', `${acme}/tokens`, { body: { name: 'T', preset: 'readonly' } });
    app.clock.now = minutes(9.9);
    expect((await token()).status).toBe(201);
    app.clock.now = minutes(10.1);
    const refused = await token();
    expect([refused.status, refused.body.code]).toEqual([403, 'reauthentication_required']);
    const confirm = (password: string) =>
      browser.graphql('mutation ($input: ConfirmPasswordInput!) { confirmPassword(input: $input) { proved_until } }', {
        input: { password },
      });
    expect(errorsOf(await confirm('wrong'))).toEqual(['forbidden: Password is wrong']);
    const before = browser.cookie;
    expect(errorsOf(await confirm(goodPassword))).toEqual([]);
    expect(browser.cookie).not.toBe(before);
    expect((await token()).status).toBe(201);
    expect((await openBrowser(app, before).ask('GET', acme)).status).toBe(401);
  });

  it('is listed with its browser, and can be ended from another', async () => {
    const person = await makePerson(app, { email: 'many@example.org', role: 'readonly' });
    const [here, there, third] = [
      await signedIn(app, person),
      await signedIn(app, person),
      await signedIn(app, person),
    ];
    const list = async () =>
      (await here.graphql('{ sessions { nodes { id is_current browser address } } }')).body.data.sessions.nodes;
    const all = await list();
    expect(all).toHaveLength(3);
    expect(all.filter((each: { is_current: boolean }) => each.is_current)).toMatchObject([
      { browser: 'Test browser', address: '127.0.0.1' },
    ]);
    const end = (session_id: number) =>
      here.graphql('mutation ($input: EndSessionInput!) { endSession(input: $input) { message } }', {
        input: { session_id },
      });
    const own = (await there.graphql('{ sessions { nodes { id is_current } } }')).body.data.sessions.nodes;
    await end(own.find((each: { is_current: boolean }) => each.is_current).id);
    expect([await whoIs(there), await whoIs(third)]).toEqual([null, `user:${person}`]);
    const foreign = await signedIn(app, id);
    const [theirs] = (await foreign.graphql('{ sessions { nodes { id is_current } } }')).body.data.sessions.nodes;
    expect(errorsOf(await end(theirs.id))).toEqual(['not_found: Session not found']);
    const others = await here.graphql('mutation { endOtherSessions { ended_count } }');
    expect(others.body.data.endOtherSessions).toEqual({ ended_count: 1 });
    expect([await whoIs(here), await whoIs(third)]).toEqual([`user:${person}`, null]);
  });
});

describe('an account', () => {
  it('gets a new password, which ends all other sessions', async () => {
    const person = await makePerson(app, { email: 'change@example.org', role: 'readonly' });
    const [here, there] = [await signedIn(app, person), await signedIn(app, person)];
    const change = (current_password: string, new_password: string) =>
      here.graphql('mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { user { id } } }', {
        input: { current_password, new_password },
      });
    expect(errorsOf(await change('wrong', 'another good one'))).toEqual(['forbidden: current_password: is wrong']);
    expect(errorsOf(await change(goodPassword, 'eleven char'))).toEqual([
      'invalid_request: new_password: must be at least 12 characters',
    ]);
    expect(errorsOf(await change(goodPassword, 'another good one'))).toEqual([]);
    expect([await whoIs(here), await whoIs(there)]).toEqual([`user:${person}`, null]);
    expect(errorsOf(await signIn(openBrowser(app), goodPassword, 'change@example.org'))).toHaveLength(1);
    expect(errorsOf(await signIn(openBrowser(app), 'another good one', 'change@example.org'))).toEqual([]);
  });

  it('is not begun, and no password changed, by a password that is replaced meanwhile', async () => {
    const account = 'overtaken@example.org';
    const person = await makePerson(app, { email: account });
    const browser = await signedIn(app, person);
    const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { user { id } } }';
    const confirm = 'mutation ($input: ConfirmPasswordInput!) { confirmPassword(input: $input) { proved_until } }';
    const attempts = [
      () => signIn(openBrowser(app), goodPassword, account),
      () => browser.graphql(change, { input: { current_password: goodPassword, new_password: 'another good one' } }),
      () => browser.graphql(confirm, { input: { password: goodPassword } }),
    ];
    const { password } = await app.services.orm.em.fork().findOneOrFail(User, { id: person });
    for (const attempt of attempts) {
      const reset = (em: EntityManager) => em.nativeUpdate(User, { id: person }, { password: 'replaced' });
      expect(errorsOf(await overtake(app, reset, attempt))).toEqual([
        'unauthenticated: The account has changed meanwhile: sign in again',
      ]);
      const em = app.services.orm.em.fork();
      expect((await em.findOneOrFail(User, { id: person })).password).toBe('replaced');
      expect(await em.count(UserSession, { user_id: person })).toBe(1);
      await em.nativeUpdate(User, { id: person }, { password: password ?? null });
    }
  });

  it.each([
    ['NUL', 'a\u0000'],
    ['half of a surrogate pair', '\ud800'],
  ])('refuses preferences with %s, which the database does not keep, but not their escapes', async (_what, text) => {
    const browser = await signedIn(app, id);
    const choose = (editor: object) =>
      browser.graphql('mutation ($input: UpdatePreferencesInput!) { updatePreferences(input: $input) { editor } }', {
        input: { editor },
      });
    for (const editor of [{ a: [text] }, { [text]: 1 }, { a: `\\${text}` }])
      expect(errorsOf(await choose(editor))).toEqual([
        'invalid_request: editor: must contain neither NUL nor half of a surrogate pair',
      ]);
    const escaped = { a: JSON.stringify(text) };
    expect((await choose(escaped)).body.data.updatePreferences).toEqual({ editor: escaped });
  });

  it('keeps both of two preferences that are chosen at the same time', async () => {
    const person = await makePerson(app, { email: 'both@example.org' });
    const browser = await signedIn(app, person);
    const choose = 'mutation { updatePreferences(input: { theme: dark }) { theme time_zone } }';
    const answer = await overtake(
      app,
      (em) => em.nativeUpdate(User, { id: person }, { preferences: { time_zone: 'UTC' } }),
      () => browser.graphql(choose),
    );
    expect(answer.body.data.updatePreferences).toEqual({ theme: 'dark', time_zone: 'UTC' });
  });

  it('keeps preferences up to 16 KiB, and takes them back by null', async () => {
    const browser = await signedIn(app, id);
    const choose = (input: object) =>
      browser.graphql(
        'mutation ($input: UpdatePreferencesInput!) { updatePreferences(input: $input) { language time_zone theme editor } }',
        { input },
      );
    await choose({ language: 'de', theme: 'dark', editor: { keys: 'vim' } });
    expect((await choose({ theme: null, time_zone: 'Europe/Berlin' })).body.data.updatePreferences).toEqual({
      language: 'de',
      time_zone: 'Europe/Berlin',
      theme: null,
      editor: { keys: 'vim' },
    });
    const sized = (bytes: number) => {
      const rest = JSON.stringify({ language: 'de', editor: { t: '' }, time_zone: 'Europe/Berlin' }).length;
      return choose({ editor: { t: 'x'.repeat(bytes - rest) } });
    };
    expect(errorsOf(await sized(16_384))).toEqual([]);
    expect(errorsOf(await sized(16_385))).toEqual([
      'invalid_request: preferences: must be at most 16384 bytes together',
    ]);
    expect(errorsOf(await choose({ time_zone: 'Mars/Olympus' }))[0]).toMatch(/^invalid_request: time_zone: /);
  });

  it('has none of this for a token', async () => {
    const { body } = await openBrowser(app).graphql(
      '{ sessions { nodes { id } } }',
      {},
      { Authorization: `Bearer ${app.token}` },
    );
    expect(errorsOf({ body })).toEqual(['forbidden: Only a person who is signed in has an account']);
  });
});

it('keeps no connections for attempts that wait for others of their network', async () => {
  const { em } = app.services.orm;
  // Not in the transaction, which sees the activity of one moment.
  const waiting = () =>
    em.fork().execute(`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
  await signIn(openBrowser(app), 'wrong');
  let made: ReturnType<typeof signIn>[] = [];
  await em.fork().transactional(async (holder) => {
    await holder.execute('select 1 from sign_in_throttle for update');
    made = Array.from({ length: 12 }, (_, at) => signIn(openBrowser(app), 'wrong', `many-${at}@example.org`));
    await expect.poll(waiting).not.toHaveLength(0);
    for (let at = 0; at < 10; at += 1) expect((await app.ask('GET', `${acme}/projects`)).status).toBe(200);
    expect(await waiting()).toHaveLength(1);
  });
  const refusals = (await Promise.all(made)).flatMap(errorsOf);
  expect(refusals).toEqual(Array<string>(12).fill('unauthenticated: E-mail or password is wrong'));
});
