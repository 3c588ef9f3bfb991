import { beforeAll, expect, test } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { seed, studio } from '../support/app.ts';
import { commitTo } from '../support/conflict-site.ts';
import { expectGoodPage, narrow, withDashboard } from '../support/dashboard.ts';
import { siteFiles } from '../support/site-files.ts';

const dashboard = withDashboard();
const files = '/p/acme/site/files';
const scriptName = '<img src=x onerror=alert(1)>.txt';

beforeAll(async () => {
  await seed(dashboard.app, {
    ...siteFiles,
    'data/binary.bin': Buffer.from([0, 1, 2, 255]),
    'data/empty.txt': '',
    'data/large.txt': 'a line of text\n'.repeat(400_000),
    'data/shown.ts': 'export const answer: number = 42; // \u202Eright\n',
    [`data/${scriptName}`]: 'harmless\n',
    'data/مرحبا.txt': 'salut\n',
  });
  await dashboard.app.run(createProject, { organization: 'acme', name: 'Wide', machine_name: 'wide' });
  const many = Array.from({ length: 3_000 }, (_, at): [string, string] => [`many/file ${at}.txt`, `${at}\n`]);
  await seed(dashboard.app, Object.fromEntries(many), 'wide');
  await dashboard.app.run(createProject, { organization: 'acme', name: 'Bare', machine_name: 'bare' });
});

test('leads through directories to a file with its last change, all by address', async () => {
  const page = await dashboard.open(files);
  await page.getByRole('link', { name: 'data' }).click();
  await page.waitForURL('**/files/data');
  await page.getByRole('link', { name: /shown\.ts/ }).click();
  await page.waitForURL('**/files/data?file=shown.ts');
  const code = page.getByRole('textbox', { name: 'shown.ts' });
  await code.getByText('export').waitFor();
  await page.getByText(/Seed · .* · Seed/).waitFor();
  expect(await page.locator('.cm-lineNumbers').innerText()).toContain('1');
  expect(await page.locator('.cm-specialChar').count()).toBe(1);
  await expectGoodPage(page);
  expect((await dashboard.statementsOf(page)).FilesPage).toBeLessThanOrEqual(12);
  await page.reload();
  await code.waitFor();
  await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'All files' }).click();
  await page.getByRole('link', { name: 'README.md' }).waitFor();
});

test('says by whom and when each line was changed last, and leads to its version', async () => {
  const { app } = dashboard;
  const text = 'first line\nsecond line\nthird line\n';
  await commitTo(app, 'main', { 'data/lines.txt': text });
  await commitTo(app, 'main', { 'data/lines.txt': text.replace('second', 'other') });
  const [newest, before] = (await app.ask('GET', `${studio}/commits?path=data/lines.txt`)).body;
  const page = await dashboard.open(`${files}/data?file=lines.txt`);
  const code = page.getByRole('textbox', { name: 'lines.txt' });
  await page.getByRole('button', { name: 'Last changes' }).click();
  await code.getByText('other line').click();
  const line = page.getByRole('status').filter({ hasText: 'Line 2' });
  await line.getByRole('link').waitFor();
  expect(await line.getByRole('link').getAttribute('href')).toContain(newest.sha);
  await expectGoodPage(page);
  await page.keyboard.press('ArrowDown');
  const next = page.getByRole('status').filter({ hasText: 'Line 3' });
  expect(await next.getByRole('link').getAttribute('href')).toContain(before.sha);
  await next.getByRole('link').click();
  await page.getByText('second line').waitFor();
  await page.getByRole('button', { name: 'Last changes' }).waitFor();
});

test('says where files are changed, and leads from an entry to its editor', async () => {
  const page = await dashboard.open(`${files}/src/content/posts/en?file=alpha.md`);
  await page.getByText('Entries are changed on their own pages').waitFor();
  await page.getByRole('textbox', { name: 'alpha.md' }).waitFor();
  expect(await page.getByRole('textbox', { name: 'alpha.md' }).getAttribute('aria-readonly')).toBe('true');
  await page.getByRole('link', { name: 'Open in the editor' }).click();
  await page.waitForURL('**/content/posts/en/alpha');
});

test.each([
  ['binary.bin', 'This file is not text'],
  ['empty.txt', 'This file is empty'],
  ['large.txt', 'This file is too large to be shown'],
  ['none.txt', 'There is nothing here'],
])('says of %s: %s', async (name, sentence) => {
  const page = await dashboard.open(`${files}/data?file=${name}`);
  await page.getByText(sentence).waitFor();
  expect(await page.getByRole('link', { name: 'Download' }).getAttribute('href')).toContain('raw=true');
  await expectGoodPage(page);
});

test('shows an image as one, and never runs script in it or in names', async () => {
  const page = await dashboard.open(`${files}/public?file=logo.svg`);
  await page.getByRole('img', { name: 'The image logo.svg' }).waitFor();
  await page.goto(`${dashboard.app.url}${files}/data`);
  await page.getByRole('link', { name: scriptName }).click();
  await page.getByRole('textbox', { name: scriptName }).getByText('harmless').waitFor();
  await page.getByRole('link', { name: /مرحبا/ }).click();
  await page.getByRole('textbox', { name: 'مرحبا.txt' }).getByText('salut').waitFor();
  await expectGoodPage(page);
});

test('keeps only the rows in sight of a wide directory, in the order of their numbers', async () => {
  const page = await dashboard.open('/p/acme/wide/files/many');
  await page.getByRole('link', { name: /^file 2\.txt/ }).waitFor();
  expect(await page.locator('main li').count()).toBeLessThan(200);
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
  await page.getByRole('link', { name: /^file 2999\.txt/ }).waitFor();
});

test('says what to do where there is nothing yet', async () => {
  const page = await dashboard.open('/p/acme/bare/files');
  await page.getByText('There are no files yet').waitFor();
  await expectGoodPage(page);
});

test('shows one file at a time on a telephone', async () => {
  const page = await dashboard.open(`${files}/data?file=shown.ts`, { size: narrow, colorScheme: 'dark' });
  await page.getByRole('textbox', { name: 'shown.ts' }).waitFor();
  expect(await page.getByRole('link', { name: /empty\.txt/ }).isVisible()).toBe(false);
  await expectGoodPage(page);
});

test('an answer of 500 is said, and tried again', async () => {
  const page = await dashboard.open(files);
  await page.getByRole('link', { name: 'data' }).waitFor();
  await page.route('**/graphql', (route) => route.fulfill({ status: 500, body: 'no' }));
  await page.getByRole('link', { name: 'data' }).click();
  await page.getByRole('alert').waitFor();
  await page.unroute('**/graphql');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('link', { name: /empty\.txt/ }).waitFor();
  dashboard.forgive(/500/);
});
