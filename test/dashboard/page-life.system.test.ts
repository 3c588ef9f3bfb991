/** A page that is edited while its entry and its site go on: saved by others, built anew, not built. */
import { expect, test } from 'vitest';
import { save, saveButton, saveElsewhere, saveState, stored, textBox, titleField } from '../support/entry-editor.ts';
import { raw, withHugoPages } from '../support/hugo-pages.ts';
import { choose, edit, expectFocus, frameOf, pageReady, pieces } from '../support/page-editor.ts';

const { dashboard, work, freshPage, openOnPage } = withHugoPages();
const body = raw.split('---\n\n')[1] ?? '';

test('where two people change the same piece, the second chooses, and the page goes on with what was chosen', async () => {
  const { app } = dashboard;
  const page = await openOnPage('clash');
  await edit(page, 'Last words');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' Mine.');
  await saveElsewhere(app, 'clash', { body: body.replace('Last words', 'Their words') });
  await saveState(page, 'All changes saved in this browser');
  await saveButton(page).click();
  const dialog = page.getByRole('dialog', { name: 'Somebody changed the same parts' });
  await dialog.getByRole('radio', { name: 'Mine' }).click();
  await dialog.getByRole('button', { name: 'Save these' }).click();
  await saveState(page, 'Nothing to save');
  expect(await stored(app, 'clash')).toBe(raw.replace('of the post.', 'of the post. Mine.'));
  await frameOf(page).getByText('Last words of the post. Mine.').waitFor();
});

test('changes that are discarded all at once leave each piece its own text', async () => {
  const { app } = dashboard;
  const page = await openOnPage('discarded');
  const frame = frameOf(page);
  const texts = () => frame.locator('html').evaluate(`document.querySelector('main').innerText`);
  const built = await texts();
  for (const [piece, end] of [
    ['The frost came', 'blossom.'],
    ['Last words', 'of the post.'],
  ] as const) {
    await edit(page, piece);
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' Mine.');
    await frame.getByText(`${end} Mine.`).waitFor();
  }
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Discard changes' }).click();
  await saveState(page, 'Nothing to save');
  await expect.poll(texts).toBe(built);
  await edit(page, 'The frost came');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('Another first paragraph.');
  await save(page);
  expect(await stored(app, 'discarded')).toBe(raw.replace(/The frost came.*/, 'Another first paragraph.'));
});

test('an entry that somebody saved after its page was built, and while it was being opened, is edited all the same', async () => {
  const { app } = dashboard;
  const address = await freshPage('late');
  const page = await dashboard.open(address);
  await titleField(page).waitFor();
  // The pieces are read before the save, and come after it.
  let isSaved = false;
  await page.route('**/graphql', async (route) => {
    if (isSaved || !/query PagePieces\b/.test(route.request().postData() ?? '')) return route.fallback();
    isSaved = true;
    const answer = await route.fetch({ headers: { ...route.request().headers(), 'sec-fetch-site': 'same-origin' } });
    await saveElsewhere(app, 'late', { body: body.replace('## What to do', 'Added.\n\n## What to do') });
    await page.getByText(/Somebody saved this entry/).waitFor();
    await route.fulfill({ response: answer });
  });
  await page.getByText('Page', { exact: true }).click();
  await pageReady(page);
  await edit(page, 'Every morning');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' again');
  await save(page);
  expect(await stored(app, 'late')).toBe(
    raw.replace('## What to do', 'Added.\n\n## What to do').replace('uncover them', 'uncover them again'),
  );
});

test('of a page that is older than its entry, what was changed since opens only after the next build, and the rest where it is now', async () => {
  const { app } = dashboard;
  const address = await freshPage('older');
  const theirs = body.replace('The frost', 'Added.\n\nThe frost').replace('Last words', 'Their words');
  await saveElsewhere(app, 'older', { body: theirs });
  const page = await dashboard.open(address);
  await titleField(page).waitFor();
  await page.getByText('Page', { exact: true }).click();
  await pageReady(page);
  const frame = frameOf(page);
  await frame.getByText('Last words').click();
  await edit(page, 'Every morning');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' again');
  await page.keyboard.press('Escape');
  await frame.getByText('Last words').click();
  await textBox(page).waitFor({ state: 'hidden' });
  await pieces(page).fill('words of');
  await page.getByRole('option').first().waitFor({ state: 'hidden' });
  await pieces(page).press('Escape');
  await save(page);
  const whole = raw.replace(body, theirs).replace('uncover them', 'uncover them again');
  expect(await stored(app, 'older')).toBe(whole);
  await work();
  await frame.getByText('Their words').waitFor();
  await pageReady(page);
  await choose(page, 'Their words');
  await page.keyboard.type(' Mine.');
  await save(page);
  expect(await stored(app, 'older')).toBe(whole.replace('of the post.', 'of the post. Mine.'));
});

test('an entry whose changes clash with what is stored is edited on its page again once that is settled', async () => {
  const { app } = dashboard;
  const page = await openOnPage('behind');
  await edit(page, 'Last words');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' Mine.');
  await saveState(page, 'All changes saved in this browser');
  const { href } = new URL(page.url());
  await page.goto('about:blank');
  await saveElsewhere(app, 'behind', { body: body.replace('Last words', 'Their words') });
  await page.goto(href);
  await titleField(page).waitFor();
  await page.getByRole('status').getByText('Somebody else has changed what you changed here').waitFor();
  await frameOf(page).getByText('Every morning').click();
  await textBox(page).waitFor({ state: 'hidden' });
  await saveButton(page).click();
  const dialog = page.getByRole('dialog', { name: 'Somebody changed the same parts' });
  await dialog.getByRole('radio', { name: 'Mine' }).click();
  await dialog.getByRole('button', { name: 'Save these' }).click();
  await saveState(page, 'Nothing to save');
  await pageReady(page);
  await edit(page, 'Every morning');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' again');
  await save(page);
  expect(await stored(app, 'behind')).toBe(
    raw.replace('of the post.', 'of the post. Mine.').replace('uncover them', 'uncover them again'),
  );
});

test('a click on what cannot be edited leaves the keys to the dashboard, unless something of the page takes them', async () => {
  const { app } = dashboard;
  const page = await openOnPage('outside');
  const frame = frameOf(page);
  await edit(page, 'Last words');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' Mine.');
  await saveState(page, 'All changes saved in this browser');
  await saveElsewhere(app, 'outside', { body: body.replace('Last words', 'Their words') });
  await page.getByText('Somebody saved this entry and changed the same parts').waitFor();
  await frame.locator('nav').click({ position: { x: 300, y: 5 } });
  await expectFocus(page, 'Pieces of this page');
  await page.keyboard.press('Control+s');
  const dialog = page.getByRole('dialog', { name: 'Somebody changed the same parts' });
  await dialog.getByRole('radio', { name: 'Mine' }).click();
  await dialog.getByRole('button', { name: 'Save these' }).click();
  await saveState(page, 'Nothing to save');
  expect(await stored(app, 'outside')).toBe(raw.replace('of the post.', 'of the post. Mine.'));
  await pageReady(page);
  const field = '<input aria-label="Search">';
  await frame
    .locator('html')
    .evaluate(`void document.querySelector('main').insertAdjacentHTML('beforebegin', '${field}')`);
  const search = frame.getByRole('textbox', { name: 'Search' });
  await search.click();
  await page.keyboard.type('pear');
  expect(await search.inputValue()).toBe('pear');
  await page.keyboard.press('Control+s');
  await page.getByText('The page had the keyboard').waitFor();
  await expectFocus(page, 'Pieces of this page');
});

test('what is typed while a newer build takes the place of the page is there, and so is the cursor', async () => {
  const { app } = dashboard;
  const page = await openOnPage('swapped');
  await edit(page, 'Last words');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' One.');
  await page.keyboard.press('Control+s');
  await saveState(page, 'Nothing to save');
  const host = () =>
    frameOf(page)
      .locator('html')
      .evaluate('location.hostname')
      .catch(() => '');
  const before = await host();
  const words = ' two';
  let typed = '';
  const building = work();
  do {
    await page.keyboard.type(words);
    typed += words;
  } while ((await host()) === before || typed.length < 40);
  await building;
  await pageReady(page);
  await page.keyboard.type(words);
  typed += words;
  await expectFocus(page, 'Text');
  await frameOf(page).getByText(`One.${typed}`).waitFor();
  await page.keyboard.press('Escape');
  await save(page);
  expect(await stored(app, 'swapped')).toBe(raw.replace('of the post.', `of the post. One.${typed}`));
});

test('a build that fails leaves the page, and the bar leads to its log', async () => {
  const { app } = dashboard;
  const page = await openOnPage('failing');
  const broken = `${body}\n{{< no-such-shortcode >}}\n`;
  await saveElsewhere(app, 'failing', { body: broken });
  await work();
  await page.getByText('The latest build has failed, so this page shows the version before it.').waitFor();
  const log = page.getByRole('link', { name: 'What went wrong' });
  expect(await log.getAttribute('href')).toMatch(/\/site\/deployments\/\d+$/);
  await edit(page, 'Last words');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' Still.');
  await frameOf(page).getByText('of the post. Still.').waitFor();
  await log.click();
  await page
    .getByText(/no-such-shortcode/)
    .first()
    .waitFor();
  await page.goBack();
  await saveState(page, 'All changes saved in this browser');
  await page.keyboard.press('Control+s');
  await saveState(page, 'Nothing to save');
  expect(await stored(app, 'failing')).toContain('of the post. Still.');
  await saveElsewhere(app, 'failing', { body });
  await work();
});

test('a newer build that cannot be read leaves the page, and is shown once it can be', async () => {
  const page = await openOnPage('unread');
  const frame = frameOf(page);
  let refused = 0;
  await page.route('**/graphql', (route) => {
    if (!/query PagePieces\b/.test(route.request().postData() ?? '')) return route.fallback();
    refused += 1;
    return route.abort();
  });
  await edit(page, 'What to do');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' now');
  await save(page);
  await work();
  await expect.poll(() => refused).toBeGreaterThan(0);
  await edit(page, 'Last words');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' Then.');
  await frame.getByText('of the post. Then.').waitFor();
  await page.unroute('**/graphql');
  // Its id is what the build makes of its text.
  await frame.locator('#what-to-do-now').waitFor();
  await save(page);
  dashboard.forgive(/ERR_FAILED/);
});
