import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { seed } from '../support/app.ts';
import { expectGoodPage, narrow, withDashboard } from '../support/dashboard.ts';
import { siteFiles } from '../support/site-files.ts';

const dashboard = withDashboard();
const content = '/p/acme/site/content';

beforeAll(async () => {
  await seed(dashboard.app, {
    ...siteFiles,
    'src/content/posts/en/script.md': '---\ntitle: "<script>alert(1)</script> wholemeal"\nauthor: ada\n---\n',
    'src/content/posts/en/long.md': `---\ntitle: lengthy ${'x'.repeat(5_000)}\nauthor: ada\n---\n`,
  });
});

/** Opens the palette as people do who know it. */
async function openPalette(page: Page) {
  await page.getByRole('link', { name: 'Content' }).waitFor();
  await page.keyboard.press('Control+k');
  const field = page.getByRole('combobox', { name: 'A project, an entry, a page or an action' });
  // Keys that are typed before go elsewhere.
  await field.and(page.locator(':focus')).waitFor();
  return field;
}
const option = (page: Page, name: string | RegExp) => page.getByRole('option', { name, exact: true });
/** What Enter chooses. */
const selected = (page: Page, name: string | RegExp) =>
  option(page, name).and(page.locator('[aria-selected=true], [data-combobox-selected]'));

test('leads to a page by keyboard alone', async () => {
  const page = await dashboard.open(content);
  await openPalette(page);
  await page.keyboard.type('med');
  await selected(page, 'Media').waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/p/acme/site/media');
});

test('finds entries on the server as one types, and says how many', async () => {
  const page = await dashboard.open(`${content}?draft=main`);
  await openPalette(page);
  await page.keyboard.type('Gamma bo');
  await selected(page, /Gamma/).waitFor();
  await page.getByRole('status').getByText('1 result').waitFor();
  await expectGoodPage(page);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/p/acme/site/content/posts/en/deep/gamma?draft=main');
  const { PalettePlaces, PaletteSearch } = await dashboard.statementsOf(page);
  expect(PalettePlaces).toBeLessThanOrEqual(12);
  expect(PaletteSearch).toBeLessThanOrEqual(12);
});

test('begins a new entry, and leads to collections and projects', async () => {
  const page = await dashboard.open(content);
  await openPalette(page);
  await page.keyboard.type('new entry posts');
  await selected(page, 'New entry in Posts').waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/p/acme/site/new/posts');
  await openPalette(page);
  await page.keyboard.type('acme');
  await option(page, 'Acme').click();
  await page.waitForURL('**/o/acme');
});

test('offers no new entry to people who may not write', async () => {
  const page = await dashboard.open(content, { email: 'rita@example.org', role: 'readonly' });
  await openPalette(page);
  await option(page, 'Posts').waitFor();
  expect(await option(page, /New entry/).count()).toBe(0);
});

test('is closed by Escape, and opened again empty with the focus back where it was', async () => {
  const page = await dashboard.open(content);
  await page.getByRole('searchbox').focus();
  const field = await openPalette(page);
  await page.keyboard.type('nothing like this');
  await page.getByText('Nothing found').waitFor();
  await page.getByRole('status').getByText('0 results').waitFor();
  await page.keyboard.press('Escape');
  await field.waitFor({ state: 'hidden' });
  await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('search');
  await openPalette(page);
  expect(await field.inputValue()).toBe('');
});

test('shows script and long titles as the text they are, also on a telephone', async () => {
  const page = await dashboard.open(content, { size: narrow });
  await page.getByRole('button', { name: 'Search or jump to' }).click();
  const field = page.getByRole('combobox', { name: 'A project, an entry, a page or an action' });
  await field.fill('wholemeal');
  await option(page, /<script>alert\(1\)<\/script> wholemeal/).waitFor();
  await field.fill('lengthy');
  await option(page, /lengthy x+/).waitFor();
  await expectGoodPage(page);
});

test('goes on without entries when the server cannot be reached', async () => {
  const page = await dashboard.open(content);
  await openPalette(page);
  await option(page, 'Posts').waitFor();
  await page.context().setOffline(true);
  await page.keyboard.type('posts');
  await option(page, 'Posts').waitFor();
  await page
    .getByRole('status')
    .getByText(/result/)
    .waitFor();
  await page.context().setOffline(false);
  dashboard.forgive(/ERR_INTERNET_DISCONNECTED/);
});
