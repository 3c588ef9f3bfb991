import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeLink } from '../src/domain/users/one-time-link.ts';
import { startTestApp, type TestApp } from './support/app.ts';
import { goodPassword, makePerson, secretOf } from './support/browser.ts';
import { builtDashboard } from './support/build.ts';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
let app: TestApp;
let browser: Browser;
let page: Page;
/** What the page complained of, and where it asked outside of its origin. */
let faults: string[];

beforeAll(async () => {
  if (!existsSync(executablePath)) throw new Error(`This test needs chromium: nothing is at ${executablePath}`);
  app = await startTestApp({}, await builtDashboard());
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-quic'] });
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
    if (new URL(request.url()).origin !== app.url) faults.push(`asked ${request.url()}`);
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
  test.each(['/', '/setup', '/sign-in', '/join', '/reset', '/reference', '/explorer'])(
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
  test('the search shows what has all words, and everything again when it is cleared', async () => {
    await page.goto(`${app.url}/reference`);
    const shown = page.locator('.endpoint:visible');
    const all = await shown.count();
    await page.keyboard.press('/');
    await page.keyboard.type('entry put');
    await page.getByText('1 endpoint', { exact: true }).waitFor();
    expect(await shown.evaluateAll((sections) => sections.map((section) => section.id))).toEqual(['updateEntry']);
    await page.keyboard.press('Escape');
    expect(await shown.count()).toBe(all);
  });

  test('a link to an endpoint the search hides shows it', async () => {
    await page.goto(`${app.url}/reference`);
    await page.getByLabel('Search endpoints').fill('audit');
    await page.goto(`${app.url}/reference#createEntry`);
    await page.locator('#createEntry').waitFor({ state: 'visible' });
  });
});

describe('explorer', () => {
  const open = async () => {
    await page.goto(`${app.url}/explorer`);
    await page.getByLabel('API token').fill(app.token);
    await page.getByRole('button', { name: 'Use' }).click();
    await page.getByRole('heading', { name: 'Query', level: 3 }).waitFor();
  };

  test('runs a query with the token', async () => {
    await open();
    await page.getByRole('textbox', { name: 'Query' }).press('Control+Enter');
    await page.locator('#status', { hasText: '200' }).waitFor();
    const text = (await page.locator('#result').textContent()) ?? '';
    expect(JSON.parse(text)).toMatchObject({ data: { organizations: { nodes: [{ machine_name: 'acme' }] } } });
  });

  test('drafts an operation from the schema that runs as it is', async () => {
    await open();
    await page.getByRole('textbox', { name: 'Query' }).fill('');
    await page.getByRole('button', { name: 'Draft project' }).click();
    await page.getByLabel('Variables').fill('{"organization": "acme", "project": "site"}');
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.locator('#status', { hasText: '200' }).waitFor();
    const { data, errors } = JSON.parse((await page.locator('#result').textContent()) ?? '');
    expect(errors).toBeUndefined();
    expect(data.project).toMatchObject({ machine_name: 'site' });
  });

  test('keeps the token for the tab only, and forgets it when asked', async () => {
    await open();
    await page.reload();
    expect(await page.getByLabel('API token').inputValue()).toBe(app.token);
    expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0);
    await page.getByRole('button', { name: 'Forget' }).click();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  test('says what is wrong with the variables', async () => {
    await open();
    await page.getByLabel('Variables').fill('{');
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.locator('#status', { hasText: 'Variables:' }).waitFor();
  });
});
