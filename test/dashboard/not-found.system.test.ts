import { beforeAll, expect, test } from 'vitest';
import { seed } from '../support/app.ts';
import { expectGoodPage, withDashboard } from '../support/dashboard.ts';
import { siteFiles } from '../support/site-files.ts';

const dashboard = withDashboard();
const site = '/p/acme/site';

beforeAll(() => seed(dashboard.app, siteFiles));

test.each([
  [`${site}/content/none`, 'content/none', 'Go to content', /\/content$/],
  [`${site}/content/posts/none`, 'content/posts/none', 'Go to content', /\/content$/],
  [`${site}/files/none`, 'files/none', 'Go to all files', /\/files$/],
  [`${site}/files/src?file=none.ts`, 'files/src/none.ts', 'Go to all files', /\/files$/],
  [`${site}/site/deployments/9999`, 'site/deployments/9999', 'Go to the project', /\/p\/acme\/site$/],
  ['/p/acme/none', 'none', 'Go to the organisation acme', /\/o\/acme$/],
])('%s says what is missing, in its place, and where to go', async (address, name, way, to) => {
  const page = await dashboard.open(address);
  await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
  await page.getByText(name, { exact: true }).first().waitFor();
  expect(page.url()).toContain(address.split('?')[0]);
  await expectGoodPage(page);
  await page.getByRole('link', { name: way }).click();
  await page.waitForURL(to);
});

test('a draft that is not there is said, with the way to the published version', async () => {
  const page = await dashboard.open(`${site}/content?draft=none`);
  await page.getByRole('alert').getByText('none').first().waitFor();
  await expectGoodPage(page);
});

test('an address of no page is said in the frame of its project', async () => {
  const page = await dashboard.open(`${site}/nothing`);
  await page.getByRole('main').getByRole('heading', { name: 'There is nothing here' }).waitFor();
  await expectGoodPage(page);
  await page.getByRole('link', { name: 'Content', exact: true }).click();
  await page.waitForURL(/\/content$/);
});

test('an address the server does not know is a page, for browsers', async () => {
  const page = await dashboard.open('/no/such/page');
  await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
  await page.getByText('/no/such/page').waitFor();
  dashboard.forgive(/404/);
});
