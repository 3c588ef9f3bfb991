/** A page that is edited while its entry and its site go on: saved by others, built anew, not built. */
import { expect, test } from 'vitest';
import { save, saveButton, saveElsewhere, saveState, stored, titleField } from '../support/entry-editor.ts';
import { raw, withHugoPages } from '../support/hugo-pages.ts';
import { edit, expectFocus, frameOf, pageReady } from '../support/page-editor.ts';

const { dashboard, work, freshPage, openOnPage } = withHugoPages();
const body = raw.split('---\n\n')[1] ?? '';

test('where two people change the same piece, the second is asked, and the page goes on with what was chosen', async () => {
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
