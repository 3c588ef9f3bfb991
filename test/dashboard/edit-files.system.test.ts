import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { acme, seed, studio } from '../support/app.ts';
import { commitTo } from '../support/conflict-site.ts';
import { expectGoodPage, narrow, withDashboard } from '../support/dashboard.ts';
import { commitFiles, setRef } from '../support/git-history.ts';
import { git } from '../support/git-store.ts';
import { siteFiles } from '../support/site-files.ts';

const dashboard = withDashboard();
const files = '/p/acme/site/files';
const owner = { email: 'owner@portico.test', role: 'owner' as const };
const lines = (at: number, text: string) =>
  `${Array.from({ length: 30 }, (_, line) => (line === at ? text : `line ${line}`)).join('\n')}\n`;

beforeAll(async () => {
  await seed(dashboard.app, {
    ...siteFiles,
    'lib/shown.ts': 'export const answer = 42;\n',
    'lib/crlf.txt.cfg': 'one\r\ntwo\r\n',
    'lib/mixed.cfg': '\ufeffone\r\ntwo\nthree\rfour',
    'lib/theirs.cfg': lines(-1, ''),
    'lib/clash.cfg': lines(-1, ''),
    'lib/draft.cfg': 'draft\n',
    'lib/gone.cfg': 'gone\n',
    'lib/tabs.cfg': 'tabs\n',
    'lib/delete.cfg': 'delete\n',
    'lib/binary.bin': Buffer.from([0, 1, 2, 255]),
    'lib/nul.txt.cfg': 'a\u0000b',
    'lib/large.cfg': `${'a'.repeat(99)}\n`.repeat(10_486),
    'public/robots.txt': 'User-agent: *\n',
  });
});

const contentOf = async (path: string, branch = 'main') =>
  (await dashboard.app.ask('GET', `${studio}/file?path=${encodeURIComponent(path)}&branch=${branch}`)).body.content;
const code = (page: Page) => page.getByRole('textbox', { name: 'Text' });
const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true });

/** Opens a file for editing and puts the caret at its end. */
async function edit(path: string, visitor: object = {}): Promise<Page> {
  const slash = path.lastIndexOf('/');
  const page = await dashboard.open(`${files}/${path.slice(0, slash)}?file=${path.slice(slash + 1)}`, {
    ...owner,
    ...visitor,
  });
  await page.getByRole('link', { name: 'Edit', exact: true }).click();
  await code(page).click();
  await page.keyboard.press('Control+End');
  return page;
}

test('a file is edited, its changes seen, saved by Ctrl+S and taken back', async () => {
  const page = await edit('lib/shown.ts');
  expect((await dashboard.statementsOf(page)).FilesPage).toBeLessThanOrEqual(12);
  expect(await save(page).isDisabled()).toBe(true);
  await page.keyboard.type('// more\n');
  await page.getByText('not yet in the published version').waitFor();
  await expectGoodPage(page);
  await page.getByRole('button', { name: 'Changes' }).click();
  await page.getByRole('dialog').getByText('// more').waitFor();
  await expectGoodPage(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
  await code(page).click();
  await page.keyboard.press('Control+s');
  await page.getByText('Saved', { exact: true }).waitFor();
  expect(await contentOf('lib/shown.ts')).toBe('export const answer = 42;\n// more\n');
  await page.getByText('Nothing to save').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await code(page).getByText('// more').waitFor({ state: 'detached' });
  expect(await contentOf('lib/shown.ts')).toBe('export const answer = 42;\n');
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('link', { name: 'Edit', exact: true }).waitFor();
});

test.each([
  ['lib/crlf.txt.cfg', 'one\r\ntwo\r\n', 'three\r\n'],
  ['lib/mixed.cfg', '\ufeffone\r\ntwo\nthree\rfour', 'three\n'],
])('keeps the bytes of %s that were not typed', async (path, before, added) => {
  const page = await edit(path);
  await page.keyboard.type('three\n');
  await save(page).click();
  await page.getByText('Saved', { exact: true }).waitFor();
  expect(await contentOf(path)).toBe(before + added);
});

test('what was typed outlives a reload, and another person does not get it', async () => {
  const page = await edit('lib/tabs.cfg');
  await page.keyboard.type('unsaved');
  await page.getByText('All changes saved in this browser').waitFor();
  await page.reload();
  await page.getByText('Your unsaved changes').waitFor();
  await code(page).getByText('unsaved').waitFor();
  expect(await contentOf('lib/tabs.cfg')).toBe('tabs\n');
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.getByText('This file is open for editing in another tab.').waitFor();
  expect(await save(other).isDisabled()).toBe(true);
  await other.getByRole('button', { name: 'Edit here' }).click();
  await code(other).getByText('unsaved').waitFor();
  await page.getByText('This file is open for editing in another tab.').waitFor();
  await other.getByRole('button', { name: 'Discard them' }).click();
  await code(other).getByText('unsaved').waitFor({ state: 'detached' });
});

test('takes in what somebody else saved in other lines, and saves nothing over it', async () => {
  const page = await edit('lib/theirs.cfg');
  await page.keyboard.type('mine');
  await commitTo(dashboard.app, 'main', { 'lib/theirs.cfg': lines(2, 'theirs') });
  await page.getByText('Somebody saved this file. What they changed is in the text now').waitFor();
  await save(page).click();
  await page.getByText('Saved', { exact: true }).waitFor();
  expect(await contentOf('lib/theirs.cfg')).toBe(`${lines(2, 'theirs')}mine`);
});

test('shows both versions where the same lines were changed, and the person decides', async () => {
  const page = await edit('lib/clash.cfg');
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('mine ');
  await commitTo(dashboard.app, 'main', { 'lib/clash.cfg': lines(0, 'theirs') });
  await page.getByText('changed the same lines as you').waitFor();
  await save(page).click();
  const dialog = page.getByRole('dialog', { name: 'Somebody changed the same lines' });
  await dialog.getByText('theirs', { exact: true }).waitFor();
  await expectGoodPage(page);
  expect(await contentOf('lib/clash.cfg')).toBe(lines(0, 'theirs'));
  await dialog.getByRole('button', { name: 'Continue editing' }).click();
  await code(page).getByText('mine line 0').waitFor();
  await save(page).click();
  await dialog.getByRole('button', { name: 'Save mine over theirs' }).click();
  await page.getByText('Saved', { exact: true }).waitFor();
  expect(await contentOf('lib/clash.cfg')).toBe(lines(0, 'mine line 0'));
});

test('a file that is deleted while it is edited is made again by a save', async () => {
  const page = await edit('lib/gone.cfg');
  await page.keyboard.type('kept\n');
  await commitTo(dashboard.app, 'main', { 'lib/gone.cfg': null });
  await page.getByText('This file was deleted. What you typed is kept').waitFor();
  await save(page).click();
  await page.getByText('Saved', { exact: true }).waitFor();
  expect(await contentOf('lib/gone.cfg')).toBe('gone\nkept\n');
});

test('a save begins a draft where the branch takes no commits', async () => {
  const rules = (require_pull: boolean) =>
    dashboard.app.ask('PATCH', `${studio}/repository`, {
      body: { require_pull, protected_branches: require_pull ? ['main'] : [] },
    });
  await rules(true);
  try {
    const page = await edit('lib/draft.cfg');
    await page.keyboard.type('more\n');
    await page.getByText('Save begins a draft').waitFor();
    await save(page).click();
    await page.getByText(/^Saved in the new draft draft\//).waitFor();
    await page.waitForURL(/draft=draft/);
    await page.getByText('Everything is in the draft').waitFor();
    const draft = new URL(page.url()).searchParams.get('draft') ?? '';
    expect(await contentOf('lib/draft.cfg', draft)).toBe('draft\nmore\n');
    expect(await contentOf('lib/draft.cfg')).toBe('draft\n');
  } finally {
    await rules(false);
  }
});

test('a new file is written into a directory below, and a name that is taken is refused', async () => {
  const page = await dashboard.open(`${files}/lib`, owner);
  await page.getByRole('button', { name: 'New file' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('shown.ts');
  await code(page).click();
  await page.keyboard.type('body {}\n');
  await save(page).click();
  await page.getByText('There is a file of this name').waitFor();
  await page.getByRole('textbox', { name: 'Name' }).hover();
  await expectGoodPage(page);
  await page.getByRole('textbox', { name: 'Name' }).fill('theme/colours.css');
  await save(page).click();
  await page.getByText('Saved', { exact: true }).waitFor();
  await page.waitForURL(/files\/lib\/theme\?.*file=colours\.css/);
  expect(await contentOf('lib/theme/colours.css')).toBe('body {}\n');
  await page.getByText('Nothing to save').waitFor();
  await code(page).getByText('body').waitFor();
});

test.each([
  ['no commit', false],
  ['no file', true],
])('a first file is written where there is %s', async (name, isEmptied) => {
  const { app } = dashboard;
  const machine_name = name.replace(' ', '-');
  await app.run(createProject, { organization: 'acme', name, machine_name });
  if (isEmptied) {
    await seed(app, { 'only.cfg': 'only\n' }, machine_name);
    const { body } = await app.ask('GET', `${acme}/projects/${machine_name}`);
    const gitDir = app.directory(body.uuid);
    setRef(gitDir, 'refs/heads/main', commitFiles(gitDir, git(gitDir, ['rev-parse', 'main']), { 'only.cfg': null }));
  }
  const stored = async () =>
    (await app.ask('GET', `${acme}/projects/${machine_name}/studio/file?path=notes/first.cfg`)).body.content;
  const page = await dashboard.open(`/p/acme/${machine_name}/files`, owner);
  await page.getByText('Write a first file').waitFor();
  await page.getByRole('button', { name: 'New file' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('notes/first.cfg');
  await code(page).click();
  await page.keyboard.type('first\n');
  await expectGoodPage(page);
  await save(page).click();
  await page.getByText('Saved', { exact: true }).waitFor();
  await page.waitForURL(/files\/notes\?.*file=first\.cfg/);
  // From there on it is the editor of this file, and no longer that of a new one.
  await page.getByRole('region', { name: 'first.cfg' }).getByText('Nothing to save').waitFor();
  await code(page).click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('second\n');
  await save(page).click();
  await page.getByText('Nothing to save').waitFor();
  expect(await stored()).toBe('first\nsecond\n');
  // There is one of it, that of the second save.
  await page.getByRole('button', { name: 'Undo' }).click();
  await code(page).getByText('second').waitFor({ state: 'detached' });
  expect(await stored()).toBe('first\n');
  await page.getByRole('link', { name: 'All files' }).click();
  await page.getByRole('link', { name: 'notes' }).waitFor();
});

test('a file is deleted after a question, and comes back', async () => {
  const page = await dashboard.open(`${files}/lib?file=delete.cfg`, owner);
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete delete.cfg?' });
  await dialog.getByText('lib/delete.cfg is deleted').waitFor();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('delete.cfg was deleted.').waitFor();
  await page.getByRole('link', { name: /delete\.cfg/ }).waitFor({ state: 'detached' });
  expect(await contentOf('lib/delete.cfg')).toBeUndefined();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('link', { name: /delete\.cfg/ }).waitFor();
  expect(await contentOf('lib/delete.cfg')).toBe('delete\n');
});

test('text among media is edited too, as an upload of it', async () => {
  const page = await edit('public/robots.txt');
  await page.keyboard.type('Disallow: /größe\n');
  await save(page).click();
  await page.getByText('Saved', { exact: true }).waitFor();
  expect(await contentOf('public/robots.txt')).toBe('User-agent: *\nDisallow: /größe\n');
});

test.each([
  ['lib/binary.bin', 'This file is not text'],
  ['lib/nul.txt.cfg', 'This file is not text'],
  ['lib/large.cfg', 'This file is too large to be shown'],
  ['src/content/posts/en/alpha.md', 'Open in the editor'],
])('offers no editing of %s', async (path, sentence) => {
  const slash = path.lastIndexOf('/');
  const page = await dashboard.open(`${files}/${path.slice(0, slash)}?file=${path.slice(slash + 1)}`, owner);
  await page.getByText(sentence).waitFor();
  expect(await page.getByRole('link', { name: 'Edit', exact: true }).count()).toBe(0);
  await page.goto(`${page.url()}&edit=true`);
  await page.getByText(sentence).waitFor();
  expect(await code(page).count()).toBe(0);
});

test('an editor without the right to manage reads files, and edits media', async () => {
  const page = await dashboard.open(`${files}/lib?file=shown.ts`, { email: 'editor@portico.test', role: 'editor' });
  await page.getByRole('textbox', { name: 'shown.ts' }).waitFor();
  await page.getByText('all other files by who may manage the project').waitFor();
  expect(await page.getByRole('link', { name: 'Edit', exact: true }).count()).toBe(0);
  expect(await page.getByRole('button', { name: 'New file' }).count()).toBe(0);
  await page.goto(`${page.url()}&edit=true`);
  await page.getByRole('textbox', { name: 'shown.ts' }).waitFor();
  await page.goto(`${dashboard.app.url}${files}/public?file=robots.txt`);
  await page.getByRole('link', { name: 'Edit', exact: true }).waitFor();
});

test('is usable on a telephone, in German and in the dark', async () => {
  const page = await dashboard.open(`${files}/lib?file=shown.ts&edit=true`, {
    email: 'german@portico.test',
    role: 'owner',
    language: 'de',
    size: narrow,
    colorScheme: 'dark',
  });
  await page.getByRole('textbox', { name: 'Text' }).click();
  await page.keyboard.type('a');
  await page.getByRole('button', { name: 'Speichern' }).waitFor();
  await expectGoodPage(page);
});
