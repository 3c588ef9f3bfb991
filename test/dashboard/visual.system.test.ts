/** The body in Visual, by mouse and keyboard: what is edited is saved, and no other line of the file changes. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { expectGoodPage, narrow } from '../support/dashboard.ts';
import {
  changedLines,
  editorReady,
  expectDiff,
  freshEntry,
  save,
  saveState,
  stored,
  textBox,
  withEditor,
} from '../support/entry-editor.ts';

const dashboard = withEditor();

const raw = `---
title: Rich
author: ada
---

Intro with *soft* and **loud** words, hard
wrapped, and a [link](https://portico.example/a "T").

Second Heading
--------------

* one
* two
  - nested
* [ ] task

> A quote
> of two lines

| Name | Size |
|:-----|-----:|
| Elm  | 3    |
| Oak  |      |
| [Yew](https://portico.example/yew) | 9 |

\`\`\`js
const a = 1;
\`\`\`

![A logo](/images/logo.svg)

{{< figure src="x.png" >}}

Last line.
`;

async function open(page: Page): Promise<void> {
  await editorReady(page);
  await page.getByText('Visual', { exact: true }).click();
  await page.locator('.cm-table table').waitFor();
  // What stands below the picture is where it stays once the picture is there.
  await page.waitForFunction(`document.querySelector('.cm-picture img')?.naturalWidth > 0`);
}

test('shows no marks, and leaves what it shows otherwise as it was', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/visual-look', raw));
  await open(page);
  const text = (await textBox(page).innerText()).replace(/\s+/g, ' ');
  expect(text).toContain('Intro with soft and loud words, hard wrapped, and a link.');
  expect(text).toContain('Second Heading');
  expect(text).not.toMatch(/\*\*|---|\]\(|```/);
  expect(text).toContain('{{< figure src="x.png" >}}');
  await page.getByRole('img', { name: 'A logo' }).waitFor();
  await saveState(page, 'Nothing to save');
  await page.mouse.move(0, 0);
  await page.getByRole('tooltip').waitFor({ state: 'detached' });
  await expectGoodPage(page);
  await page.setViewportSize(narrow);
  await expectGoodPage(page);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByText('Source', { exact: true }).click();
  await page.locator('.cm-line', { hasText: '**loud**' }).waitFor();
  await saveState(page, 'Nothing to save');
});

test('a word is typed, made bold and given a link, by mouse and keyboard', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/visual-words', raw));
  await expectDiff(
    app,
    page,
    'en/visual-words',
    async () => {
      await open(page);
      await page.locator('.cm-line', { hasText: 'Last line.' }).click();
      await page.keyboard.press('End');
      await page.keyboard.type(' More');
      await page.keyboard.press('Control+Shift+ArrowLeft');
      await page.getByRole('button', { name: 'Bold' }).click();
      await page.locator('.cm-line', { hasText: 'Second Heading' }).click();
      await page.keyboard.press('End');
      await page.keyboard.type('s');
    },
    changedLines(raw, raw.replace('Heading\n', 'Headings\n').replace('Last line.', 'Last line. **More**')),
  );
});

test('blocks are split, joined, moved and turned into others', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/visual-blocks', raw));
  await open(page);
  const last = page.locator('.cm-line', { hasText: 'Last line.' });
  await last.click();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await page.keyboard.type('/Numb');
  await page.getByRole('option', { name: 'Numbered list' }).click();
  await page.keyboard.type('first');
  await page.keyboard.press('Enter');
  await page.keyboard.type('second');
  await page.keyboard.press('Alt+ArrowUp');
  await last.click();
  await page.getByRole('button', { name: 'Block', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Smaller heading' }).click();
  await page.locator('.cm-line', { hasText: 'nested' }).click();
  await page.getByRole('button', { name: 'Block', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Delete block' }).click();
  await save(page);
  const now = await stored(app, 'en/visual-blocks');
  expect(now).toBe(raw.replace('  - nested\n', '').replace('Last line.\n', '### Last line.\n\n1. second\n2. first\n'));
});

/** Presses Enter at the very moment the menu of blocks is there. */
const enterAtOnce = `new MutationObserver((_, observer) => {
  if (!document.querySelector('.cm-tooltip-autocomplete [aria-selected]')) return;
  observer.disconnect();
  const enter = { key: 'Enter', code: 'Enter', keyCode: 13, bubbles: true, cancelable: true };
  document.activeElement.dispatchEvent(new KeyboardEvent('keydown', enter));
}).observe(document.body, { childList: true, subtree: true })`;

test('Enter chooses from the menu of blocks as soon as it is there', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/visual-menu', raw));
  await open(page);
  await page.locator('.cm-line', { hasText: 'Last line.' }).click();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await page.evaluate(enterAtOnce);
  await page.keyboard.type('/');
  await expect.poll(() => page.locator('.cm-line', { hasText: /^\/$/ }).count()).toBe(0);
  await page.keyboard.type('More');
  await save(page);
  expect(await stored(app, 'en/visual-menu')).toBe(raw.replace('Last line.\n', 'Last line.\n\n## More\n'));
});

test('a cell, a task, the address of a link and an alternative text are edited where they are shown', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/visual-parts', raw));
  await open(page);
  await page.getByRole('button', { name: 'Row 2, column 1: Elm' }).click();
  await page.keyboard.press('End');
  await page.keyboard.type(' | tree');
  for (const _ of [1, 2, 3]) await page.keyboard.press('Tab');
  await page.keyboard.type('7');
  await page.keyboard.press('Escape');
  await page.getByRole('checkbox', { name: 'Done' }).check();
  await page.getByText('link', { exact: true }).click();
  await page.getByRole('textbox', { name: 'Address' }).fill('/b');
  await page.getByRole('textbox', { name: 'Address' }).press('Enter');
  await page.getByRole('img', { name: 'A logo' }).click();
  await page.getByRole('textbox', { name: 'Alternative text' }).fill('The logo [new]');
  await page.getByRole('textbox', { name: 'Alternative text' }).press('Enter');
  await save(page);
  expect(await stored(app, 'en/visual-parts')).toBe(
    raw
      .replace('| Elm  |', '| Elm \\| tree  |')
      .replace('| Oak  |      |', '| Oak  | 7     |')
      .replace('* [ ] task', '* [x] task')
      .replace('https://portico.example/a', '/b')
      .replace('![A logo]', '![The logo \\[new\\]]'),
  );
});

test('a block is dragged by its handle to another place', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/visual-drag', raw));
  await open(page);
  await page.locator('.cm-line', { hasText: 'Last line.' }).hover();
  await page.locator('.cm-handle').hover();
  await page.mouse.down();
  await page.locator('.cm-line', { hasText: 'Second Heading' }).hover({ force: true, position: { x: 60, y: 14 } });
  await page.locator('.cm-dropMark').waitFor();
  await page.mouse.up();
  await save(page);
  expect(await stored(app, 'en/visual-drag')).toBe(
    raw.replace('\nLast line.\n', '').replace('Second Heading', 'Last line.\n\nSecond Heading'),
  );
});

test('the Markdown of a block is shown by a key, and the choice of Visual is kept', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/visual-keys', raw));
  await open(page);
  await page.locator('.cm-line', { hasText: 'Intro' }).click();
  await page.keyboard.press('Control+/');
  await page.locator('.cm-line', { hasText: 'Intro with *soft* and **loud** words, hard' }).waitFor();
  await page.locator('.cm-line', { hasText: 'Last line.' }).click();
  await page.locator('.cm-line', { hasText: 'Intro with soft and loud' }).waitFor();
  await page.reload();
  await page.locator('.cm-table table').waitFor();
  await page.getByText('Source', { exact: true }).click();
});
