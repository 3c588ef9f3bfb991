import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { seed, studio } from '../support/app.ts';
import { expectGoodPage, narrow, withDashboard } from '../support/dashboard.ts';
import { siteFiles } from '../support/site-files.ts';

const dashboard = withDashboard();
const content = '/p/acme/site/content';
const posts = `${content}/posts`;

/** Posts of the project `many`, whose titles contain their place. */
const manyPosts = 10_000;
const locales =
  'ar az be bg bn ca cs da de el en es et eu fa fi fr ga gl he hi hr hu hy id is it ja ka ko lt lv mk mt nl pl pt ro sv uk'.split(
    ' ',
  );

beforeAll(async () => {
  await seed(dashboard.app, {
    ...siteFiles,
    'src/content/posts/en/broken.md': '---\ntitle: [\n---\n\nBroken.\n',
    'src/content/posts/en/nameless.md':
      '---\ntitle: Nameless\nauthor: zoe\nrating: 9\n---\n\nBy somebody who is not there.\n',
    'src/content/posts/en/script.md':
      '---\ntitle: "<img src=x onerror=alert(1)><script>alert(2)</script>"\nauthor: ada\n---\n',
    'src/content/posts/en/rtl.md': '---\ntitle: "مرحبا \u202Eevil"\nauthor: ada\n---\n',
  });
  await dashboard.app.run(createProject, { organization: 'acme', name: 'Many', machine_name: 'many' });
  const number = (at: number) => String(at).padStart(5, '0');
  const files = Array.from({ length: manyPosts }, (_, at): [string, string] => [
    `content/posts/p${number(at)}.md`,
    `---\ntitle: Post ${number(at)}\ndate: 2026-01-01\ntags: [a, b]\n---\n\nText of ${at}.\n`,
  ]);
  await seed(
    dashboard.app,
    {
      'hugo.toml': 'baseURL = "https://example.org/"\n',
      'content/pages/about.md': '---\ntitle: About\n---\n',
      ...Object.fromEntries(files),
    },
    'many',
  );
  await dashboard.app.run(createProject, { organization: 'acme', name: 'Tongues', machine_name: 'tongues' });
  await seed(
    dashboard.app,
    {
      'astro.config.mjs': `import { defineConfig } from 'astro/config';
export default defineConfig({ i18n: { locales: ${JSON.stringify(locales)}, defaultLocale: 'en' } });
`,
      'src/content.config.ts': `import { defineCollection } from 'astro:content';
import { glob } from 'astro/loaders';
import { z } from 'astro/zod';
const posts = defineCollection({
  loader: glob({ pattern: '**/*.md', base: './src/content/posts' }),
  schema: z.object({ title: z.string() }),
});
export const collections = { posts };
`,
      ...Object.fromEntries(
        locales.map((code) => [`src/content/posts/${code}/one.md`, `---\ntitle: One in ${code}\n---\n`]),
      ),
      'src/content/posts/en/long.md': `---\ntitle: ${'long '.repeat(1_000)}\n---\n`,
    },
    'tongues',
  );
  await dashboard.app.run(createProject, { organization: 'acme', name: 'Bare', machine_name: 'bare' });
});

const rows = (page: Page) => page.locator('main tbody tr');
const titles = (page: Page) => page.locator('main tbody tr td a').allInnerTexts();
const waitForRows = (page: Page, count: number) => expect.poll(() => rows(page).count()).toBe(count);
const waitForTitles = (page: Page, wanted: string[]) => expect.poll(() => titles(page)).toEqual(wanted);
/** What an entry's file holds on the default branch. */
async function fileOf(path: string): Promise<string | null> {
  const { status, body } = await dashboard.app.ask('GET', `${studio}/file?path=${encodeURIComponent(path)}`);
  return status === 200 ? body.content : null;
}
async function headMessage(branch = 'main'): Promise<string> {
  const { body } = await dashboard.app.ask('GET', `${studio}/commits?branch=${encodeURIComponent(branch)}&per_page=1`);
  return body[0].message;
}

describe('all content', () => {
  test('names the collections with their counts, and leads to what is invalid in them', async () => {
    const page = await dashboard.open(content);
    await waitForRows(page, 2);
    expect(await rows(page).nth(1).innerText()).toMatch(/Posts\s+8\s+2 invalid entries/);
    await expectGoodPage(page);
    await page.getByRole('link', { name: '2 invalid entries' }).click();
    await page.getByRole('heading', { name: 'Posts' }).waitFor();
    await waitForRows(page, 2);
    expect(new URL(page.url()).searchParams.get('invalid')).toBe('true');
  });

  test('is searched as one types, over all collections', async () => {
    const page = await dashboard.open(content);
    await page.getByRole('searchbox', { name: 'Search all content' }).fill('gam');
    await page.getByText('1 entry found').waitFor();
    expect(await titles(page)).toEqual(['Gamma']);
    await expectGoodPage(page);
    expect((await dashboard.statementsOf(page)).ContentSearch).toBeLessThanOrEqual(12);
    await page.reload();
    await page.getByRole('link', { name: 'Gamma' }).click();
    await page.waitForURL('**/content/posts/en/deep/gamma');
  });

  test('says what to do where there is nothing yet', async () => {
    const page = await dashboard.open('/p/acme/bare/content');
    await page.getByText('There are no collections yet').waitFor();
    await expectGoodPage(page);
    await page.getByRole('link', { name: 'Open the settings' }).click();
    await page.waitForURL('**/p/acme/bare/settings');
  });
});

describe('a collection', () => {
  test('is sorted, filtered and searched, all by its address', async () => {
    const page = await dashboard.open(posts);
    await waitForRows(page, 8);
    await page.getByRole('button', { name: 'Title' }).click();
    await page.getByRole('columnheader', { name: 'Title' }).and(page.locator('[aria-sort=ascending]')).waitFor();
    await page.getByRole('button', { name: 'Title' }).click();
    await page.locator('[aria-sort=descending]').waitFor();
    expect(new URL(page.url()).searchParams.get('sort')).toBe('-title');
    // The order of last commits begins with the newest.
    await page.getByRole('button', { name: 'Updated' }).click();
    await page.getByRole('columnheader', { name: 'Updated' }).and(page.locator('[aria-sort=descending]')).waitFor();
    await page.getByRole('button', { name: 'Updated' }).click();
    await page.getByRole('columnheader', { name: 'Updated' }).and(page.locator('[aria-sort=ascending]')).waitFor();
    expect(new URL(page.url()).searchParams.get('sort')).toBe('@updated');
    await waitForRows(page, 8);
    await page.getByRole('combobox', { name: 'Language' }).selectOption('de');
    await waitForTitles(page, ['Alpha auf Deutsch']);
    await page.getByRole('combobox', { name: 'Language' }).selectOption('');
    await page.getByRole('combobox', { name: 'Status' }).selectOption('draft');
    await waitForTitles(page, ['Beta']);
    await page.getByRole('searchbox').fill('nothing of the kind');
    await page.getByText('No entry of this collection has all that you ask for.').waitFor();
    await page.getByRole('button', { name: 'Show all entries' }).click();
    await waitForRows(page, 8);
    expect(new URL(page.url()).search).toBe('');
    await page.goBack();
    await page.getByText('No entry of this collection has all that you ask for.').waitFor();
  });

  test('is filtered by a field, and the filter is removed', async () => {
    const page = await dashboard.open(posts);
    await waitForRows(page, 8);
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByLabel('Field', { exact: true }).selectOption('rating');
    await page.getByLabel('Condition').selectOption('gte');
    await page.getByLabel('Value', { exact: true }).fill('5');
    await page.getByRole('button', { name: 'Add filter' }).click();
    await waitForTitles(page, ['Nameless']);
    await expectGoodPage(page);
    await page.reload();
    await waitForRows(page, 1);
    await page.getByRole('button', { name: 'Remove the filter: Rating is at least 5' }).click();
    await waitForRows(page, 8);
  });

  test('shows the faults of what is invalid, without other entries', async () => {
    const page = await dashboard.open(posts);
    await page.getByRole('button', { name: '2 invalid' }).click();
    await waitForRows(page, 2);
    const faults = page.getByRole('list', { name: 'Faults' });
    expect(await faults.first().innerText()).toContain('Cannot be read, line');
    expect(await faults.nth(1).innerText()).toContain('Rating');
    await expectGoodPage(page);
  });

  test('keeps the columns that a person has chosen', async () => {
    const page = await dashboard.open(posts);
    await waitForRows(page, 8);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('checkbox', { name: 'Author' }).check();
    await page.getByRole('columnheader', { name: 'Author' }).waitFor();
    await page.getByRole('checkbox', { name: 'Updated' }).uncheck();
    await expect.poll(() => page.getByRole('columnheader', { name: 'Updated' }).count()).toBe(0);
    const other = await dashboard.open(posts);
    await other.getByRole('columnheader', { name: 'Author' }).waitFor();
    await other.getByRole('cell', { name: 'zoe' }).waitFor();
    await expectGoodPage(other);
    const colleague = await dashboard.open(posts, { email: 'bob@example.org', role: 'readonly' });
    await colleague.getByRole('columnheader', { name: 'Updated' }).waitFor();
    expect(await colleague.getByRole('columnheader', { name: 'Author' }).count()).toBe(0);
    expect(await colleague.getByRole('button', { name: 'New entry' }).count()).toBe(0);
    expect(await colleague.getByRole('checkbox').count()).toBe(0);
  });

  test('keeps the titles in sight beside any number of columns', async () => {
    const page = await dashboard.open(posts, { email: 'cora@example.org' });
    await page.getByRole('button', { name: 'Columns' }).click();
    const boxes = page.getByRole('dialog').getByRole('checkbox');
    await boxes.first().waitFor();
    for (const box of await boxes.all()) await box.check();
    await page.keyboard.press('Escape');
    const width = async () => (await page.getByRole('columnheader', { name: 'Title' }).boundingBox())?.width;
    await expect.poll(width).toBeGreaterThanOrEqual(140);
    await expectGoodPage(page);
  });

  test('leads to a new entry', async () => {
    const page = await dashboard.open(`${posts}?draft=main`);
    await page.getByRole('button', { name: 'New entry' }).click();
    await page.waitForURL('**/p/acme/site/new/posts?draft=main');
  });

  test('never runs script in titles, and marks what would turn their letters', async () => {
    const page = await dashboard.open(posts);
    await waitForRows(page, 8);
    expect(await titles(page)).toContain('<img src=x onerror=alert(1)><script>alert(2)</script>');
    expect(await page.locator('main img').count()).toBe(0);
    expect((await titles(page)).find((title) => title.includes('evil'))).toBe('مرحبا U+202Eevil');
  });

  test('follows what others commit', async () => {
    const page = await dashboard.open(content);
    const following = page.waitForResponse((response) => !!response.request().postData()?.includes('"branch:main"'));
    await page
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link', { name: /^Posts/ })
      .click();
    await waitForRows(page, 8);
    await following;
    await dashboard.app.ask('POST', `${studio}/collections/posts`, {
      body: { slug: 'en/later', frontmatter: { title: 'Later', author: 'ada' } },
    });
    await page.getByRole('link', { name: 'Later' }).waitFor();
    await dashboard.app.ask('DELETE', `${studio}/collections/posts/${encodeURIComponent('en/later')}`);
    await waitForRows(page, 8);
  });

  test('shows long titles and 40 languages on a telephone without being wider than it', async () => {
    const page = await dashboard.open('/p/acme/tongues/content/posts', { size: narrow });
    await waitForRows(page, 41);
    await page.getByText('+36').first().waitFor();
    expect(await page.getByRole('combobox', { name: 'Language' }).locator('option').count()).toBe(41);
    await expectGoodPage(page);
  });

  test('that is not there says so', async () => {
    const page = await dashboard.open(`${content}/nothing`);
    await page.getByText('There is nothing here').waitFor();
  });
});

describe('10,000 entries', () => {
  test('come by pages of 50, each for at most 12 statements', async () => {
    const page = await dashboard.open('/p/acme/many/content/posts');
    await waitForRows(page, 50);
    await page.getByText('1–50 of 10,000').waitFor();
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.getByText('51–100 of 10,000').waitFor();
    await page.getByRole('link', { name: 'Post 00050' }).waitFor();
    await page.getByRole('button', { name: 'Previous page' }).click();
    await page.getByText('1–50 of 10,000').waitFor();
    await page.getByRole('searchbox').fill('Post 09999');
    await waitForRows(page, 1);
    const { CollectionPage } = await dashboard.statementsOf(page);
    expect(CollectionPage).toBeLessThanOrEqual(12);
    await expectGoodPage(page);
  });

  test('keep their place in the address', async () => {
    const page = await dashboard.open('/p/acme/many/content/posts?sort=-@updated');
    await page.getByText('1–50 of 10,000').waitFor();
    await page.getByRole('button', { name: 'Title' }).click();
    await page.locator('[aria-sort=ascending]').waitFor();
    await page.getByRole('button', { name: 'Title' }).click();
    await page.locator('[aria-sort=descending]').waitFor();
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.getByText('51–100 of 10,000').waitFor();
    const again = await page.context().newPage();
    await again.goto(page.url());
    await again.getByText('51–100 of 10,000').waitFor();
    expect((await titles(again))[0]).toBe('Post 09949');
    await again.getByRole('button', { name: 'Previous page' }).click();
    await again.getByText('1–50 of 10,000').waitFor();
  });
});

describe('what is selected', () => {
  test('is marked as draft by one commit, which the toast takes back byte for byte', async () => {
    const before = await fileOf('src/content/posts/en/alpha.md');
    const page = await dashboard.open(posts);
    await page.getByRole('checkbox', { name: 'Select Alpha', exact: true }).check();
    await page.getByRole('checkbox', { name: 'Select Gamma' }).check();
    await page.getByText('2 selected').waitFor();
    await expectGoodPage(page);
    await page.getByRole('button', { name: 'Mark as draft' }).click();
    await page.getByText('2 entries were changed').waitFor();
    expect(await headMessage()).toMatch(/^Make 2 changes/);
    expect(await fileOf('src/content/posts/en/alpha.md')).toContain('draft: true');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('The change was taken back').waitFor();
    expect(await fileOf('src/content/posts/en/alpha.md')).toBe(before);
  });

  test('gets a field set, by keyboard alone', async () => {
    const page = await dashboard.open(posts, { role: 'editor', email: 'eve@example.org' });
    await page.getByRole('checkbox', { name: 'Select Gamma' }).focus();
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: 'Set a field' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').and(page.locator(':focus-within')).waitFor();
    await page.getByLabel('Field', { exact: true }).selectOption('tags');
    await page.getByLabel('Value', { exact: true }).focus();
    await page.keyboard.type('red, green');
    await page.keyboard.press('Enter');
    await page.getByText('1 entry was changed').waitFor();
    expect(await fileOf('src/content/posts/en/deep/gamma.md')).toMatch(
      /tags:\s*(\[red, green\]|\n\s*- red\n\s*- green)/,
    );
  });

  test('is refused with the fault of a value that breaks the schema, and nothing is committed', async () => {
    const message = await headMessage();
    const page = await dashboard.open(posts);
    await page.getByRole('checkbox', { name: 'Select Gamma' }).check();
    await page.getByRole('button', { name: 'Set a field' }).click();
    await page.getByLabel('Field', { exact: true }).selectOption('rating');
    await page.getByLabel('Value', { exact: true }).fill('77');
    await page.getByRole('button', { name: 'Set', exact: true }).click();
    await page.getByRole('alert').getByText('Gamma · Rating: Must be at most 5.').waitFor();
    expect(await headMessage()).toBe(message);
    await expectGoodPage(page);
  });

  test('is not left without a field that is required', async () => {
    const page = await dashboard.open(posts);
    await page.getByRole('checkbox', { name: 'Select Gamma' }).check();
    await page.getByRole('button', { name: 'Set a field' }).click();
    await page.getByLabel('Field', { exact: true }).selectOption('rating');
    await page.getByLabel('Leave it empty').check();
    await page.getByLabel('Field', { exact: true }).selectOption('title');
    expect(await page.getByLabel('Value', { exact: true }).isEnabled()).toBe(true);
    expect(await page.getByRole('button', { name: 'Set', exact: true }).isDisabled()).toBe(true);
  });

  test('is moved into another folder, and back', async () => {
    const page = await dashboard.open(posts);
    await page.getByRole('checkbox', { name: 'Select Gamma' }).check();
    await page.getByRole('checkbox', { name: 'Select Beta' }).check();
    await page.getByRole('button', { name: 'Move' }).click();
    const folder = page.getByLabel('Folder in the collection');
    const move = page.getByRole('dialog').getByRole('button', { name: 'Move' });
    await folder.fill('en//old: no');
    await page.getByText('“:” cannot be part of an address.').waitFor();
    expect(await move.isDisabled()).toBe(true);
    await folder.fill('en/../old');
    await page.getByText('Each / needs a name before and after it.').waitFor();
    await folder.fill('en/old');
    await move.click();
    await page.getByText('2 entries were changed').waitFor();
    expect(await fileOf('src/content/posts/en/old/gamma.md')).toContain('Gamma body.');
    expect(await fileOf('src/content/posts/en/beta.md')).toBeNull();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('The change was taken back').waitFor();
    expect(await fileOf('src/content/posts/en/deep/gamma.md')).toContain('Gamma body.');
  });

  test('stays where the pattern of its collection has no place for the new name', async () => {
    const message = await headMessage();
    const page = await dashboard.open(`${content}/authors`);
    await page.getByRole('checkbox', { name: 'Select Ada' }).check();
    await page.getByRole('button', { name: 'Move' }).click();
    const address = page.getByLabel('New address of the entry');
    await address.fill('team/ada');
    await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click();
    await page.getByRole('dialog').locator('[aria-invalid=true]').waitFor();
    await expectGoodPage(page);
    expect(await headMessage()).toBe(message);
  });

  test('is deleted after its uses are named, and comes back', async () => {
    const page = await dashboard.open(`${content}/authors`);
    await page.getByRole('checkbox', { name: 'Select Ada' }).check();
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete 1 entry?' });
    await dialog.getByText('Ada is used by Beta').waitFor();
    await expectGoodPage(page);
    await dialog.getByRole('button', { name: 'Delete anyway' }).click();
    await page.getByText('1 entry was deleted').waitFor();
    expect(await fileOf('src/content/authors/ada.yaml')).toBeNull();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('The change was taken back').waitFor();
    expect(await fileOf('src/content/authors/ada.yaml')).toBe('name: Ada\n');
  });

  test('comes back where it could not be read', async () => {
    const file = 'src/content/posts/en/broken.md';
    const before = await fileOf(file);
    const page = await dashboard.open(posts);
    await page
      .getByRole('row', { name: /broken/i })
      .getByRole('checkbox')
      .check();
    await page.getByRole('checkbox', { name: 'Select Gamma' }).check();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('2 entries were deleted').waitFor();
    expect(await fileOf(file)).toBeNull();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('The change was taken back').waitFor();
    expect(await fileOf(file)).toBe(before);
    expect(await fileOf('src/content/posts/en/deep/gamma.md')).toContain('Gamma body.');
  });

  test('is looked up in one request before it is deleted, however many entries that are', async () => {
    const page = await dashboard.open(`${content}/authors`);
    await page.getByRole('checkbox', { name: /^Select all/ }).check();
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/graphql')) sent.push(request.postData() ?? '');
    });
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText('Ada is used by Beta').waitFor();
    expect(sent.filter((body) => body.includes('EntryUses'))).toHaveLength(1);
    await page.getByRole('button', { name: 'Cancel' }).click();
  });

  test('is committed to a new draft where the published version takes no commits', async () => {
    await dashboard.app.ask('PATCH', `${studio}/repository`, {
      body: { protected_branches: ['main'], require_pull: true },
    });
    const page = await dashboard.open(posts);
    await page.getByRole('checkbox', { name: 'Select Gamma' }).check();
    await page.getByRole('button', { name: 'Mark as draft' }).click();
    await page.getByText(/It is in the draft draft\//).waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get('draft')).toMatch(/^draft\//);
    await page.getByRole('row', { name: /Gamma/ }).getByText('Draft').waitFor();
    expect(await fileOf('src/content/posts/en/deep/gamma.md')).not.toContain('draft: true');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('The change was taken back').waitFor();
    await page.getByRole('row', { name: /Gamma/ }).getByText('Published').waitFor();
    await dashboard.app.ask('PATCH', `${studio}/repository`, { body: { protected_branches: [], require_pull: false } });
  });
});

describe('trouble', () => {
  test('an answer of 500 is said, and tried again', async () => {
    const page = await dashboard.open(`${content}/authors`);
    await waitForRows(page, 2);
    await page.route('**/graphql', (route) =>
      route.request().postData()?.includes('CollectionPage')
        ? route.fulfill({ status: 500, body: 'no' })
        : route.continue(),
    );
    await page.getByRole('link', { name: /^Posts/ }).click();
    const retry = page.getByRole('alert').getByRole('button', { name: 'Try again' });
    await retry.waitFor();
    await expectGoodPage(page);
    await page.unroute('**/graphql');
    await retry.click();
    await waitForRows(page, 8);
    dashboard.forgive(/500/);
  });

  test('without a network the list stays, and says why it cannot go on', async () => {
    const page = await dashboard.open(posts);
    await waitForRows(page, 8);
    await page.context().setOffline(true);
    await page.getByRole('link', { name: /^Authors/ }).click();
    await page.getByText('The server cannot be reached.').waitFor();
    const failed = page.waitForEvent('requestfailed');
    await page.getByRole('button', { name: 'Try again' }).click();
    await failed;
    await page.getByText('The server cannot be reached.').waitFor();
    await page.context().setOffline(false);
    // By itself: a browser says when it is online again.
    await waitForRows(page, 2);
    dashboard.forgive(/ERR_INTERNET_DISCONNECTED/);
  });
});
