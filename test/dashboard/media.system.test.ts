import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { studio } from '../support/app.ts';
import { commitTo, post, seedPosts } from '../support/conflict-site.ts';
import { expectGoodPage, narrow, withDashboard } from '../support/dashboard.ts';

const dashboard = withDashboard();
const media = '/p/acme/site/media';
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
/** Two pixels wide and high. */
const otherPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGMQaCgAIgYIBQAajgQBccCw/QAAAABJRU5ErkJggg==',
  'base64',
);
const picture = (name: string) => ({ name, mimeType: 'image/png', buffer: png });

beforeAll(async () => {
  await seedPosts(dashboard.app);
  const markdown = post({ title: 'Hero', cover: '/images/hero.png' }, '![A hill](/images/hero.png)\n');
  await commitTo(dashboard.app, 'main', { 'public/images/hero.png': png, 'content/posts/hero.md': markdown });
});

/** Opens the panel of a file, and waits until it has the focus: what is typed before can land elsewhere. */
async function openFile(page: Page, name: RegExp): Promise<void> {
  await page.getByRole('button', { name }).click();
  await page.getByRole('dialog').and(page.locator(':focus-within')).waitFor();
}

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
  await page.getByRole('searchbox', { name: 'Find a file' }).fill('two');
  await page.getByRole('button', { name: /one\.png/ }).waitFor({ state: 'detached' });
});

test('script in a file name is shown as text', async () => {
  await commitTo(dashboard.app, 'main', { 'public/<img src=x onerror=alert(1)>.png': png });
  const page = await dashboard.open(`${media}?path=public`, { size: narrow });
  await page.getByRole('button', { name: '<img src=x onerror=alert(1)>.png' }).click();
  await page.getByRole('dialog').getByText('<img src=x onerror=alert(1)>.png').first().waitFor();
  await expectGoodPage(page);
});

test('a file says where it is used, and what stands for it there', async () => {
  const text = '![A hill\\] at dusk](/images/seen.png) and ![](../../public/images/seen.png)\n';
  await commitTo(dashboard.app, 'main', {
    'public/images/seen.png': png,
    'content/posts/seen.md': post({ title: 'Seen', cover: '/images/seen.png', cover_alt: 'The cover' }, text),
    'content/posts/unseen.md': post({ title: 'Unseen' }, '`seen.png` is a name.\n'),
  });
  const page = await dashboard.open(`${media}?path=public%2Fimages`);
  await page.getByRole('button', { name: /seen\.png/ }).click();
  const uses = page.getByRole('region', { name: 'Used in' });
  await uses.getByText('The cover').waitFor();
  await uses.getByText('A hill] at dusk').waitFor();
  await uses.getByText('No alternative text').waitFor();
  expect(await uses.getByRole('link').allInnerTexts()).toEqual(['Seen']);
  await expectGoodPage(page);
});

test('a file gets another name, and the entries that use it follow', async () => {
  const page = await dashboard.open(`${media}?path=public%2Fimages`);
  await openFile(page, /hero\.png/);
  await page.getByRole('textbox', { name: 'Name' }).fill('hill top.png');
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByText('It is called hill-top.png now').waitFor();
  await page.getByRole('button', { name: /hill-top\.png/ }).waitFor();
  const { body } = await dashboard.app.ask('GET', `${studio}/collections/posts/hero`);
  expect(body.frontmatter.cover).toBe('/images/hill-top.png');
  expect(body.body).toContain('![A hill](/images/hill-top.png)');
});

test('a file of 8 MiB gets another name', async () => {
  await commitTo(dashboard.app, 'main', { 'public/images/large.png': Buffer.concat([png, Buffer.alloc(2 ** 23)]) });
  const page = await dashboard.open(`${media}?path=public%2Fimages`);
  await openFile(page, /large\.png/);
  await page.getByRole('textbox', { name: 'Name' }).fill('big.png');
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByText('It is called big.png now').waitFor();
  await page.getByRole('button', { name: /big\.png/ }).waitFor();
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
  await dialog.getByRole('link', { name: 'Posts / used' }).waitFor();
  await dialog.getByRole('button', { name: 'Delete anyway' }).click();
  await item.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Bring back' }).click();
  await item.waitFor();
});

test('deleted files are listed with who deleted them, and restored', async () => {
  await commitTo(dashboard.app, 'main', { 'public/images/lost.png': otherPng });
  await dashboard.app.ask('DELETE', `${studio}/media/public/images/lost.png`);
  const page = await dashboard.open(media);
  await page.getByRole('link', { name: 'Deleted files' }).click();
  await page.getByText('lost.png').waitFor();
  await page.getByText(/^public\/images · Deleted by .* · 73 B$/).waitFor();
  await expectGoodPage(page);
  const { DeletedMediaPage } = await dashboard.statementsOf(page);
  expect(DeletedMediaPage).toBeLessThanOrEqual(12);
  await page.getByRole('button', { name: 'Restore lost.png' }).click();
  await page.getByText('lost.png is back').waitFor();
  await page.getByText('No file was deleted').waitFor();
  const { body } = await dashboard.app.ask('GET', `${studio}/file?path=public/images/lost.png`);
  expect(body.size).toBe(otherPng.length);
});

test('an upload that is cut off says so in the tray, and is tried again there', async () => {
  const page = await dashboard.open(`${media}?path=public%2Fimages`);
  await page.getByRole('button', { name: /hill-top|hero/ }).waitFor();
  await page.route('**/studio/media', (route) => route.abort('connectionreset'), { times: 1 });
  await page.setInputFiles('input[type=file]', [picture('cut.png')]);
  await page.getByText('cut.png was not uploaded').waitFor();
  dashboard.forgive(/net::ERR_CONNECTION_RESET/);
  await page.getByRole('button', { name: '1 task has failed' }).click();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('button', { name: /cut\.png/ }).waitFor();
});

describe('where the branch takes changes only from drafts', () => {
  const protect = (require_pull: boolean) =>
    dashboard.app.ask('PATCH', `${studio}/repository`, {
      body: { require_pull, protected_branches: require_pull ? ['main'] : [] },
    });
  const paths = async (branch: string) => {
    const { body } = await dashboard.app.ask(
      'GET',
      `${studio}/media?recursive=true&branch=${encodeURIComponent(branch)}`,
    );
    return (body as { path: string }[]).map(({ path }) => path);
  };
  const draftOf = async (page: Page) => {
    await page.waitForURL(/draft=draft/);
    return new URL(page.url()).searchParams.get('draft') ?? '';
  };

  beforeAll(async () => {
    const markdown = post({ title: 'Kept', cover: '/images/kept.png' });
    await commitTo(dashboard.app, 'main', { 'public/images/kept.png': png, 'content/posts/kept.md': markdown });
    await protect(true);
  });
  afterAll(() => protect(false));

  test('uploads begin one draft together, and the page goes on in it', async () => {
    const page = await dashboard.open(`${media}?path=public%2Fimages`);
    await page.getByRole('button', { name: /^kept\.png/ }).waitFor();
    await page.setInputFiles('input[type=file]', [picture('three.png'), picture('four.png')]);
    const draft = await draftOf(page);
    await page.getByText(`It is in the draft ${draft}`).waitFor();
    await page.getByRole('button', { name: /^three\.png/ }).waitFor();
    await page.getByRole('button', { name: /^four\.png/ }).waitFor();
    expect(await paths(draft)).toEqual(expect.arrayContaining(['public/images/three.png', 'public/images/four.png']));
    expect(await paths('main')).not.toContain('public/images/three.png');
    await page.getByRole('button', { name: /^three\.png/ }).click();
    await page
      .locator('input[type=file]')
      .last()
      .setInputFiles({ ...picture('x.png'), buffer: otherPng });
    await page.getByRole('dialog').getByText('2 × 2').waitFor();
    await dashboard.app.ask('DELETE', `${studio}/branches/${draft}`);
  });

  test('a file gets another name in a draft, with the entries that use it', async () => {
    const page = await dashboard.open(`${media}?path=public%2Fimages`);
    await openFile(page, /^kept\.png/);
    await page.getByRole('textbox', { name: 'Name' }).fill('named.png');
    await page.getByRole('button', { name: 'Rename' }).click();
    const draft = await draftOf(page);
    await page.getByRole('button', { name: /^named\.png/ }).waitFor();
    const entry = `${studio}/collections/posts/kept?branch=`;
    expect((await dashboard.app.ask('GET', entry + draft)).body.frontmatter.cover).toBe('/images/named.png');
    expect((await dashboard.app.ask('GET', `${entry}main`)).body.frontmatter.cover).toBe('/images/kept.png');
  });

  test('a file is deleted in a draft, and comes back there', async () => {
    const page = await dashboard.open(`${media}?path=public%2Fimages`);
    const item = page.getByRole('button', { name: /^kept\.png/ });
    await item.click();
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete kept.png?' });
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete anyway' }).click();
    const draft = await draftOf(page);
    await item.waitFor({ state: 'detached' });
    expect(await paths('main')).toContain('public/images/kept.png');
    expect(await paths(draft)).not.toContain('public/images/kept.png');
    await page.getByRole('button', { name: 'Bring back' }).click();
    await item.waitFor();
    expect(await paths(draft)).toContain('public/images/kept.png');
  });

  test('a deleted file is restored in a draft', async () => {
    await protect(false);
    await commitTo(dashboard.app, 'main', { 'public/images/away.png': Buffer.concat([otherPng, Buffer.from('away')]) });
    await dashboard.app.ask('DELETE', `${studio}/media/public/images/away.png`);
    await protect(true);
    const page = await dashboard.open(`${media}/deleted`, { language: 'de', email: 'dora@example.org' });
    await page.getByRole('button', { name: 'away.png wiederherstellen' }).click();
    const draft = await draftOf(page);
    await page.getByText('away.png ist wieder da').waitFor();
    await page.getByText('Es wurde keine Datei gelöscht').waitFor();
    expect(await paths(draft)).toContain('public/images/away.png');
    expect(await paths('main')).not.toContain('public/images/away.png');
  });
});

test('an empty site says what to do first', async () => {
  await dashboard.app.ask('POST', '/api/v2/organizations/acme/projects', {
    body: { name: 'New', machine_name: 'new' },
  });
  const page = await dashboard.open('/p/acme/new/media', { size: narrow });
  await page.getByText('There are no files here').waitFor();
  await expectGoodPage(page);
});
