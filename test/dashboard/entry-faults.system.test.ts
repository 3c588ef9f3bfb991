/** What a person sees in the entry's editor when rights, sessions, servers and connections fail; nothing that was typed is lost. */
import { connect, createServer, type Socket } from 'node:net';
import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { updateMember } from '../../src/domain/organizations/members.operations.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { endSessions } from '../../src/domain/users/sessions.ts';
import { User } from '../../src/domain/users/user.entity.ts';
import { studio } from '../support/app.ts';
import { goodPassword, makePerson } from '../support/browser.ts';
import {
  editorReady,
  freshEntry,
  full,
  save,
  saveButton,
  saveState,
  stored,
  textBox,
  titleField,
  withEditor,
} from '../support/entry-editor.ts';

const dashboard = withEditor();

const kept = (page: Page) => saveState(page, 'All changes saved in this browser');
const isCommand = (text: string | null, name: string) => new RegExp(`mutation ${name}\\b`).test(text ?? '');

/** The id of a member by its e-mail. */
async function memberOf(email: string): Promise<string> {
  const { body } = await dashboard.app.ask('GET', '/api/v2/organizations/acme/members');
  const member = (body as { id: number; email: string }[]).find((one) => one.email === email);
  return String(member?.id);
}

describe('rights', () => {
  test('a role that is taken away while the entry is open is said at Save, and what was typed stays until it is back', async () => {
    const { app } = dashboard;
    const email = 'rita@example.org';
    const page = await dashboard.open(await freshEntry(app, 'en/revoked'), { email, role: 'editor' });
    await editorReady(page);
    await titleField(page).fill('Typed with rights');
    await kept(page);
    const member = await memberOf(email);
    await app.run(updateMember, { organization: 'acme', member, role: 'readonly' });
    await saveButton(page).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').innerText()).toMatch(/edit_studio|permission/i);
    expect(await titleField(page).inputValue()).toBe('Typed with rights');
    expect(await stored(app, 'en/revoked')).toBe(full);
    await app.run(updateMember, { organization: 'acme', member, role: 'editor' });
    await save(page);
    expect(await stored(app, 'en/revoked')).toContain('title: "Typed with rights"');
  });

  test('a member of some projects sees these, and no others', async () => {
    const { app } = dashboard;
    const email = 'confined@example.org';
    await app.run(createProject, { organization: 'acme', name: 'Hidden', machine_name: 'hidden' });
    const address = await freshEntry(app, 'en/confined');
    const page = await dashboard.open('/account', { email, role: 'editor' });
    await app.run(updateMember, { organization: 'acme', member: await memberOf(email), projects: ['site'] });
    await page.goto(`${app.url}/o/acme`);
    await page.getByRole('link', { name: 'Site', exact: true }).waitFor();
    expect(await page.getByText('Hidden').count()).toBe(0);
    await page.goto(`${app.url}/p/acme/hidden/content`);
    await page.getByText('This is not for you to see').waitFor();
    await page.goto(`${app.url}${address}`);
    await editorReady(page);
    await titleField(page).fill('By a confined member');
    await save(page);
    expect(await stored(app, 'en/confined')).toContain('By a confined member');
  });
});

test('a session that has run out while somebody types is renewed over the entry, which Save then stores', async () => {
  const { app } = dashboard;
  const email = 'overnight@example.org';
  const page = await dashboard.open(await freshEntry(app, 'en/overnight'), { email, role: 'editor' });
  await editorReady(page);
  await titleField(page).fill('Typed before the night');
  await kept(page);
  // The browser still has its cookie, which the server no longer accepts.
  const em = app.services.orm.em.fork();
  await em.transactional(async (fork) => endSessions(fork, (await fork.findOneOrFail(User, { email })).id));
  await titleField(page).fill('Typed after the night');
  await kept(page);
  await saveButton(page).click();
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.getByRole('textbox', { name: 'Password' }).fill(goodPassword);
  expect(await titleField(page).inputValue()).toBe('Typed after the night');
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await saveState(page, 'Nothing to save');
  expect(await stored(app, 'en/overnight')).toContain('title: "Typed after the night"');
  dashboard.forgive(/401/);
});

describe('a sign-out in another tab', () => {
  const typeAndSignOut = async (slug: string, email: string) => {
    const page = await dashboard.open(await freshEntry(dashboard.app, slug), { email, role: 'editor' });
    await editorReady(page);
    await titleField(page).fill('Typed before the sign-out');
    await kept(page);
    const other = await page.context().newPage();
    await other.goto(`${dashboard.app.url}/account`);
    await other.getByRole('button', { name: /^Account of/ }).click();
    await other.getByRole('menuitem', { name: 'Sign out' }).click();
    await other.getByRole('button', { name: 'Keep and sign out' }).click();
    await other.waitForURL('**/sign-in');
    await saveButton(page).click();
    return page;
  };

  test('is said at Save, which goes on after a new sign-in', async () => {
    const page = await typeAndSignOut('en/signed-out', 'out@example.org');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Password' }).fill(goodPassword);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await saveState(page, 'Nothing to save');
    expect(await stored(dashboard.app, 'en/signed-out')).toContain('Typed before the sign-out');
  });

  test('saves nothing of one person in the name of another who signs in, who does not see it either', async () => {
    const { app } = dashboard;
    await makePerson(app, { email: 'second@example.org', role: 'editor' });
    const page = await typeAndSignOut('en/another', 'first@example.org');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'E-mail' }).fill('second@example.org');
    await dialog.getByRole('textbox', { name: 'Password' }).fill(goodPassword);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Account of second' }).waitFor();
    await expect.poll(() => titleField(page).inputValue()).toBe('Alpha');
    expect(await stored(app, 'en/another')).toBe(full);
  });
});

describe('a server', () => {
  test('that is slow is waited for, and what is typed meanwhile stays', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/slow'));
    await editorReady(page);
    await titleField(page).fill('One');
    await kept(page);
    const held = Promise.withResolvers<void>();
    await page.route('**/graphql', async (route) => {
      if (isCommand(route.request().postData(), 'SaveEntry')) await held.promise;
      await route.fallback();
    });
    await saveButton(page).click();
    await saveState(page, 'Saving');
    await titleField(page).fill('Two');
    await textBox(page).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('Typed while it was slow.');
    held.resolve();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await stored(app, 'en/slow')).toContain('title: "One"');
    expect(await titleField(page).inputValue()).toBe('Two');
    await save(page);
    const text = await stored(app, 'en/slow');
    expect(text).toContain('title: "Two"');
    expect(text).toContain('Typed while it was slow.');
  });

  test('that is slow to show the entry has its place kept until then', async () => {
    const { app } = dashboard;
    const page = await dashboard.open('/account');
    const held = Promise.withResolvers<void>();
    await page.route('**/graphql', async (route) => {
      if (/query EntryPage\b/.test(route.request().postData() ?? '')) await held.promise;
      await route.fallback();
    });
    await page.goto(`${app.url}${await freshEntry(app, 'en/slow-page')}`);
    await page.getByRole('main').getByRole('status', { name: 'Loading' }).waitFor();
    held.resolve();
    await editorReady(page);
  });

  test('that fails at Save says so, and the next Save is one', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/failing'));
    await editorReady(page);
    await titleField(page).fill('At the second try');
    await kept(page);
    let failures = 0;
    await page.route('**/graphql', async (route) => {
      if (failures > 0 || !isCommand(route.request().postData(), 'SaveEntry')) return route.fallback();
      failures += 1;
      return route.fulfill({ status: 500, contentType: 'text/html', body: '<h1>Internal Server Error</h1>' });
    });
    await saveButton(page).click();
    await page.getByRole('alert').getByText('Something went wrong on the server.').waitFor();
    dashboard.forgive(/500/);
    expect(await titleField(page).inputValue()).toBe('At the second try');
    await save(page);
    expect(await stored(app, 'en/failing')).toContain('title: "At the second try"');
  });
});

/** Stands before the application, and cuts each connection on which more than 64 KiB of an upload have come, until it is mended. */
async function cuttingProxy(target: string): Promise<{ url: string; cuts: () => number; mend: () => void }> {
  let cuts = 0;
  let isMended = false;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(new URL(target).port), '127.0.0.1');
    let sent = -1;
    client.on('data', (data) => {
      if (/^POST \S*\/studio\/media /.test(data.toString('latin1', 0, 200))) sent = 0;
      if (sent >= 0) sent += data.length;
      if (sent > 65_536 && !isMended) {
        cuts += 1;
        client.resetAndDestroy();
        upstream.destroy();
      } else upstream.write(data);
    });
    upstream.on('data', (data) => client.write(data));
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const mend = () => {
    isMended = true;
  };
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, cuts: () => cuts, mend };
}

test('an upload whose connection is cut in the middle leaves nothing behind, and is tried again', async () => {
  const { app } = dashboard;
  const { url, cuts, mend } = await cuttingProxy(app.url);
  const page = await dashboard.open('/account');
  await page.goto(`${url}/p/acme/site/media?path=public%2Fimages`);
  await page.getByRole('button', { name: /logo\.svg/ }).waitFor();
  const buffer = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg">${' '.repeat(3 * 2 ** 20)}</svg>`);
  await page.setInputFiles('input[type=file]', [{ name: 'cut.svg', mimeType: 'image/svg+xml', buffer }]);
  await page.getByText('cut.svg was not uploaded').waitFor();
  expect(cuts()).toBeGreaterThan(0);
  const list = async () => (await app.ask('GET', `${studio}/media?recursive=true&q=cut`)).body as { size: number }[];
  expect(await list()).toEqual([]);
  mend();
  await page.getByRole('button', { name: '1 task has failed' }).click();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('button', { name: /cut\.svg/ }).waitFor();
  expect((await list()).map(({ size }) => size)).toEqual([buffer.length]);
  dashboard.forgive(/^requested http|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/);
});
