import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { studio } from '../support/app.ts';
import { goodPassword } from '../support/browser.ts';
import { makeBranch } from '../support/conflict-site.ts';
import {
  editorReady,
  expectKept,
  freshEntry,
  full,
  localDrafts,
  save,
  saveButton,
  saveElsewhere,
  saveState,
  stored,
  textBox,
  titleField,
  withEditor,
} from '../support/entry-editor.ts';

const dashboard = withEditor();

/** Types into title and text, and waits until this browser has both. */
async function type(page: Page, words: string): Promise<void> {
  await editorReady(page);
  await titleField(page).fill(words);
  await textBox(page).click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type(`${words} in the text.`);
  await expectKept(page, `${words} in the text.`);
  await saveState(page, 'All changes saved in this browser');
}

describe('what was typed and not saved', () => {
  test('comes back in another tab after the tab was killed', async () => {
    const { app } = dashboard;
    const path = await freshEntry(app, 'en/killed');
    const page = await dashboard.open(path);
    await type(page, 'Kept');
    const next = await page.context().newPage();
    await page.close({ runBeforeUnload: false });
    await next.goto(`${app.url}${path}`);
    await next.getByText(/Your unsaved changes of .* are back\./).waitFor();
    expect(await titleField(next).inputValue()).toBe('Kept');
    await textBox(next).getByText('Kept in the text.').waitFor();
    await save(next);
    expect(await stored(app, 'en/killed')).toContain('Kept in the text.');
  });

  test('comes back after a reload in the midst of a word, and can be discarded', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/reloaded'));
    await editorReady(page);
    await titleField(page).fill('Half a wo');
    await page.reload();
    await page.getByText(/are back\./).waitFor();
    expect(await titleField(page).inputValue()).toBe('Half a wo');
    await page.getByRole('button', { name: 'Discard them' }).click();
    await saveState(page, 'Nothing to save');
    expect(await titleField(page).inputValue()).toBe('Alpha');
    await page.reload();
    await editorReady(page);
    expect(await titleField(page).inputValue()).toBe('Alpha');
  });

  test('is in the store of the browser within a second of the key, also while somebody types on', async () => {
    const page = await dashboard.open('/account');
    await page.clock.install();
    await page.goto(`${dashboard.app.url}${await freshEntry(dashboard.app, 'en/second')}`);
    await editorReady(page);
    // From here on time passes by the test alone.
    await page.clock.pauseAt(Date.now() + 60_000);
    await textBox(page).click();
    await page.keyboard.press('Control+End');
    for (const letter of 'abcdefghij') {
      await page.keyboard.type(letter);
      await page.clock.runFor(100);
    }
    const texts = async () => (await localDrafts(page)).map(({ text }) => text).join();
    // The first letter is a second old, and typing has not paused for longer than a tenth of one.
    await expect.poll(texts).toContain('a');
    await expect.poll(texts).toMatch(/abcde\w*\s*$/);
    await page.clock.runFor(1_000);
    await expect.poll(texts).toMatch(/abcdefghij\s*$/);
  });

  test('comes back when the page ended before IndexedDB had committed', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/ended'));
    await editorReady(page);
    await page.evaluate(`IDBObjectStore.prototype.put = () => { throw new DOMException('ended', 'AbortError'); }`);
    await titleField(page).fill('Half a wo');
    await page.reload();
    await page.getByText(/are back\./).waitFor();
    expect(await titleField(page).inputValue()).toBe('Half a wo');
    await page.reload();
    await page.getByText(/are back\./).waitFor();
    await page.getByRole('button', { name: 'Discard them' }).click();
    await saveState(page, 'Nothing to save');
    await page.reload();
    await editorReady(page);
    expect(await titleField(page).inputValue()).toBe('Alpha');
  });

  test('comes back where it is YAML that cannot be read yet, and is saved when it can', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/yaml'));
    await editorReady(page);
    const extra = page.getByRole('textbox', { name: 'Extra' });
    // Key by key: what can be read on the way is not meant.
    await extra.press('Control+A');
    await extra.pressSequentially('a: [1, 2');
    await saveState(page, 'All changes saved in this browser');
    await page.reload();
    await page.getByText(/are back\./).waitFor();
    expect(await extra.inputValue()).toBe('a: [1, 2');
    await titleField(page).fill('Saved without it');
    await saveButton(page).click();
    await page.getByText('A field has text that is no value of its kind.').waitFor();
    expect(await extra.inputValue()).toBe('a: [1, 2');
    const before = await stored(app, 'en/yaml');
    expect(before).toContain('title: "Saved without it"');
    expect(before).toContain('extra: { a: 1, b: [x, y] }');
    await extra.fill('a: [1, 2]');
    await save(page);
    expect(await stored(app, 'en/yaml')).toContain('extra: { a: [1, 2] }');
  });

  test('is merged with what others saved while the page was closed', async () => {
    const { app } = dashboard;
    const path = await freshEntry(app, 'en/away');
    const page = await dashboard.open(path);
    await type(page, 'Mine');
    await page.goto(`${app.url}/account`);
    await saveElsewhere(app, 'en/away', { frontmatter: { summary: 'Theirs.' } });
    await page.goto(`${app.url}${path}`);
    await page.getByText(/are back, together with what was saved since/).waitFor();
    expect(await titleField(page).inputValue()).toBe('Mine');
    expect(await page.getByRole('textbox', { name: 'Summary' }).inputValue()).toBe('Theirs.');
    await save(page);
    const text = await stored(app, 'en/away');
    expect(text).toContain('summary: Theirs.');
    expect(text).toContain('title: "Mine"');
  });

  test('never overwrites the same field that others saved since without a question', async () => {
    const { app } = dashboard;
    const path = await freshEntry(app, 'en/requested');
    const page = await dashboard.open(path);
    await type(page, 'Mine');
    await page.goto(`${app.url}/account`);
    await saveElsewhere(app, 'en/requested', { frontmatter: { title: 'Theirs' } });
    await page.goto(`${app.url}${path}`);
    await page.getByText(/Somebody changed the same parts since/).waitFor();
    expect(await titleField(page).inputValue()).toBe('Mine');
    await saveButton(page).click();
    const dialog = page.getByRole('dialog', { name: 'Somebody changed the same parts' });
    await dialog.waitFor();
    expect(await stored(app, 'en/requested')).toContain('title: "Theirs"');
    await dialog.getByRole('radio', { name: 'Mine' }).click();
    await dialog.getByRole('button', { name: 'Save these' }).click();
    await saveState(page, 'Nothing to save');
    expect(await stored(app, 'en/requested')).toContain('title: "Mine"');
  });

  test('outlives the network, and is saved when it is back', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/offline'));
    await editorReady(page);
    await page.context().setOffline(true);
    await type(page, 'Offline');
    await saveButton(page).click();
    await page.getByRole('alert').getByText('The server cannot be reached').waitFor();
    await page.context().setOffline(false);
    await save(page);
    expect(await stored(app, 'en/offline')).toContain('Offline in the text.');
    dashboard.forgive(/ERR_INTERNET_DISCONNECTED/);
  });

  test('outlives the session: a dialog renews it, and the save goes on', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/session'));
    await type(page, 'Later');
    await page.context().clearCookies();
    await saveButton(page).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Password' }).fill(goodPassword);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await saveState(page, 'Nothing to save');
    expect(await stored(app, 'en/session')).toContain('Later in the text.');
  });

  test('is said to be lost at the end of the page where the browser stores nothing', async () => {
    const page = await dashboard.open('/account');
    await page.addInitScript(`IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError'); };`);
    await page.goto(`${dashboard.app.url}${await freshEntry(dashboard.app, 'en/refused')}`);
    await page.getByText('This browser keeps nothing of what you type until it is saved.').waitFor();
    await editorReady(page);
    await titleField(page).fill('Saved all the same');
    await saveButton(page).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await stored(dashboard.app, 'en/refused')).toContain('Saved all the same');
  });
});

describe('two tabs', () => {
  test('edit one entry one after the other, and nothing typed is lost', async () => {
    const { app } = dashboard;
    const path = await freshEntry(app, 'en/tabs');
    const page = await dashboard.open(path);
    await type(page, 'First');
    const other = await page.context().newPage();
    await other.goto(`${app.url}${path}`);
    await other.getByText('This entry is open for editing in another tab.').waitFor();
    expect(await titleField(other).isEditable()).toBe(false);
    await titleField(page).fill('First, and more');
    await other.getByRole('button', { name: 'Edit here' }).click();
    await page.getByText('This entry is open for editing in another tab.').waitFor();
    await expect.poll(() => titleField(other).inputValue()).toBe('First, and more');
    expect(await titleField(page).isEditable()).toBe(false);
    await titleField(other).fill('Second');
    await save(other);
    expect(await stored(app, 'en/tabs')).toContain('title: "Second"');
  });
});

describe('while an entry is open', () => {
  test('a save of somebody else is taken into the form, and marked', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/live'));
    await type(page, 'Mine');
    await saveElsewhere(app, 'en/live', { frontmatter: { summary: 'Theirs.' } });
    await page.getByText(/Somebody saved this entry. What they changed is in the form now/).waitFor();
    expect(await page.getByRole('textbox', { name: 'Summary' }).inputValue()).toBe('Theirs.');
    await page.getByText('changed by somebody else').waitFor();
    expect(await titleField(page).inputValue()).toBe('Mine');
    await save(page);
    expect(await stored(app, 'en/live')).toContain('summary: Theirs.');
  });

  test('its deletion is said, and a save makes it again', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/deleted'));
    await type(page, 'Still here');
    await app.ask('DELETE', `${studio}/collections/posts/en/deleted`);
    await page.getByText('This entry was deleted. What is in the form is kept').waitFor();
    await saveButton(page).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await stored(app, 'en/deleted')).toContain('Still here in the text.');
  });

  test('the end of its draft is said, and what was typed goes to the published version', async () => {
    const { app } = dashboard;
    const path = await freshEntry(app, 'en/branch');
    await makeBranch(app, 'spring');
    const page = await dashboard.open(`${path}?draft=spring`);
    await type(page, 'From the draft');
    await app.ask('DELETE', `${studio}/branches/spring`);
    await page.getByText(/This draft is gone: it was published or deleted. What you typed is kept/).waitFor();
    await page.getByRole('button', { name: 'Continue in the published version' }).click();
    await page.waitForURL((url) => !url.search.includes('draft'));
    // Until the published version is there, nothing can be saved.
    await page.getByText(/This draft is gone/).waitFor({ state: 'detached' });
    expect(await titleField(page).inputValue()).toBe('From the draft');
    await save(page);
    expect(await stored(app, 'en/branch')).toContain('From the draft in the text.');
  });

  test('a change of its schema refuses what it no longer allows, beside the field', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/schema'));
    await type(page, 'A title of some words');
    const { commitTo } = await import('../support/conflict-site.ts');
    const { editorFiles } = await import('../support/entry-editor.ts');
    const config = 'src/content.config.ts';
    const before = editorFiles[config] ?? '';
    await commitTo(app, 'main', { [config]: before.replace('max(80)', 'max(10)') });
    await saveButton(page).click();
    await page
      .getByText(/at most 10 characters/)
      .first()
      .waitFor();
    expect(await titleField(page).inputValue()).toBe('A title of some words');
    await titleField(page).fill('Short');
    await saveButton(page).click();
    await saveState(page, 'Nothing to save');
    await commitTo(app, 'main', { [config]: before });
  });
});

test('an entry of nearly 5 MiB opens, is edited and saved', async () => {
  const { app } = dashboard;
  const raw = `${full}\n${'A line of a very long text, which goes on and on.\n'.repeat(100_000)}`;
  const page = await dashboard.open(await freshEntry(app, 'en/long', raw));
  await editorReady(page);
  await textBox(page).click();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('At the top. ');
  await save(page);
  const text = await stored(app, 'en/long');
  expect(text.length).toBe(raw.length + 'At the top. '.length);
  expect(text).toContain('At the top. # Alpha');
});
