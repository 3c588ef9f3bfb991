/** Text that is long, comes from the right, or by other ways than keys. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { acme, seed } from '../support/app.ts';
import { post } from '../support/conflict-site.ts';
import { expectGoodPage, narrow } from '../support/dashboard.ts';
import {
  changedLines,
  editorReady,
  freshEntry,
  full,
  save,
  saveButton,
  saveState,
  stored,
  textBox,
  titleField,
  withEditor,
} from '../support/entry-editor.ts';

const dashboard = withEditor();
const locales =
  'ar az be bg bn ca cs da de el en es et eu fa fi fr ga gl he hi hr hu hy id is it ja ka ko lt lv mk mt nl pl pt ro sv uk'.split(
    ' ',
  );

beforeAll(async () => {
  const { app } = dashboard;
  await app.run(createProject, { organization: 'acme', name: 'Plain', machine_name: 'plain' });
  await seed(app, { 'content/posts/long.md': post({ title: 'Short' }) }, 'plain');
  await app.run(createProject, { organization: 'acme', name: 'Tongues', machine_name: 'tongues' });
  const config = `import { defineCollection } from 'astro:content';
import { glob } from 'astro/loaders';
import { z } from 'astro/zod';
const posts = defineCollection({
  loader: glob({ pattern: '**/*.md', base: './src/content/posts' }),
  schema: z.object({ title: z.string() }),
});
export const collections = { posts };
`;
  const i18n = { locales, defaultLocale: 'en' };
  await seed(
    app,
    {
      'astro.config.mjs': `import { defineConfig } from 'astro/config';\nexport default defineConfig(${JSON.stringify({ i18n })});\n`,
      'src/content.config.ts': config,
      ...Object.fromEntries(
        locales.map((code) => [`src/content/posts/${code}/one.md`, `---\ntitle: One in ${code}\n---\n`]),
      ),
    },
    'tongues',
  );
});

/** Gives the source a file or a text as the clipboard does, or as a drag that ends there. @param fill puts it into `data` */
const hand = (page: Page, how: 'paste' | 'drop', fill: string) =>
  page.evaluate(`(() => {
    const data = new DataTransfer();
    ${fill}
    const element = document.querySelector('.cm-content');
    const { left, top } = element.getBoundingClientRect();
    const options = { bubbles: true, cancelable: true, clientX: left + 30, clientY: top + 20 };
    element.dispatchEvent(${how === 'paste'}
      ? new ClipboardEvent('paste', { ...options, clipboardData: data })
      : new DragEvent('drop', { ...options, dataTransfer: data }));
  })()`);
const text = (words: string) => `data.setData('text/plain', ${words});`;
const picture = (name: string) =>
  `data.items.add(new File(['<svg xmlns="http://www.w3.org/2000/svg"/>'], '${name}', { type: 'image/svg+xml' }));`;

async function goToEnd(page: Page): Promise<void> {
  await textBox(page).click();
  await page.keyboard.press('Control+End');
}

describe('long text', () => {
  test('a title of 5,000 characters is saved, and shown whole without being wider than the page', async () => {
    const { app } = dashboard;
    const title = 'A title without an end '.repeat(120).padEnd(5_000, 'x');
    const page = await dashboard.open('/p/acme/plain/content/posts/long');
    await editorReady(page);
    await titleField(page).fill(title);
    await save(page);
    const { body } = await app.ask('GET', `${acme}/projects/plain/studio/collections/posts/long`);
    expect(body.frontmatter.title).toBe(title);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(title);
    await page.mouse.move(0, 0);
    await page.getByRole('tooltip').waitFor({ state: 'detached' });
    await expectGoodPage(page);
    await page.goto(`${app.url}/p/acme/plain`);
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
    await expectGoodPage(page);
  });

  test('a body that is too long is refused with its limit, and stays in the editor', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/too-long'));
    await editorReady(page);
    await goToEnd(page);
    await hand(page, 'paste', text(`'A line of text that somebody pasted.\\n'.repeat(180_000)`));
    await saveState(page, 'All changes saved in this browser');
    await saveButton(page).click();
    await page
      .getByRole('main')
      .getByRole('alert')
      .filter({ hasText: /MiB|too large|at most/ })
      .waitFor();
    expect(await stored(app, 'en/too-long')).toBe(full);
    await textBox(page).press('Control+z');
    await saveState(page, 'Nothing to save');
  });
});

test('text from the right is shown from the right, in the title, the fields and the source', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/right'));
  await editorReady(page);
  await titleField(page).fill('مرحبا بالعالم');
  await goToEnd(page);
  await page.keyboard.type('שלום עולם');
  await save(page);
  expect(changedLines(full, await stored(app, 'en/right')).at(-1)).toContain('שלום עולם');
  expect(await stored(app, 'en/right')).toContain('title: "مرحبا بالعالم"');
  await titleField(page).focus();
  expect(await page.evaluate('getComputedStyle(document.activeElement).direction')).toBe('rtl');
  expect(await page.evaluate(`getComputedStyle(document.querySelector('h1')).direction`)).toBe('rtl');
  const line = page.locator('.cm-line', { hasText: 'שלום' });
  expect(await page.evaluate(`getComputedStyle(document.querySelector('.cm-line')).unicodeBidi`)).toBe('plaintext');
  // The caret before the first letter stands at the right.
  await goToEnd(page);
  await page.keyboard.press('Home');
  const place = async () => {
    const [caret, box] = [await page.locator('.cm-cursor-primary').boundingBox(), await line.boundingBox()];
    return ((caret?.x ?? 0) - (box?.x ?? 0)) / (box?.width ?? 1);
  };
  await expect.poll(place).toBeGreaterThan(0.5);
});

test('forty languages are switched between, and fit into a telephone', async () => {
  const page = await dashboard.open('/p/acme/tongues/content/posts/en/one');
  const languages = page.getByRole('navigation', { name: 'Languages' });
  await languages.getByRole('link', { name: 'UK', exact: true }).waitFor();
  expect(await languages.getByRole('link').count()).toBe(locales.length - 1);
  await page.setViewportSize(narrow);
  await expectGoodPage(page);
  await languages.getByRole('link', { name: 'HE', exact: true }).click();
  await page.waitForURL('**/posts/he/one');
  await expect.poll(() => titleField(page).inputValue()).toBe('One in he');
  await expect.poll(() => languages.locator('[aria-current]').innerText()).toBe('HE');
});

describe('what comes by other ways than keys', () => {
  test('an input method composes without being disturbed by Save', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/composed'));
    await editorReady(page);
    await goToEnd(page);
    const method = await page.context().newCDPSession(page);
    const compose = (text: string) =>
      method.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });
    await compose('に');
    await compose('にほ');
    await page.evaluate(
      `window.dispatchEvent(new KeyboardEvent('keydown', { key: 's', ctrlKey: true, isComposing: true, cancelable: true }))`,
    );
    await compose('にほん');
    await method.send('Input.insertText', { text: '日本' });
    await textBox(page).getByText('日本').waitFor();
    expect(await stored(app, 'en/composed')).toBe(full);
    await save(page);
    expect(changedLines(full, await stored(app, 'en/composed'))).toEqual(['-', '+日本']);
  });

  test('pasted text is text, whatever it looks like', async () => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, 'en/pasted'));
    await editorReady(page);
    await goToEnd(page);
    await hand(page, 'paste', text(`'<b>bold</b>\\nsecond line'`));
    await save(page);
    expect(changedLines(full, await stored(app, 'en/pasted'))).toEqual(['-', '+<b>bold</b>', '+second line']);
  });

  test.each(['paste', 'drop'] as const)('a picture is stored by %s, and its link is in the text', async (how) => {
    const { app } = dashboard;
    const page = await dashboard.open(await freshEntry(app, `en/picture-${how}`));
    await editorReady(page);
    await goToEnd(page);
    await hand(page, how, picture(`${how}ed.svg`));
    await textBox(page)
      .getByText(new RegExp(`!\\[${how}ed\\]\\(\\S*${how}ed\\.svg\\)`))
      .waitFor();
    await save(page);
    expect(await stored(app, `en/picture-${how}`)).toMatch(new RegExp(`!\\[${how}ed\\]\\(\\S*${how}ed\\.svg\\)`));
  });

  test('a link to another entry is found by its title', async () => {
    const { app } = dashboard;
    await freshEntry(app, 'en/target', '---\ntitle: A distant hill\nauthor: ada\n---\n\nFar.\n');
    const page = await dashboard.open(await freshEntry(app, 'en/linking'));
    await editorReady(page);
    await goToEnd(page);
    await page.getByRole('button', { name: 'Link to an entry' }).click();
    const dialog = page.getByRole('dialog', { name: 'Link to an entry' });
    await dialog.getByRole('textbox', { name: 'Search the entries' }).fill('distant');
    await dialog.getByRole('button', { name: /A distant hill/ }).click();
    await save(page);
    expect(await stored(app, 'en/linking')).toMatch(/\[A distant hill\]\(\S*target\S*\)/);
  });
});

test('what the texts of the collection use is offered by Insert and while one types, and is requested only then', async () => {
  const { app } = dashboard;
  await freshEntry(
    app,
    'en/uses',
    '---\ntitle: Uses\nauthor: ada\n---\n\n{{< figure src="a.png" >}}\n\n<Box title="x">\nIn\n</Box>\n',
  );
  const page = await dashboard.open(await freshEntry(app, 'en/inserts'));
  let requests = 0;
  page.on('request', (request) => {
    if (request.postData()?.includes('EntrySnippets')) requests += 1;
  });
  await editorReady(page);
  await goToEnd(page);
  expect(requests).toBe(0);
  const insert = page.getByRole('button', { name: 'Insert', exact: true });
  await insert.click();
  await page.getByRole('menuitem', { name: '<Box>' }).waitFor();
  await page.getByRole('menuitem', { name: '{{< figure >}}' }).click();
  await page.keyboard.type('b.png');
  await page.keyboard.press('Escape');
  await goToEnd(page);
  await page.keyboard.type('\n<B');
  await page.getByRole('option', { name: /<Box/ }).waitFor();
  await page.getByRole('option', { name: /<Box/ }).click();
  await page.keyboard.type('A box');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Inside');
  await save(page);
  expect(changedLines(full, await stored(app, 'en/inserts'))).toEqual([
    '-',
    '+{{< figure src="b.png" >}}',
    '+<Box title="A box">',
    '+Inside',
    '+</Box>',
  ]);
  expect(requests).toBe(1);
  await page.mouse.move(0, 0);
  await page.getByRole('tooltip').waitFor({ state: 'detached' });
  await expectGoodPage(page);
});

test('with the keys of Vim chosen in the account, text is edited by them, and :w and Ctrl+S save', async () => {
  const { app } = dashboard;
  const slug = 'en/vim';
  const page = await dashboard.open('/account', { email: 'vi@example.org' });
  await page.getByText('Vim', { exact: true }).click();
  await expect.poll(() => page.getByRole('radio', { name: 'Vim' }).isChecked()).toBe(true);
  await page.goto(`${app.url}${await freshEntry(app, slug)}`);
  await editorReady(page);
  await page.getByText('--NORMAL--').waitFor();
  await textBox(page).click();
  await page.keyboard.type('ggoOne more line');
  await page.getByText('--INSERT--').waitFor();
  await page.keyboard.press('Escape');
  await saveState(page, 'All changes saved in this browser');
  await page.keyboard.type(':w\n');
  await saveState(page, 'Nothing to save');
  expect(changedLines(full, await stored(app, slug))).toEqual(['+One more line']);
  await page.keyboard.type('dd');
  await saveState(page, 'All changes saved in this browser');
  await page.keyboard.press('Control+s');
  await saveState(page, 'Nothing to save');
  expect(await stored(app, slug)).toBe(full);
  // Out of the text by keyboard, as with the other keys.
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(`document.activeElement.closest('.cm-editor') === null`)).toBe(true);
  await expectGoodPage(page);
});

test('the entry and its workflow page ask the database little', async () => {
  const page = await dashboard.open(await freshEntry(dashboard.app, 'en/counted'));
  await editorReady(page);
  const { EntryPage = 99 } = await dashboard.statementsOf(page);
  expect(EntryPage).toBeLessThanOrEqual(12);
});
