import { expect, test } from 'vitest';
import { goodPassword, makePerson } from '../support/browser.ts';
import { expectGoodPage, narrow, withDashboard } from '../support/dashboard.ts';

const dashboard = withDashboard();

test('the navigation of a project names its pages', async () => {
  const page = await dashboard.open('/p/acme/site');
  const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
  await links.first().waitFor();
  expect(await links.allInnerTexts()).toEqual([
    'Home',
    'Content',
    'Media',
    'Drafts',
    'Files',
    'Site',
    'Workflows',
    'Settings',
    'Organisation',
  ]);
  const { ProjectFrame } = await dashboard.statementsOf(page);
  expect(ProjectFrame).toBeLessThanOrEqual(12);
});

test('on a telephone the navigation is opened by its button', async () => {
  const page = await dashboard.open('/p/acme/site', { size: narrow });
  await page.getByRole('button', { name: 'Open navigation' }).click();
  await page.getByRole('link', { name: 'Media' }).click();
  await page.waitForURL('**/p/acme/site/media');
  expect(await page.getByRole('button', { name: 'Open navigation' }).isVisible()).toBe(true);
});

test('a page for people who are signed in leads all others to the sign-in, and back', async () => {
  const page = await dashboard.open('/p/acme/site/content?draft=spring', { email: null });
  await page.waitForURL('**/sign-in?next=*');
  expect(new URL(page.url()).searchParams.get('next')).toBe('/p/acme/site/content?draft=spring');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await expectGoodPage(page);
});

test('the sign-in leads to no other site, whatever next says', async () => {
  await makePerson(dashboard.app, { email: 'grace@example.org', role: 'owner' });
  const page = await dashboard.open(`/sign-in?next=${encodeURIComponent('/\t/evil.test/')}`, { email: null });
  await page.getByLabel('E-mail').fill('grace@example.org');
  await page.getByLabel('Password', { exact: true }).fill(goodPassword);
  const { origin } = new URL(page.url());
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.pathname !== '/sign-in');
  expect(new URL(page.url()).origin).toBe(origin);
});
