import { beforeAll, expect, test } from 'vitest';
import { studio } from '../support/app.ts';
import { commitTo, post, seedPosts } from '../support/conflict-site.ts';
import { expectGoodPage, narrow, withDashboard } from '../support/dashboard.ts';

const dashboard = withDashboard();
const media = '/p/acme/site/media';
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const picture = (name: string) => ({ name, mimeType: 'image/png', buffer: png });

beforeAll(async () => {
  await seedPosts(dashboard.app);
  const markdown = post({ title: 'Hero', cover: '/images/hero.png' }, '![A hill](/images/hero.png)\n');
  await commitTo(dashboard.app, 'main', { 'public/images/hero.png': png, 'content/posts/hero.md': markdown });
});

test('several files are uploaded at once into the folder that is open, and shown with their sizes', async () => {
  const page = await dashboard.open(media);
  await page.getByRole('button', { name: /public\/images/ }).click();
  await page.getByRole('button', { name: /hero\.png.*1 × 1/ }).waitFor();
  await page.setInputFiles('input[type=file]', [picture('one.png'), picture('two.png')]);
  await page.getByRole('button', { name: /one\.png/ }).waitFor();
  await page.getByRole('button', { name: /two\.png/ }).waitFor();
  await expectGoodPage(page);
  const { MediaPage } = await dashboard.statementsOf(page);
  expect(MediaPage).toBeLessThanOrEqual(12);
  await page.getByRole('textbox', { name: 'Find a file' }).fill('two');
  await page.getByRole('button', { name: /one\.png/ }).waitFor({ state: 'detached' });
});

test('script in a file name is shown as text', async () => {
  await commitTo(dashboard.app, 'main', { 'public/<img src=x onerror=alert(1)>.png': png });
  const page = await dashboard.open(`${media}?path=public`, { size: narrow });
  await page.getByRole('button', { name: '<img src=x onerror=alert(1)>.png' }).click();
  await page.getByRole('dialog').getByText('<img src=x onerror=alert(1)>.png').first().waitFor();
  await expectGoodPage(page);
});

test('a file gets another name, and the entries that use it follow', async () => {
  const page = await dashboard.open(`${media}?path=public%2Fimages`);
  await page.getByRole('button', { name: /hero\.png/ }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('hill top.png');
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByText('It is called hill-top.png now').waitFor();
  await page.getByRole('button', { name: /hill-top\.png/ }).waitFor();
  const { body } = await dashboard.app.ask('GET', `${studio}/collections/posts/hero`);
  expect(body.frontmatter.cover).toBe('/images/hill-top.png');
  expect(body.body).toContain('![A hill](/images/hill-top.png)');
});

test('a file that entries use is deleted only when they have been seen, and comes back', async () => {
  const markdown = post({ title: 'Used', cover: '/images/used.png' });
  await commitTo(dashboard.app, 'main', { 'public/images/used.png': png, 'content/posts/used.md': markdown });
  const page = await dashboard.open(`${media}?path=public%2Fimages`);
  const item = page.getByRole('button', { name: /used\.png/ });
  await item.click();
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete used.png?' });
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('link', { name: 'posts / used' }).waitFor();
  await dialog.getByRole('button', { name: 'Delete all the same' }).click();
  await item.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Bring back' }).click();
  await item.waitFor();
});

test('an upload that is cut off says so in the tray, and is tried again there', async () => {
  const page = await dashboard.open(`${media}?path=public%2Fimages`);
  await page.getByRole('button', { name: /hill-top|hero/ }).waitFor();
  await page.route('**/studio/media', (route) => route.abort('connectionreset'), { times: 1 });
  await page.setInputFiles('input[type=file]', [picture('cut.png')]);
  await page.getByText('cut.png was not uploaded').waitFor();
  dashboard.forgive(/net::ERR_CONNECTION_RESET/);
  await page.getByRole('button', { name: /tasks? (is|are) running/ }).click();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('button', { name: /cut\.png/ }).waitFor();
});

test('an empty site says what to do first', async () => {
  await dashboard.app.ask('POST', '/api/v2/organizations/acme/projects', {
    body: { name: 'New', machine_name: 'new' },
  });
  const page = await dashboard.open('/p/acme/new/media', { size: narrow });
  await page.getByText('There are no files here').waitFor();
  await expectGoodPage(page);
});
