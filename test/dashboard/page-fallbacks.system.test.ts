/** Pages that cannot be edited where they stand, or only in part: what is offered in their place, and that nothing wrong is edited. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { expectGoodPage } from '../support/dashboard.ts';
import { save, stored, textBox, titleField } from '../support/entry-editor.ts';
import { layout, raw, withHugoPages } from '../support/hugo-pages.ts';
import { choose, edit, expectFocus, frameOf, pageReady, pieces } from '../support/page-editor.ts';

const sentence = 'The frost came in the night and took the pear blossom.';
const withContent = (content: string) => layout.replace('{{ .Content }}', content);
/** The layout with a script that runs at an event of the window. */
const withScript = (script: string, event: string) =>
  layout.replace('<head>', `<head><script>addEventListener('${event}', () => {${script}});</script>`);
const { dashboard, freshPage } = withHugoPages(
  {
    // Two blocks of the text, and much that is not of it.
    'layouts/_default/partly.html': withContent(
      `<p>${sentence}</p><p style="margin-top: 40rem">Of the house.</p>{{ delimit (findRE "<table(.|\\n)*</table>" .Content) "" | safeHTML }}<a href="#end">Down</a>`,
    ),
    'layouts/_default/nothing.html': withContent('<p>All of it is elsewhere.</p>'),
    'layouts/_default/wide.html': layout.replace('<html>', '<html class="wide">'),
    'layouts/_default/base.html': layout.replace(
      '<head>',
      '<head><base href="https://portico.example/deep/" target="_top">',
    ),
    'layouts/_default/shadow.html': withContent('<div><template shadowrootmode="open">{{ .Content }}</template></div>'),
    'layouts/_default/moved.html': withScript(
      `const root = document.createElement('div').attachShadow({ mode: 'open' });
      const main = document.querySelector('main');
      root.append(...main.childNodes);
      main.append(root.host);`,
      'DOMContentLoaded',
    ),
    'layouts/_default/rendered.html': withScript(
      `document.documentElement.dataset.rendered = 'yes';
      const main = document.querySelector('main');
      main.innerHTML = main.innerHTML;`,
      'render',
    ),
    'layouts/_default/swapping.html': withScript(
      `document.documentElement.dataset.rendered = 'yes';
      document.querySelector('main > h2 ~ p:last-of-type').textContent = 'Words of another page.';
      document.querySelector('main > h1 ~ p:not(.lead)').remove();`,
      'render',
    ),
    'layouts/_default/reopened.html': withScript(
      `document.querySelector('head script').remove();
      const page = document.documentElement.outerHTML;
      document.open();
      document.write('<!doctype html>' + page);
      document.close();`,
      'load',
    ),
    'layouts/_default/busting.html': layout.replace(
      '<head>',
      `<head><script>if (top !== self) { try { top.location = 'https://portico.example/'; } catch {} document.documentElement.style.opacity = 0.01; }</script>`,
    ),
    'layouts/_default/worker.html': withScript(
      `navigator.serviceWorker.register('/worker.js').then(
        () => (document.documentElement.dataset.worker = 'there'),
        () => (document.documentElement.dataset.worker = 'refused'),
      );`,
      'load',
    ),
    'static/worker.js': `addEventListener('fetch', (event) => event.respondWith(new Response('<h1>Offline</h1>', { headers: { 'Content-Type': 'text/html' } })));`,
    'layouts/_default/app.html': withScript(
      `document.querySelector('nav a').onclick = (event) => {
        event.preventDefault();
        history.pushState(null, '', '/posts/bees/');
        document.querySelector('h1').textContent = 'Bees';
        document.querySelector('main > p:not(.lead)').textContent = 'The bees have swarmed on the first warm day.';
      };`,
      'load',
    ),
    'layouts/_default/large.html': withContent('{{ .Content }}{{ strings.Repeat 11000000 "x" }}'),
  },
  // A page in UTF-16, into which no script is put.
  'hugo && for page in $(grep -l "<html class=.wide" -r public || true); do iconv -f UTF-8 -t UTF-16 "$page" > public/wide && mv public/wide "$page"; done',
);

const laidOut = (name: string) => raw.replace('summary:', `layout: ${name}\nsummary:`);

/** Opens the view *Page* of an entry of its own. */
async function openView(slug: string, text: string): Promise<Page> {
  const page = await dashboard.open(await freshPage(slug, text));
  await titleField(page).waitFor();
  await page.getByText('Page', { exact: true }).click();
  return page;
}

describe('a page that shows too little of its text', () => {
  test('has the text beside it, and a click goes to the nearest line', async () => {
    const { app } = dashboard;
    const text = laidOut('partly');
    const page = await openView('partly', text);
    await page.getByRole('status').getByText('Too little of the text was found').waitFor();
    await textBox(page).waitFor();
    expect(await pieces(page).isVisible()).toBe(false);
    const frame = frameOf(page);
    await frame.getByText('Of the house.').click();
    await expectFocus(page, 'Text');
    await frame.getByText(sentence).click();
    await expectFocus(page, 'Text');
    await page.keyboard.type('Look: ');
    await expectGoodPage(page);
    // A link of the page does what it does there.
    await frame.getByRole('link', { name: 'Down' }).click();
    await expect.poll(() => frame.locator('html').evaluate('location.hash')).toBe('#end');
    await save(page);
    expect(await stored(app, 'partly')).toBe(text.replace('The frost', 'Look: The frost'));
  });
});

test('a page that shows nothing of its text has the text beside it', async () => {
  const { app } = dashboard;
  const text = laidOut('nothing');
  const page = await openView('nothing', text);
  await page.getByRole('status').getByText('Too little of the text was found').waitFor();
  await frameOf(page).getByText('All of it is elsewhere.').click();
  await expectFocus(page, 'Text');
  await page.keyboard.type('First. ');
  await save(page);
  expect(await stored(app, 'nothing')).toBe(text.replace('The frost', 'First. The frost'));
});

test('a page in an encoding that takes no script has the text beside it', async () => {
  const { app } = dashboard;
  const text = laidOut('wide');
  const page = await openView('wide', text);
  await frameOf(page).getByText('Last words of the post.').waitFor();
  await textBox(page).waitFor();
  await textBox(page).getByText('Last words').click();
  await page.keyboard.press('End');
  await page.keyboard.type(' More.');
  await save(page);
  expect(await stored(app, 'wide')).toBe(text.replace('of the post.', 'of the post. More.'));
});

test('a page of 11 MB is not shown, and its text is edited in its place', async () => {
  const { app } = dashboard;
  const text = laidOut('large');
  const page = await openView('large', text);
  await page.getByRole('status').getByText('This page is too large to be edited here').waitFor();
  await textBox(page).getByText('Last words').click();
  await page.keyboard.press('End');
  await page.keyboard.type(' More.');
  await expectGoodPage(page);
  await save(page);
  expect(await stored(app, 'large')).toBe(text.replace('of the post.', 'of the post. More.'));
});

/** Types at the end of the last paragraph, where it stands on the page, and saves. */
async function editLast(page: Page, slug: string, text: string): Promise<void> {
  await edit(page, 'Last words');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' More.');
  await frameOf(page).getByText('of the post. More.').waitFor();
  await page.keyboard.press('Escape');
  await save(page);
  expect(await stored(dashboard.app, slug)).toBe(text.replace('of the post.', 'of the post. More.'));
}

test('a page whose addresses begin elsewhere is edited, and its links do not lead out of the dashboard', async () => {
  // The picture, and where the link would lead.
  dashboard.tolerate(/portico\.example|sandbox|ERR_NAME_NOT_RESOLVED/);
  const text = laidOut('base');
  const page = await openView('base', text);
  await pageReady(page);
  const { href } = new URL(page.url());
  await frameOf(page).getByRole('link', { name: 'Home' }).click();
  await editLast(page, 'base', text);
  expect(page.url()).toBe(href);
});

describe('a page with its text in a shadow tree', () => {
  test.each([
    ['of its HTML', 'shadow', 'Too little of the text was found'],
    ['made by a script', 'moved', 'This page cannot be edited here'],
  ])('%s has the text beside it', async (_name, layout, words) => {
    const { app } = dashboard;
    const text = laidOut(layout);
    const page = await openView(layout, text);
    await page.getByRole('status').getByText(words).waitFor();
    // What a click on the page needs comes when the text beside it is typed into.
    const { promise: late, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/dashboard/assets/*.js', (route) => late.then(() => route.continue()));
    const loaded = page.waitForResponse('**/dashboard/assets/*.js');
    await frameOf(page).getByText('Last words').click();
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('IFRAME');
    await textBox(page).getByText('Last words').click();
    await page.keyboard.press('End');
    release();
    await loaded;
    await page.keyboard.type(' More.', { delay: 50 });
    await save(page);
    expect(await stored(app, layout)).toBe(text.replace('of the post.', 'of the post. More.'));
  });
});

describe('a page whose script rewrites it', () => {
  const render = (page: Page) => frameOf(page).locator('html').evaluate("void dispatchEvent(new Event('render'))");

  test('with the same text is edited as before', async () => {
    const text = laidOut('rendered');
    const page = await openView('rendered', text);
    await pageReady(page);
    await render(page);
    await editLast(page, 'rendered', text);
  });

  test('while a piece is open goes on with that piece', async () => {
    const { app } = dashboard;
    const text = laidOut('rendered');
    const page = await openView('open', text);
    await pageReady(page);
    await edit(page, 'Last words');
    await render(page);
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' More.');
    await frameOf(page).getByText('of the post. More.').waitFor();
    await page.keyboard.press('Escape');
    await save(page);
    expect(await stored(app, 'open')).toBe(text.replace('of the post.', 'of the post. More.'));
  });

  test('with other text opens nothing for it, and says which pieces there still are', async () => {
    const { app } = dashboard;
    const text = laidOut('swapping');
    const page = await openView('swapping', text);
    await pageReady(page);
    await render(page);
    const frame = frameOf(page);
    await frame.getByText('Words of another page.').click();
    await choose(page, 'What to do');
    await page.keyboard.press('Escape');
    await pieces(page).press('Control+a');
    await pieces(page).pressSequentially('The frost');
    await page.getByRole('option', { name: /The frost/ }).click();
    await page.getByRole('option', { name: /The frost/ }).waitFor({ state: 'hidden' });
    await textBox(page).waitFor({ state: 'hidden' });
    await edit(page, 'Every morning');
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' again');
    await page.keyboard.press('Escape');
    await save(page);
    expect(await stored(app, 'swapping')).toBe(text.replace('uncover them', 'uncover them again'));
  });

  test('and takes the listeners of the window along is edited as before', async () => {
    const text = laidOut('reopened');
    const page = await openView('reopened', text);
    const frame = frameOf(page);
    await frame.getByText('Last words').waitFor();
    await pageReady(page);
    await editLast(page, 'reopened', text);
  });

  test('and its address becomes the page of another entry, and the panel follows', async () => {
    const { app } = dashboard;
    const text = laidOut('app');
    const page = await openView('app', text);
    await pageReady(page);
    await frameOf(page).getByRole('link', { name: 'Bees' }).click();
    await page.waitForURL(/\/content\/posts\/bees/);
    await edit(page, 'The bees have swarmed');
    await page.keyboard.press('Escape');
    expect(await stored(app, 'app')).toBe(text);
  });
});

test('a page that forbids frames around it does not replace the dashboard, and is edited', async () => {
  const text = laidOut('busting');
  const page = await openView('busting', text);
  await pageReady(page);
  const { href } = new URL(page.url());
  await editLast(page, 'busting', text);
  expect(page.url()).toBe(href);
  dashboard.forgive(/sandbox/);
});

test('a page gets no service worker, which would answer with pages of its own', async () => {
  dashboard.tolerate(/ServiceWorker|403/);
  const text = laidOut('worker');
  const page = await openView('worker', text);
  await pageReady(page);
  await frameOf(page).locator('html[data-worker="refused"]').waitFor();
  await editLast(page, 'worker', text);
  await page.reload();
  await titleField(page).waitFor();
  await pageReady(page);
  await frameOf(page).getByText('Last words').waitFor();
});
