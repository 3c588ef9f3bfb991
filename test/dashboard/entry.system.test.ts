import { describe, expect, test } from 'vitest';
import { studio } from '../support/app.ts';
import { narrow } from '../support/dashboard.ts';
import {
  changedLines,
  editorReady,
  freshEntry,
  full,
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

test('text typed in the source is saved by Ctrl+S, and nothing else changes', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/typed'));
  await editorReady(page);
  await textBox(page).click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('Third paragraph.');
  await saveState(page, 'All changes saved in this browser · not yet in the published version');
  await page.keyboard.press('Control+s');
  await saveState(page, 'Nothing to save');
  expect(changedLines(full, await stored(app, 'en/typed'))).toEqual(['-', '+Third paragraph.']);
});

test('lines of a file that end with CR and LF still do after a save', async () => {
  const { app } = dashboard;
  const raw = '---\r\ntitle: Lines\r\nauthor: ada\r\n---\r\n\r\nOne.\r\nTwo.\r\n';
  const page = await dashboard.open(await freshEntry(app, 'en/crlf', raw));
  await editorReady(page);
  await saveState(page, 'Nothing to save');
  await textBox(page).click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('Three.');
  await save(page);
  expect(await stored(app, 'en/crlf')).toBe(`${raw}Three.`);
});

test('the changes are shown by field and by line before they are saved', async () => {
  const page = await dashboard.open(await freshEntry(dashboard.app, 'en/shown'));
  await editorReady(page);
  await titleField(page).fill('Omega');
  await textBox(page).click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('Third.');
  await page.getByRole('button', { name: 'Changes' }).click();
  const dialog = page.getByRole('dialog', { name: 'What Save will change' });
  await dialog.getByRole('deletion').filter({ hasText: 'Alpha' }).waitFor();
  await dialog.getByRole('insertion').filter({ hasText: 'Omega' }).waitFor();
  await dialog.getByText('Third.').waitFor();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await saveState(page, 'Nothing to save');
});

describe('an entry that somebody else saved meanwhile', () => {
  test('is merged where other fields and lines were changed, and what came is marked', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/merged'));
    await editorReady(page);
    await titleField(page).fill('Mine');
    await saveElsewhere(app, 'en/merged', {
      frontmatter: { rating: 5 },
      body: full.split('---\n\n')[1]?.replace('# Alpha', '# Theirs'),
    });
    await textBox(page).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('My line.');
    await save(page);
    const text = await stored(app, 'en/merged');
    expect(text).toContain('title: "Mine"   # quoted on purpose');
    expect(text).toContain('rating: 5');
    expect(text).toContain('# Theirs');
    expect(text).toContain('My line.');
    await page.getByText('changed by somebody else').first().waitFor();
    await textBox(page).getByText('# Theirs').waitFor();
  });

  test('is settled field by field where the same was changed', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/clash'));
    await editorReady(page);
    await titleField(page).fill('Mine');
    await page.getByRole('textbox', { name: 'Summary', exact: true }).fill('My summary.');
    await textBox(page).getByText('Second paragraph.').click();
    await page.keyboard.press('End');
    await page.keyboard.type(' Mine.');
    await saveElsewhere(app, 'en/clash', {
      frontmatter: { title: 'Theirs', summary: 'Their summary.' },
      body: full.split('---\n\n')[1]?.replace('Second paragraph.', 'Second paragraph. Theirs.'),
    });
    await saveState(page, 'All changes saved in this browser');
    await saveButton(page).click();
    const dialog = page.getByRole('dialog', { name: 'Somebody changed the same parts' });
    await dialog.getByRole('radiogroup', { name: 'title' }).getByRole('radio', { name: 'Theirs' }).click();
    await dialog.getByRole('radiogroup', { name: 'summary' }).getByRole('radio', { name: 'By hand' }).click();
    await dialog.getByRole('textbox', { name: 'By hand: summary' }).fill('Our summary.');
    await dialog
      .getByRole('radiogroup', { name: /^Text, from line/ })
      .getByRole('radio', { name: 'Mine' })
      .click();
    await dialog.getByRole('button', { name: 'Save these' }).click();
    await saveState(page, 'Nothing to save');
    const text = await stored(app, 'en/clash');
    expect(text).toContain('title: "Theirs"');
    expect(text).toContain('summary: Our summary.');
    expect(text).toContain('Second paragraph. Mine.');
    expect(await titleField(page).inputValue()).toBe('Theirs');
  });
});

test('under review the first save begins a draft, and the editor goes on in it', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/reviewed'));
  await editorReady(page);
  const { status } = await app.ask('PATCH', `${studio}/repository`, {
    body: { protected_branches: ['main'], require_pull: true },
  });
  expect(status).toBe(200);
  try {
    await page.reload();
    await editorReady(page);
    await titleField(page).fill('In a draft');
    await saveState(page, 'All changes saved in this browser · Save begins a draft');
    // What the page asks of the draft is answered after the second save.
    const answer = Promise.withResolvers<void>();
    await page.route('**/graphql', async (route) => {
      if (/query EntryPage\b/.test(route.request().postData() ?? '')) await answer.promise;
      await route.fallback();
    });
    await saveButton(page).click();
    await page.waitForURL(/\?draft=draft/);
    await saveState(page, 'Everything is in the draft');
    const draft = new URL(page.url()).searchParams.get('draft') ?? '';
    expect(await stored(app, 'en/reviewed')).toBe(full);
    expect(changedLines(full, await stored(app, 'en/reviewed', draft))).toEqual([
      '-title: "Alpha"   # quoted on purpose',
      '+title: "In a draft"   # quoted on purpose',
    ]);
    await titleField(page).fill('Again');
    await save(page);
    expect(await stored(app, 'en/reviewed', draft)).toContain('title: "Again"');
    answer.resolve();
    expect(new URL(page.url()).searchParams.get('draft')).toBe(draft);
  } finally {
    await app.ask('PATCH', `${studio}/repository`, { body: { protected_branches: [], require_pull: false } });
  }
});

test('a file whose frontmatter cannot be read is mended as source', async () => {
  const { app } = dashboard;
  const { commitTo } = await import('../support/conflict-site.ts');
  await commitTo(app, 'main', { 'src/content/posts/en/broken.md': '---\ntitle: "Open\nauthor: ada\n---\n\nBody.\n' });
  const page = await dashboard.open('/p/acme/site/content/posts/en/broken');
  await page.getByText(/The fields cannot be read: line \d+, column \d+/).waitFor();
  const box = page.getByRole('textbox', { name: 'The whole file' });
  await box.getByText('title: "Open').click();
  await page.keyboard.press('End');
  await page.keyboard.type('"');
  await saveState(page, 'All changes saved in this browser');
  await saveButton(page).click();
  await page.getByRole('textbox', { name: 'Title', exact: true }).waitFor();
  expect(await stored(app, 'en/broken')).toBe('---\ntitle: "Open"\nauthor: ada\n---\n\nBody.\n');
  await textBox(page).getByText('Body.').waitFor();
});

test('on a telephone the text of a file that cannot be read is there at once, and its fields after it is mended', async () => {
  const { app } = dashboard;
  const { commitTo } = await import('../support/conflict-site.ts');
  await commitTo(app, 'main', { 'src/content/posts/en/torn.md': '---\ntitle: "Torn\nauthor: ada\n---\n\nBody.\n' });
  const page = await dashboard.open('/p/acme/site/content/posts/en/torn', { size: narrow });
  const box = page.getByRole('textbox', { name: 'The whole file' });
  await box.getByText('title: "Torn').click();
  expect(await page.getByRole('tab').allInnerTexts()).toEqual(['Text', 'Versions', 'References']);
  await page.keyboard.press('End');
  await page.keyboard.type('"');
  await saveState(page, 'All changes saved in this browser');
  await saveButton(page).click();
  await page.getByRole('textbox', { name: 'Title', exact: true }).waitFor();
  // A wider window has the text beside the fields, which it had a tab for.
  await page.getByRole('tab', { name: 'Text' }).click();
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole('tab', { name: 'Fields', selected: true }).waitFor();
});

test('scripts in content are shown as source and never run', async () => {
  const { app } = dashboard;
  const raw = `---
title: <img src=x onerror="window.ran = 1">
author: ada
---

<script>window.ran = 2</script>

[link](javascript:window.ran=3) [data](data:text/html,<script>window.ran=4</script>) ![remote](https://elsewhere.example/a.png)

<img src=x onerror="window.ran = 5">
`;
  const page = await dashboard.open(await freshEntry(app, 'en/scripts', raw));
  await editorReady(page);
  await page.getByText('Split', { exact: true }).click();
  const preview = page.getByRole('region', { name: 'Preview' });
  await preview.getByText('<script>window.ran = 2</script>').waitFor();
  await preview.getByText('elsewhere.example').waitFor();
  expect(await preview.getByRole('link').count()).toBe(0);
  expect(await preview.locator('img, script').count()).toBe(0);
  expect(await page.evaluate('window.ran')).toBeUndefined();
});
