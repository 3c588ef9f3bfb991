import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeLink } from '../src/domain/users/one-time-link.ts';
import { startTestApp, type TestApp } from './support/app.ts';
import { goodPassword, makePerson, secretOf } from './support/browser.ts';
import { builtDashboard } from './support/build.ts';
import { launchChromium } from './support/chromium.ts';

let app: TestApp;
let browser: Browser;
let page: Page;
/** What the page complained of, and where it sent requests outside of its origin. */
let faults: string[];

beforeAll(async () => {
  app = await startTestApp({}, await builtDashboard());
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await app?.stop();
});

beforeEach(async () => {
  faults = [];
  page = await browser.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== app.url) faults.push(`requested ${request.url()}`);
  });
  page.on('requestfailed', (request) => faults.push(`failed ${request.url()}`));
});
afterEach(async () => {
  await page.close();
  expect(faults).toEqual([]);
});

describe.each([
  ['wide, light', { width: 1280, height: 900 }, 'light'],
  ['narrow, dark', { width: 375, height: 700 }, 'dark'],
] as const)('%s', (_name, size, colorScheme) => {
  test.each(['/', '/setup', '/sign-in', '/join', '/reset', '/reference'])(
    '%s loads, fits and is titled',
    async (path) => {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme });
      await page.goto(`${app.url}${path}`);
      expect(await page.title()).toContain('Portico');
      await page.locator('h1').waitFor();
      expect(await page.locator('h1').count()).toBe(1);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      const unnamed = `[...document.querySelectorAll('input, textarea')].filter((field) => field.labels.length === 0).length`;
      expect(await page.evaluate(unnamed)).toBe(0);
    },
  );
});

describe('accounts', () => {
  const link = async (kind: 'setup' | 'reset', user_id?: number) => {
    const { url } = await makeLink(app.services.orm.em.fork(), app.services, kind, user_id ? { user_id } : {});
    return `${app.url}/${kind}#${secretOf(url)}`;
  };

  test('the first one is made by the link, signed out, and signed in again', async () => {
    await page.goto(await link('setup'));
    await page.getByRole('heading', { name: 'Create the first account' }).waitFor();
    expect(await page.evaluate('location.hash')).toBe('');
    const create = page.getByRole('button', { name: 'Create account' });
    await create.click();
    await page.getByText('Must not be empty.').first().waitFor();
    await page.getByLabel('Name', { exact: true }).fill('Ada');
    await page.getByLabel('E-mail').fill('ada@example.org');
    await page.getByRole('textbox', { name: 'Password' }).fill('short');
    await page.getByLabel('Organisation').fill('Engines');
    await create.click();
    await page.getByText('Must be at least 12 characters.').waitFor();
    expect(await page.evaluate('document.activeElement.name')).toBe('password');
    await page.getByRole('textbox', { name: 'Password' }).fill(goodPassword);
    await create.click();
    await page.getByRole('heading', { name: 'Welcome, Ada' }).waitFor();
    await page.getByRole('link', { name: 'Engines' }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.goto(`${app.url}/sign-in`);
    await page.getByText('You are signed in as Ada.').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('E-mail').fill('ada@example.org');
    await page.getByRole('textbox', { name: 'Password' }).fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('E-mail or password is wrong').waitFor();
    await page.getByRole('textbox', { name: 'Password' }).fill(goodPassword);
    await page.getByRole('textbox', { name: 'Password' }).press('Enter');
    await page.getByRole('button', { name: 'Account of Ada' }).waitFor();
  });

  test('one gets a new password by a link, which then leads nowhere', async () => {
    const reset = await link('reset', await makePerson(app, { email: 'forgot@example.org' }));
    for (const end of ['You are in no organisation', 'This link is no longer valid: ask for a new one']) {
      // Another address of the same page would not load it anew.
      await page.goto('about:blank');
      await page.goto(reset, { waitUntil: 'networkidle' });
      await page.getByRole('textbox', { name: 'Password' }).fill('another good one');
      await page.getByRole('button', { name: 'Change password' }).click();
      await page.getByText(end).waitFor();
    }
  });
});

describe('reference', () => {
  test('an endpoint is found by its words, with what it takes and answers', async () => {
    await page.goto(`${app.url}/reference`);
    await page.getByRole('heading', { name: 'Portico API', level: 1 }).waitFor();
    await page
      .getByRole('button', { name: /Search/ })
      .first()
      .click();
    await page.getByRole('combobox').fill('invite a person');
    await page
      .getByRole('option', { name: /Invite a person/ })
      .first()
      .click();
    await page.getByRole('heading', { name: /Invite a person/ }).waitFor();
    expect(page.url()).toContain('#');
  });
});

describe('explorer', () => {
  test('runs a query with a token among the headers, which is kept nowhere', async () => {
    await page.setViewportSize({ width: 375, height: 700 });
    await page.goto(`${app.url}/explorer`);
    await page.getByRole('heading', { name: 'GraphQL explorer', level: 1 }).waitFor({ state: 'attached' });
    await page.getByText('The schema is shown to authenticated callers').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    await page.getByRole('button', { name: 'Headers' }).click();
    await page.locator('.graphiql-editor-tool textarea').last().focus();
    await page.keyboard.insertText(JSON.stringify({ Authorization: `Bearer ${app.token}` }));
    // What is written is taken over a while later, the headers before the query.
    await page.locator('.graphiql-query-editor textarea').focus();
    await page.keyboard.insertText('# with a token\n');
    await expect.poll(() => page.evaluate("localStorage.getItem('graphiql:tabState')")).toContain('# with a token');
    await page.getByRole('button', { name: /Execute query/ }).click();
    await page.getByRole('region', { name: 'Result' }).getByText('"acme"', { exact: true }).waitFor();
    const kept = () => page.evaluate<string>('JSON.stringify(localStorage) + document.cookie');
    // The history of queries is written after the answer is shown.
    const history = "JSON.parse(localStorage.getItem('graphiql:queries') ?? '{}').queries?.length ?? 0";
    await expect.poll(() => page.evaluate(history)).toBe(1);
    expect(await kept()).not.toContain(app.token);
  });
});
