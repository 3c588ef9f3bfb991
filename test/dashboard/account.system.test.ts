import type { Page, Route } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { endSessions } from '../../src/domain/users/sessions.ts';
import { User } from '../../src/domain/users/user.entity.ts';
import { goodPassword } from '../support/browser.ts';
import { expectGoodPage, expectTexts, withDashboard } from '../support/dashboard.ts';

const dashboard = withDashboard();

const open = (email: string, path = '/account'): Promise<Page> => dashboard.open(path, { email, role: 'readonly' });

test('the page has no fault in either theme, fits, and asks the database little', async () => {
  const page = await open('look@example.org');
  await page.getByText('This one').waitFor();
  await expectGoodPage(page);
  const { Account = 99 } = await dashboard.statementsOf(page);
  expect(Account).toBeLessThanOrEqual(12);
});

test('the name is changed', async () => {
  const page = await open('named@example.org');
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Zoë Quill');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved').waitFor();
  await page.getByRole('button', { name: 'Account of Zoë Quill' }).waitFor();
});

describe('password', () => {
  test('a wrong one is refused beside its field, a short one beside the other', async () => {
    const page = await open('refused@example.org');
    await page.getByRole('textbox', { name: 'Current password' }).fill('wrong');
    await page.getByRole('textbox', { name: 'New password' }).fill('another good one');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('The password is wrong.').waitFor();
    await page.getByRole('textbox', { name: 'Current password' }).fill(goodPassword);
    await page.getByRole('textbox', { name: 'New password' }).fill('short');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Must be at least 12 characters.').waitFor();
    expect(await page.getByRole('textbox', { name: 'New password' }).inputValue()).toBe('short');
  });

  test('a new one ends all other sessions, and signs in', async () => {
    const other = await open('changed@example.org', '/account');
    const page = await open('changed@example.org');
    await page.getByRole('button', { name: 'End', exact: true }).waitFor();
    await page.getByRole('textbox', { name: 'Current password' }).fill(goodPassword);
    await page.getByRole('textbox', { name: 'New password' }).fill('another good one');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Your password is changed').waitFor();
    await page.getByRole('button', { name: 'End', exact: true }).waitFor({ state: 'detached' });
    await other.goto(`${dashboard.app.url}/account`);
    await other.getByLabel('E-mail').fill('changed@example.org');
    await other.getByRole('textbox', { name: 'Password' }).fill('another good one');
    await other.getByRole('button', { name: 'Sign in' }).click();
    await other.getByRole('heading', { name: 'Account' }).waitFor();
    dashboard.forgive(/401/);
  });
});

test('whatever a page requests first, a session that has ended leads to the sign-in', async () => {
  const page = await open('ended@example.org', '/account');
  await page.getByText('This one').waitFor();
  const em = dashboard.app.services.orm.em.fork();
  await endSessions(em, (await em.findOneOrFail(User, { email: 'ended@example.org' })).id);
  // Who is signed in, and what the page shows: both leave before an answer has removed the cookie.
  const held: Route[] = [];
  await page.route(
    '**/graphql',
    async (route) => {
      if (held.push(route) < 2) return;
      const headers = { 'Sec-Fetch-Site': 'same-origin' };
      const answers = await Promise.all(
        held.map(async (one) => ({
          one,
          response: await one.fetch({ headers: { ...one.request().headers(), ...headers } }),
        })),
      );
      await Promise.all(answers.map(({ one, response }) => one.fulfill({ response })));
    },
    { times: 2 },
  );
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  dashboard.forgive(/401/);
});

test('sessions are ended one by one, or all others at once', async () => {
  const others = [];
  for (let at = 0; at < 3; at += 1) others.push(await open('many@example.org'));
  const page = await open('many@example.org');
  const ends = page.getByRole('button', { name: 'End', exact: true });
  await expect.poll(() => ends.count()).toBe(3);
  await ends.first().click();
  await expect.poll(() => ends.count()).toBe(2);
  await page.getByRole('button', { name: 'End all other sessions' }).click();
  await expect.poll(() => ends.count()).toBe(0);
  await page.getByText('This one').waitFor();
});

test('another language is spoken at once, and from the first paint on', async () => {
  const page = await open('jana@example.org');
  await page.getByRole('combobox', { name: 'Language' }).click();
  await page.getByRole('option', { name: 'Deutsch' }).click();
  await page.getByRole('heading', { name: 'Konto', exact: true }).waitFor();
  await expectTexts(page, 'de', 'Tastenkürzel');
  await page.addInitScript(`addEventListener('DOMContentLoaded', () => {
    window.headings = [];
    new MutationObserver(() => {
      const text = document.querySelector('h1')?.textContent;
      if (text && headings.at(-1) !== text) headings.push(text);
    }).observe(document.body, { childList: true, subtree: true });
  })`);
  await page.reload();
  await page.getByRole('heading', { name: 'Konto', exact: true }).waitFor();
  expect(await page.evaluate('headings')).toEqual(['Konto']);
  // In another browser, which does not know it yet.
  const elsewhere = await open('jana@example.org');
  await expectTexts(elsewhere, 'de', 'Sitzungen');
});

test('time zone and theme are kept with the account', async () => {
  const page = await open('zoned@example.org');
  await page.getByRole('combobox', { name: 'Time zone' }).fill('Auckland');
  await page.getByRole('option', { name: 'Pacific/Auckland' }).click();
  await page.getByText('Dark', { exact: true }).click();
  const scheme = (of: Page) => of.locator('html').getAttribute('data-mantine-color-scheme');
  await expect.poll(() => scheme(page)).toBe('dark');
  // Which is shown at once; the choice that is marked is the account's.
  await expect.poll(() => page.getByRole('radio', { name: 'Dark' }).isChecked()).toBe(true);
  await expect.poll(() => page.getByRole('combobox', { name: 'Time zone' }).inputValue()).toBe('Pacific/Auckland');
  const elsewhere = await open('zoned@example.org');
  await expect.poll(() => elsewhere.getByRole('combobox', { name: 'Time zone' }).inputValue()).toBe('Pacific/Auckland');
  await expect.poll(() => scheme(elsewhere)).toBe('dark');
  await elsewhere.getByRole('button', { name: 'Light theme' }).click();
  await expect.poll(() => scheme(elsewhere)).toBe('light');
  await expect.poll(() => elsewhere.getByRole('radio', { name: 'Light' }).isChecked()).toBe(true);
  await elsewhere.reload();
  await expect.poll(() => elsewhere.getByRole('radio', { name: 'Light' }).isChecked()).toBe(true);
});

test('shortcuts of a single key are switched off', async () => {
  const page = await open('keys@example.org');
  const single = page.getByRole('switch', { name: 'Shortcuts of a single key' });
  expect(await single.isChecked()).toBe(true);
  await single.click();
  await expect.poll(() => single.isChecked()).toBe(false);
  await page.reload();
  await single.waitFor();
  expect(await single.isChecked()).toBe(false);
});

test('one signs out, and in again', async () => {
  const page = await open('out@example.org');
  await page.getByRole('button', { name: 'Account of out' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL('**/sign-in');
  await page.getByLabel('E-mail').fill('out@example.org');
  await page.getByRole('textbox', { name: 'Password' }).fill(goodPassword);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Acme' }).waitFor();
});

test.each([
  ['Keep and sign out', 1],
  ['Remove and sign out', 0],
])('with a draft in this browser alone a dialog comes first: %s', async (choice, left) => {
  const page = await open('writes@example.org');
  await page.getByRole('button', { name: 'Account of writes' }).waitFor();
  const { id } = await dashboard.app.services.orm.em.fork().findOneOrFail(User, { email: 'writes@example.org' });
  const inStore = (act: string) =>
    page.evaluate(`new Promise((resolve, reject) => {
      const opening = indexedDB.open('portico', 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore('drafts').createIndex('at', 'at');
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        const store = opening.result.transaction('drafts', 'readwrite').objectStore('drafts');
        const request = ${act};
        request.onsuccess = () => { opening.result.close(); resolve(request.result); };
      };
    })`);
  await inStore(
    `store.put({ text: 'Not saved', at: Date.now(), size: 9 }, 'portico:user%3A${id}:acme%2Fsite:main:posts%2Fone')`,
  );
  await inStore(
    `store.put({ text: 'Of another', at: Date.now(), size: 9 }, 'portico:user%3A${id}0:acme%2Fsite:main:posts%2Fone')`,
  );
  await page.getByRole('button', { name: 'Account of writes' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('dialog', { name: '1 draft is in this browser alone' }).waitFor();
  await page.getByRole('button', { name: choice }).click();
  await page.waitForURL('**/sign-in');
  expect(await inStore('store.count()')).toBe(left + 1);
});
