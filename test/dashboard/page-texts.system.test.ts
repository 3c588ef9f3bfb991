/** Texts that are hard to find on their pages: what is edited is the block that was clicked, and what cannot be distinguished is not edited there. */
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { studio } from '../support/app.ts';
import { expectGoodPage } from '../support/dashboard.ts';
import { save, stored, textBox, titleField } from '../support/entry-editor.ts';
import { layout, raw, withHugoPages } from '../support/hugo-pages.ts';
import { expectFocus, frameOf, pageReady } from '../support/page-editor.ts';

const { dashboard, freshPage, openOnPage } = withHugoPages({
  'hugo.toml':
    "baseURL = 'https://portico.example/'\ndisableKinds = ['taxonomy', 'term', 'RSS', 'sitemap']\n[markup.goldmark.renderer]\nunsafe = true\n",
  'layouts/shortcodes/note.html': '<aside>{{ .Inner | .Page.RenderString }}</aside>',
  'layouts/shortcodes/price.html': '<b>€ {{ .Get 0 }}</b>',
  'layouts/_default/list.html': layout.replace(
    '{{ .Content }}',
    '{{ .Content }}{{ range .Pages }}<article><h2>{{ .Title }}</h2><p>{{ .Params.summary }}</p></article>{{ end }}',
  ),
  'layouts/_default/leading.html': layout.replace('<nav>', '<nav><a href="/posts/gone/">Gone</a> '),
  'content/posts/_index.md': '---\ntitle: All posts\n---\n\nThese are all of our posts.\n',
});

const odd = `---
title: Odd texts
---

The same words stand here twice.

The frost came in the night.[^1]

{{< note >}}
Inside of a shortcode there are words, too.
{{< /note >}}

<div class="box">
<p>Raw markup, written by <b>hand</b>.</p>
</div>

The same words stand here twice.

Between them {{< price 7 >}} is put by a shortcode.

Last words of the post.

[^1]: A note on the frost, at the foot.
`;

/** Types at the end of a piece, where it stands on the page. */
async function typeInto(page: Page, piece: Locator): Promise<void> {
  // Not on a link or a mark in its midst.
  await piece.click({ position: { x: 5, y: 5 } });
  await expectFocus(page, 'Text');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' More');
  await page.keyboard.press('Escape');
  await textBox(page).waitFor({ state: 'hidden' });
}

test('paragraphs alike, footnotes, shortcodes and raw HTML are edited in the block that was clicked', async () => {
  const { app } = dashboard;
  const page = await openOnPage('odd', odd);
  const frame = frameOf(page);
  let text = odd;
  const edited = async (piece: Locator, block: string, occurrence = 0) => {
    await typeInto(page, piece);
    const at = occurrence === 0 ? text.indexOf(block) : text.lastIndexOf(block);
    text = `${text.slice(0, at + block.length)} More${text.slice(at + block.length)}`;
  };
  await edited(frame.getByText('The same words').last(), 'stand here twice.', 1);
  await edited(frame.getByText('The frost came'), 'in the night.[^1]');
  await edited(frame.getByText('Inside of a shortcode'), '{{< /note >}}');
  await edited(frame.getByText('Raw markup'), '</div>');
  await frame.getByText('<p>Raw markup, written by <b>hand</b>.</p>').waitFor();
  await edited(frame.getByText('Between them'), 'by a shortcode.');
  // The source of a note stands elsewhere: nothing opens for it.
  await frame.getByText('A note on the frost').click();
  await expectFocus(page, 'Pieces of this page');
  expect(await textBox(page).isVisible()).toBe(false);
  await edited(frame.getByText('The same words').first(), 'stand here twice.');
  await save(page);
  expect(await stored(app, 'odd')).toBe(text);
});

test('a page that lists others has its own text edited, and nothing of theirs', async () => {
  const { app } = dashboard;
  const page = await dashboard.open('/p/acme/site/content/posts/index');
  await titleField(page).waitFor();
  await page.getByText('Page', { exact: true }).click();
  await pageReady(page);
  const frame = frameOf(page);
  await frame.getByRole('heading', { name: 'Bees' }).click();
  await expectFocus(page, 'Pieces of this page');
  expect(await textBox(page).isVisible()).toBe(false);
  await typeInto(page, frame.getByText('These are all'));
  await save(page);
  const { body } = await app.ask('GET', `${studio}/collections/posts/index?raw=true`);
  expect(body.raw).toBe('---\ntitle: All posts\n---\n\nThese are all of our posts. More\n');
});

test('the page of an entry that is gone belongs to none', async () => {
  const { app } = dashboard;
  await freshPage('gone', raw.replace('Late frost', 'Gone'));
  const page = await openOnPage('stays', raw.replace('summary:', 'layout: leading\nsummary:'));
  expect((await app.ask('DELETE', `${studio}/collections/posts/gone`)).status).toBe(200);
  await frameOf(page).getByRole('link', { name: 'Gone' }).click();
  await page.getByText('This page does not belong to this entry.').waitFor();
  const { href } = new URL(page.url());
  await frameOf(page).getByText('Last words').click();
  await expectFocus(page, 'Pieces of this page');
  expect(await textBox(page).isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Back to the entry' }).click();
  await pageReady(page);
  expect(page.url()).toBe(href);
});

test('of two entries at one address, the one that the site shows is edited on its page, and the other beside it', async () => {
  const { app } = dashboard;
  const one = raw.replace('summary:', 'url: /shared/\nsummary:').replace('Late frost', 'First');
  const two = one.replace('First', 'Second').replace('The frost came', 'The wind came');
  const texts: Record<string, string> = { one, two };
  for (const [slug, text] of Object.entries(texts)) await freshPage(slug, text);
  const open = async (slug: string) => {
    const page = await dashboard.open(`/p/acme/site/content/posts/${slug}`);
    await titleField(page).waitFor();
    await page.getByText('Page', { exact: true }).click();
    return page;
  };
  const first = await open('one');
  await frameOf(first).getByText('Last words').waitFor();
  const shown = (await frameOf(first).getByRole('heading', { level: 1 }).innerText()) === 'First' ? 'one' : 'two';
  const other = shown === 'one' ? 'two' : 'one';
  const hidden = await open(other);
  await hidden.getByRole('status').getByText(`The site shows another entry at this address: ${shown}`).waitFor();
  await frameOf(hidden).getByText('Last words').click();
  await expectFocus(hidden, 'Text');
  await textBox(hidden).getByText('Last words').click();
  await hidden.keyboard.press('End');
  await hidden.keyboard.type(' More.');
  await expectGoodPage(hidden);
  await save(hidden);
  expect(await stored(app, other)).toBe(texts[other]?.replace('of the post.', 'of the post. More.'));
  const page = await open(shown);
  await pageReady(page);
  await typeInto(page, frameOf(page).getByText('Last words'));
  await save(page);
  expect(await stored(app, shown)).toBe(texts[shown]?.replace('of the post.', 'of the post. More'));
});
