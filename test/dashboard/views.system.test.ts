import { beforeAll, expect, test } from 'vitest';
import { seed } from '../support/app.ts';
import { expectGoodPage, expectTexts, narrow, withDashboard } from '../support/dashboard.ts';
import { siteFiles } from '../support/site-files.ts';

const dashboard = withDashboard();
const posts = '/p/acme/site/content/posts';

beforeAll(() => seed(dashboard.app, siteFiles));

test('a view is saved with its filters, order and columns, shown again, and deleted', async () => {
  const page = await dashboard.open(posts);
  await page.getByRole('link', { name: 'Alpha', exact: true }).waitFor();
  await page.getByRole('combobox', { name: 'Status' }).selectOption('published');
  await page.waitForURL(/status=published/);
  await page.getByRole('button', { name: 'Title' }).click();
  await page.waitForURL(/sort=title/);
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByText('No view is saved yet.').waitFor();
  await page.getByRole('textbox', { name: 'Name' }).fill('Published by title');
  await page.getByRole('button', { name: 'Save view' }).click();
  const view = page.getByRole('button', { name: 'Published by title', exact: true });
  await view.waitFor();
  await expectGoodPage(page);
  await page.goto(`${dashboard.app.url}${posts}`);
  await page.getByRole('button', { name: 'Views' }).click();
  await view.click();
  await page.waitForURL(/status=published/);
  await page.waitForURL(/sort=title/);
  await expect.poll(() => page.getByRole('combobox', { name: 'Status' }).inputValue()).toBe('published');
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByRole('button', { name: 'Delete view Published by title' }).click();
  await page.getByText('No view is saved yet.').waitFor();
});

test('a shared view is there for others, who cannot change it, and is shown without fields that are gone', async () => {
  const query = { filter: { gone: { eq: 'x' }, author: { eq: 'ada' } }, columns: ['@status', 'gone'] };
  const document = `mutation ($input: SaveViewInput!) {
    saveView(organization: "acme", project: "site", input: $input) { id }
  }`;
  const input = { name: 'For all', collection: 'posts', query, shared: true };
  const saved = await dashboard.app.ask('POST', '/graphql', { body: { query: document, variables: { input } } });
  expect(saved.body.errors).toBeUndefined();
  const page = await dashboard.open(posts, { email: 'eve@example.org', role: 'editor', size: narrow });
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByRole('button', { name: /^For all/ }).waitFor();
  expect(await page.getByRole('button', { name: /Delete view/ }).count()).toBe(0);
  expect(await page.getByRole('checkbox', { name: 'For everybody in the project' }).count()).toBe(0);
  await expectGoodPage(page);
  await page.getByRole('button', { name: /^For all/ }).click();
  await page.getByText('Shown without a field that is gone: gone').waitFor();
  await page.getByRole('list', { name: 'Filters' }).getByText('Author is ada').waitFor();
});

test('views are shown in German', async () => {
  const page = await dashboard.open(posts, { email: 'dora@example.org', language: 'de' });
  await page.getByRole('button', { name: 'Ansichten' }).click();
  await expectTexts(page, 'de', 'Diese Ansicht speichern');
});
