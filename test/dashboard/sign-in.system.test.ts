/** The ways in: by password, by the links that are passed on, and by an account at an OpenID provider. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { goodPassword, makePerson } from '../support/browser.ts';
import { openPage, withDashboard } from '../support/dashboard.ts';
import { freePort } from '../support/free-port.ts';
import { oidcClient, openIdProvider } from '../support/openid-provider.ts';
import { newDataDir, startServer } from '../support/server-process.ts';

const dashboard = withDashboard();

const password = (page: Page) => page.getByRole('textbox', { name: 'Password' });

async function signInAs(page: Page, email: string, typed: string): Promise<void> {
  await page.getByRole('textbox', { name: 'E-mail' }).fill(email);
  await password(page).fill(typed);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** The path of a link that a dialog of the page shows. */
async function shownLink(page: Page, kind: 'join' | 'reset'): Promise<string> {
  const text = await page.getByRole('dialog').getByText(`/${kind}#`).innerText();
  return text.slice(text.indexOf(`/${kind}#`)).trim();
}

async function invite(page: Page, email: string): Promise<string> {
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByRole('textbox', { name: 'E-mail' }).fill(email);
  await page.getByRole('button', { name: 'Create link' }).click();
  return shownLink(page, 'join');
}

test('ten wrong passwords are followed by when to come back', async () => {
  await dashboard.open('/account', { email: 'guessed@example.org' });
  const page = await dashboard.open('/sign-in', { email: null });
  for (let time = 1; time <= 10; time += 1) {
    await signInAs(page, 'guessed@example.org', `wrong password ${time}`);
    // A refusal moves the focus to the first field: what is typed before lands there.
    await page.locator('[name=email]:focus').waitFor();
  }
  await page.getByText('E-mail or password is wrong.').waitFor();
  await signInAs(page, 'guessed@example.org', goodPassword);
  await page.getByText('Too many failed attempts. Try again in 1 minute.').waitFor();
});

test('a person with an account joins by its password, and a wrong one leaves the invitation good', async () => {
  await dashboard.app.run(createOrganization, { name: 'Elsewhere', machine_name: 'elsewhere' });
  await makePerson(dashboard.app, { email: 'joins@example.org', organization: 'elsewhere' });
  const page = await dashboard.open('/o/acme?tab=members');
  const link = await invite(page, 'joins@example.org');
  const visitor = await dashboard.open(link, { email: null });
  await password(visitor).fill('not the password');
  await visitor.getByRole('button', { name: 'Join' }).click();
  await visitor.getByText('The password is wrong.').waitFor();
  expect(await visitor.getByRole('alert').count()).toBe(0);
  await password(visitor).fill(goodPassword);
  await visitor.getByRole('button', { name: 'Join' }).click();
  await visitor.getByRole('heading', { name: 'Acme' }).waitFor();
});

test('a member who cannot sign in gets a link that is good for one new password', async () => {
  await dashboard.open('/account', { email: 'forgot@example.org', role: 'editor' });
  const page = await dashboard.open('/o/acme?tab=members');
  await page.getByRole('button', { name: 'Actions for forgot' }).click();
  await page.getByRole('menuitem', { name: 'Password reset link' }).click();
  const link = await shownLink(page, 'reset');

  const visitor = await dashboard.open(link, { email: null });
  await password(visitor).fill('short');
  await visitor.getByRole('button', { name: 'Change password' }).click();
  await visitor.getByText('Must be at least 12 characters.').waitFor();
  await password(visitor).fill('another horse battery');
  await visitor.getByRole('button', { name: 'Change password' }).click();
  await visitor.getByRole('heading', { name: 'Acme' }).waitFor();

  const again = await dashboard.open(link, { email: null });
  await password(again).fill('a third horse battery');
  await again.getByRole('button', { name: 'Change password' }).click();
  await again.getByText('This link is no longer valid').waitFor();
});

test('an account at a provider is linked, signs in by its button, and renews a session over the page', async () => {
  const port = await freePort();
  const provider = await openIdProvider(`http://localhost:${port}/auth/oidc/callback`);
  onTestFinished(() => provider.close());
  const dataDir = await newDataDir();
  const passwordFile = path.join(path.dirname(dataDir), 'password');
  await writeFile(passwordFile, goodPassword, { mode: 0o600 });
  const server = await startServer(dataDir, {
    PORTICO_PORT: String(port),
    PORTICO_ADMIN_EMAIL: 'ada@example.org',
    PORTICO_ADMIN_PASSWORD_FILE: passwordFile,
    PORTICO_OIDC_ISSUER: provider.issuer,
    PORTICO_OIDC_CLIENT_ID: oidcClient.id,
    PORTICO_OIDC_CLIENT_SECRET: oidcClient.secret,
  });
  const page = await openPage();
  const byProvider = /^Sign in with 127\.0\.0\.1/;

  await page.goto(`${server.url}/account`);
  await page.getByRole('link', { name: byProvider }).click();
  await page.getByText('No account here is linked to yours there.').waitFor();
  await signInAs(page, 'ada@example.org', goodPassword);
  await page.getByRole('link', { name: /^Link an account of/ }).click();
  await page.getByText(provider.issuer).waitFor();

  await page.context().clearCookies({ name: 'portico' });
  await page.goto(`http://localhost:${port}/account`);
  await page.getByRole('link', { name: byProvider }).click();
  // Back on the page that led to the sign-in.
  await page.getByText(provider.issuer).waitFor();

  await page.getByRole('textbox', { name: 'Name' }).fill('Ada of the provider');
  await page.context().clearCookies({ name: 'portico' });
  await page.getByRole('button', { name: 'Save' }).first().click();
  const ended = page.getByRole('dialog', { name: 'Your session has ended' });
  const [tab] = await Promise.all([page.waitForEvent('popup'), ended.getByRole('link', { name: byProvider }).click()]);
  await tab.getByRole('heading', { name: 'Already signed in' }).waitFor();
  await tab.close();
  // Without a screen every page has the focus all the time.
  await page.evaluate('window.dispatchEvent(new Event("focus"))');
  await ended.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Account of Ada of the provider' }).waitFor();
  await server.stop();
});
