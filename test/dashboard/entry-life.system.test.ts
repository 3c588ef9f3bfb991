import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { acme, seed, studio } from '../support/app.ts';
import { expectGoodPage, narrow } from '../support/dashboard.ts';
import {
  editorReady,
  entryShown,
  freshEntry,
  full,
  save,
  saveButton,
  saveElsewhere,
  saveState,
  stored,
  titleField,
  withEditor,
} from '../support/entry-editor.ts';

const dashboard = withEditor();

const action = async (page: Page, name: string) => {
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name }).click();
};

test('a new entry takes its name from its title, and is made by Save', async () => {
  const { app } = dashboard;
  const page = await dashboard.open('/p/acme/site/new/posts');
  await editorReady(page);
  await titleField(page).fill('Première neige & more');
  const slug = page.getByRole('textbox', { name: 'Name in the address' });
  await expect.poll(() => slug.inputValue()).toBe('première-neige-more');
  await slug.fill('en/first snow: again');
  expect(await slug.inputValue()).toBe('en/first-snow:-again');
  await page.getByText('“:” cannot be part of an address.').waitFor();
  await saveButton(page).click();
  expect(await slug.getAttribute('aria-invalid')).toBe('true');
  expect(page.url()).toContain('/new/posts');
  await slug.fill('en/first-snow');
  await titleField(page).fill('First snow');
  expect(await slug.inputValue()).toBe('en/first-snow');
  await page.getByRole('combobox', { name: 'Author' }).fill('Ada');
  await page.getByRole('option', { name: /ada/ }).click();
  await page.getByRole('textbox', { name: 'Text', exact: true }).click();
  await page.keyboard.type('It came early.');
  await saveButton(page).click();
  await page.waitForURL('**/content/posts/en/first-snow');
  await editorReady(page);
  expect(await stored(app, 'en/first-snow')).toBe(
    '---\ntitle: First snow\ndraft: false\ntags: []\nauthor: ada\n---\n\nIt came early.',
  );
});

test('a new entry without changes says that it is not saved, and leaves nothing behind', async () => {
  const page = await dashboard.open('/p/acme/site/new/posts');
  await editorReady(page);
  await saveState(page, 'Not saved yet');
  // The page writes down what was typed, if anything was, when it is left.
  await page.getByRole('link', { name: /^Media/ }).click();
  await page.getByRole('heading', { name: 'Media', exact: true }).waitFor();
  await page.goBack();
  await editorReady(page);
  await saveState(page, 'Not saved yet');
  expect(await page.getByText('Your unsaved changes').count()).toBe(0);

  await titleField(page).fill('Half a thought');
  await saveState(page, 'All changes saved in this browser · not yet in the published version');
  await page.reload();
  await editorReady(page);
  await page.getByText('Your unsaved changes').waitFor();
  expect(await titleField(page).inputValue()).toBe('Half a thought');
  await action(page, 'Discard');
  await saveState(page, 'Not saved yet');
  expect(await titleField(page).inputValue()).toBe('');
});

test('a name that is taken is said beside it', async () => {
  await freshEntry(dashboard.app, 'en/taken');
  const page = await dashboard.open('/p/acme/site/new/posts?slug=en%2Ftaken');
  await editorReady(page);
  await titleField(page).fill('Taken');
  await page.getByRole('combobox', { name: 'Author' }).fill('Ada');
  await page.getByRole('option', { name: /ada/ }).click();
  await saveButton(page).click();
  await page
    .getByText(/has an entry en\/taken/)
    .first()
    .waitFor();
});

test('on a Hugo site a new entry begins with the archetype, and after a rename its old address is kept', async () => {
  const { app } = dashboard;
  app.clock.now = new Date('2026-03-07T08:09:10Z');
  onTestFinished(() => {
    app.clock.now = null;
  });
  await app.run(createProject, { organization: 'acme', name: 'Garden', machine_name: 'garden' });
  const archetype =
    '---\ntitle: \'{{ replace .File.ContentBaseName "-" " " | title }}\'\ndate: {{ .Date }}\ndraft: true\n---\n\nWords of the archetype.\n';
  const files = {
    'hugo.toml': "title = 'Garden'\n",
    'archetypes/posts.md': archetype,
    'content/posts/old.md': '---\ntitle: Old\n---\n',
  };
  await seed(app, files, 'garden');
  const fileAt = async (slug: string) =>
    (await app.ask('GET', `${acme}/projects/garden/studio/collections/posts/${slug}?raw=true`)).body.raw as string;

  const page = await dashboard.open('/p/acme/garden/content/posts');
  await page.getByRole('button', { name: 'New entry' }).click();
  await editorReady(page);
  await page.getByRole('textbox', { name: 'Text', exact: true }).getByText('Words of the archetype.').waitFor();
  await titleField(page).fill('Spring work');
  const slug = page.getByRole('textbox', { name: 'Name in the address' });
  await expect.poll(() => slug.inputValue()).toBe('spring-work');
  await saveButton(page).click();
  await page.waitForURL('**/content/posts/spring-work');
  await editorReady(page);
  await entryShown(page, 'spring-work');
  const made = await fileAt('spring-work');
  for (const part of [
    'title: Spring work\n',
    'date: 2026-03-07T08:09:10',
    'draft: true\n',
    '\nWords of the archetype.',
  ])
    expect(made).toContain(part);

  await action(page, 'Rename');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('spring');
  await dialog.getByRole('button', { name: 'Rename' }).click();
  await dialog.getByRole('button', { name: 'Keep the old address' }).click();
  await page.waitForURL('**/content/posts/spring');
  await entryShown(page, 'spring');
  await saveState(page, 'All changes saved in this browser');
  await saveButton(page).click();
  await saveState(page, 'Nothing to save');
  expect(await fileAt('spring')).toMatch(/aliases:[\s[-]*"?\/?(posts\/)?spring-work/);
});

test('an entry is duplicated under another name, and itself stays as it was', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/twice'));
  await editorReady(page);
  await action(page, 'Duplicate');
  await page.waitForURL('**/new/posts?*');
  await editorReady(page);
  const slug = page.getByRole('textbox', { name: 'Name in the address' });
  await expect.poll(() => slug.inputValue()).toBe('en/twice-copy');
  expect(await titleField(page).inputValue()).toBe('Alpha');
  await titleField(page).fill('Alpha for the second time');
  expect(await slug.inputValue()).toBe('en/twice-copy');
  await saveButton(page).click();
  await page.waitForURL('**/content/posts/en/twice-copy');
  const copy = await stored(app, 'en/twice-copy');
  expect(copy).toContain('title: Alpha for the second time');
  expect(copy).toContain('# Alpha');
  expect(await stored(app, 'en/twice')).toBe(full);
});

test('a missing translation begins with a copy', async () => {
  const { app } = dashboard;
  await freshEntry(app, 'de/other');
  const page = await dashboard.open(await freshEntry(app, 'en/translated'));
  await editorReady(page);
  await page.getByRole('navigation', { name: 'Languages' }).getByRole('link', { name: 'DE missing' }).click();
  await page.waitForURL(/\/new\/posts\?/);
  const slug = page.getByRole('textbox', { name: 'Name in the address' });
  await expect.poll(() => slug.inputValue()).toBe('de/translated');
  await editorReady(page);
  await titleField(page).fill('Übersetzt');
  await saveButton(page).click();
  await page.waitForURL('**/content/posts/de/translated');
  expect(await stored(app, 'de/translated')).toContain('title: Übersetzt');
  await page.getByRole('navigation', { name: 'Languages' }).getByRole('link', { name: 'EN', exact: true }).waitFor();
});

test('an entry is renamed with what is typed and not saved', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/old-name'));
  await editorReady(page);
  await titleField(page).fill('Typed before');
  await action(page, 'Rename …');
  const dialog = page.getByRole('dialog', { name: 'Rename this entry' });
  await dialog.getByRole('textbox', { name: 'Name in the address' }).fill('en/new-name');
  await dialog.getByRole('button', { name: 'Rename' }).click();
  await page.waitForURL('**/content/posts/en/new-name');
  await entryShown(page, 'en/new-name');
  await editorReady(page);
  expect(await titleField(page).inputValue()).toBe('Typed before');
  expect(await stored(app, 'en/new-name')).toBe(full);
  await save(page);
  expect(await stored(app, 'en/new-name')).toContain('title: "Typed before"');
});

test('what an entry is named by is shown before it is deleted, and the deletion is taken back', async () => {
  const { app } = dashboard;
  const { commitTo } = await import('../support/conflict-site.ts');
  await commitTo(app, 'main', { 'src/content/authors/eve.yaml': 'name: Eve\n' });
  await freshEntry(app, 'en/by-eve', '---\ntitle: By Eve\nauthor: eve\n---\n\nText.\n');
  const page = await dashboard.open('/p/acme/site/content/authors/eve');
  await page.getByRole('textbox', { name: 'Name', exact: true }).waitFor();
  await action(page, 'Delete …');
  const dialog = page.getByRole('dialog', { name: /^Delete / });
  await dialog.getByRole('link', { name: /en\/by-eve/ }).waitFor();
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
  await dialog.getByText('Entries that stay need this one.').waitFor();
  await dialog.getByRole('button', { name: 'Delete anyway' }).click();
  await page.waitForURL('**/content/authors');
  expect((await app.ask('GET', `${studio}/collections/authors/eve`)).status).toBe(404);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.waitForURL('**/content/authors/eve');
  await page.getByRole('textbox', { name: 'Name', exact: true }).waitFor();
  expect((await app.ask('GET', `${studio}/collections/authors/eve`)).status).toBe(200);
});

test('the files of an entry are listed before it is deleted with them, and come back with it', async () => {
  const { app } = dashboard;
  const { commitTo } = await import('../support/conflict-site.ts');
  const folder = 'src/content/posts/en/trip';
  const own = `${folder}/own.png`;
  const shared = `${folder}/shared.png`;
  const text = full.replace('Alpha body', '![](own.png) Alpha body');
  await commitTo(app, 'main', { [`${folder}/index.md`]: text, [own]: 'own', [shared]: 'shared' });
  await freshEntry(app, 'en/sharing', full.replace('Alpha body', '![](trip/shared.png) Alpha body'));
  const page = await dashboard.open('/p/acme/site/content/posts/en/trip');
  await editorReady(page);
  await action(page, 'Delete …');
  const dialog = page.getByRole('dialog', { name: /^Delete / });
  expect(await dialog.getByRole('list', { name: 'Files that belong to it' }).innerText()).toBe(own);
  expect(await dialog.getByRole('list', { name: 'These files stay' }).innerText()).toContain('Posts / en/sharing');
  const box = dialog.getByRole('checkbox', { name: 'Also delete its file, which nothing else uses' });
  expect(await box.isChecked()).toBe(true);
  await expectGoodPage(page);
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.waitForURL('**/content/posts');
  const statusOf = async (path: string) => (await app.ask('GET', `${studio}/file?path=${path}`)).status;
  expect([await statusOf(own), await statusOf(shared)]).toEqual([404, 200]);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.waitForURL('**/content/posts/en/trip');
  await editorReady(page);
  expect([await statusOf(own), await statusOf(`${folder}/index.md`)]).toEqual([200, 200]);
});

test('a version of the past is compared and brought back', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/past'));
  await editorReady(page);
  await saveElsewhere(app, 'en/past', { frontmatter: { title: 'Later' } });
  await expect.poll(() => titleField(page).inputValue()).toBe('Later');
  await page.getByRole('tab', { name: 'Versions' }).click();
  await page.getByRole('button', { name: /Create posts\/en\/past/ }).click();
  const dialog = page.getByRole('dialog', { name: /^Version of/ });
  await dialog.getByRole('deletion').filter({ hasText: 'Alpha' }).waitFor();
  await dialog.getByRole('button', { name: 'Bring back' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await expect.poll(() => stored(app, 'en/past')).toBe(full);
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Alpha');
});

test('search engines and social networks are previewed from the form', async () => {
  const page = await dashboard.open(await freshEntry(dashboard.app, 'en/seo'));
  await editorReady(page);
  await titleField(page).fill('x'.repeat(70));
  await page.getByRole('tab', { name: 'Search' }).click();
  await page.getByText('70 of 60').waitFor();
  await page.getByText('Cut after 60 characters').waitFor();
  await expectGoodPage(page);
});

test('on a telephone the text and the fields are tabs, and both are edited', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/phone'), { size: narrow });
  await titleField(page).fill('On a phone');
  await page.getByRole('tab', { name: 'Text' }).click();
  const box = page.getByRole('textbox', { name: 'Text', exact: true });
  await box.click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('Typed there.');
  await save(page);
  const text = await stored(app, 'en/phone');
  expect(text).toContain('title: "On a phone"');
  expect(text).toContain('Typed there.');
  await expectGoodPage(page);
});

test('an image that is uploaded in place becomes the value of its field', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/upload'));
  await editorReady(page);
  const pixel = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  const choose = async () => {
    await page.getByRole('button', { name: 'Choose Cover' }).click();
    const dialog = page.getByRole('dialog', { name: 'Choose an image' });
    await dialog.getByRole('button', { name: /logo\.svg/ }).waitFor();
    const chooser = page.waitForEvent('filechooser');
    await dialog.getByRole('button', { name: 'Upload' }).click();
    await (await chooser).setFiles({ name: 'pixel.png', mimeType: 'image/png', buffer: pixel });
    return dialog;
  };
  // Cut in the middle: said in the dialog, and nothing of it stays.
  await page.route('**/studio/media', (route) => route.abort('connectionreset'));
  await (await choose()).getByRole('alert').waitFor();
  await page.keyboard.press('Escape');
  await page.unroute('**/studio/media');
  dashboard.forgive(/ERR_CONNECTION_RESET/);
  expect((await app.ask('GET', `${studio}/media?recursive=true&q=pixel`)).body).toEqual([]);
  await choose();
  await expect
    .poll(() => page.getByRole('textbox', { name: 'Cover', exact: true }).inputValue())
    .toBe('/images/pixel.png');
  await save(page);
  expect(await stored(app, 'en/upload')).toContain('cover: /images/pixel.png');
});

test('under review an image that is uploaded in place begins a draft, in which the entry is edited on', async () => {
  const { app } = dashboard;
  const path = await freshEntry(app, 'en/upload-draft');
  const protect = (require_pull: boolean) =>
    app.ask('PATCH', `${studio}/repository`, {
      body: { require_pull, protected_branches: require_pull ? ['main'] : [] },
    });
  await protect(true);
  try {
    const page = await dashboard.open(path);
    await editorReady(page);
    await page.getByRole('textbox', { name: 'Title', exact: true }).fill('Kept over the upload');
    await page.getByRole('button', { name: 'Choose Cover' }).click();
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('dialog').getByRole('button', { name: 'Upload' }).click();
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
    await (await chooser).setFiles({ name: 'drafted.svg', mimeType: 'image/svg+xml', buffer: svg });
    await page.waitForURL(/\?draft=draft/);
    const cover = page.getByRole('textbox', { name: 'Cover', exact: true });
    await expect.poll(() => cover.inputValue()).toBe('/images/drafted.svg');
    await save(page);
    const text = await stored(app, 'en/upload-draft', new URL(page.url()).searchParams.get('draft') ?? '');
    expect(text).toContain('cover: /images/drafted.svg');
    expect(text).toContain('title: "Kept over the upload"');
    expect(await stored(app, 'en/upload-draft')).not.toContain('drafted.svg');
  } finally {
    await protect(false);
  }
});

test('by keyboard alone a title and the text are edited and saved', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/keys'));
  await editorReady(page);
  const isIn = (name: string) => page.evaluate(`document.activeElement?.getAttribute('aria-label') === '${name}'`);
  await page.locator('main').focus();
  for (let presses = 0; presses < 30 && !(await isIn('Text')); presses += 1) await page.keyboard.press('Tab');
  await page.keyboard.press('Control+End');
  await page.keyboard.type('By keys.');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  expect(await isIn('Text')).toBe(false);
  await page.keyboard.press('Control+s');
  await page.getByText('Saved', { exact: true }).waitFor();
  expect(await stored(app, 'en/keys')).toContain('By keys.');
});
