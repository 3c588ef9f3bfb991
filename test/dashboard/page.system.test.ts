/** An entry edited on its own page, as Hugo has built it: what is saved is what was edited there, and the next build shows it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { expectGoodPage } from '../support/dashboard.ts';
import { save, saveElsewhere, saveState, stored, textBox, titleField } from '../support/entry-editor.ts';
import { layout, raw, withHugoPages } from '../support/hugo-pages.ts';
import { choose, edit, expectFocus, frameOf, pageReady, pieces } from '../support/page-editor.ts';

/** Forges messages of the script and clicks of a person, a thousand of each, and reaches for what is not its own. */
const hostile = `
const reach = (act) => { try { return String(act()); } catch { return 'refused'; } };
window.seen = [reach(() => parent.document.title), reach(() => parent.localStorage.length), reach(() => parent.frames[0].document.title === document.title ? 'own' : 'other')];
addEventListener('message', (event) => window.seen.push(['window', event.data, event.ports.length]));
addEventListener('load', async () => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = ({ data }) => window.seen.push(['port', data]);
  parent.postMessage({ portico: 'page', path: location.pathname }, '*', [port2]);
  const forged = [
    { type: 'found', ids: [0, 1, 2, 3] },
    { type: 'clicked', id: 1, left: 10, top: 10, takesKeys: false },
    { type: 'show', id: 1, nodes: [{ tag: 'p', children: ['forged'] }] },
    { type: 'placed', id: 1, box: { left: 0, top: 0, width: 9e9, height: 1 }, look: { background: 'url(/x)' } },
    { type: 'clicked', id: -1, left: 'x' }, null, 'text', 7, [], { type: 'found', ids: Array(1e5).fill(1) },
  ];
  for (let time = 0; time < 1000; time += 1) {
    port1.postMessage(forged[time % forged.length]);
    parent.postMessage(forged[time % forged.length], '*');
    document.querySelector('main p')?.dispatchEvent(new MouseEvent('click', { bubbles: true }));
    if (time % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  document.documentElement.dataset.done = 'yes';
});
`;

/** Takes the focus, once and then without end, and keeps what is typed into it. */
const grabbing = `
window.keys = '';
addEventListener('keydown', ({ key }) => (window.keys += key), true);
const grab = () => [window.focus(), document.querySelector('a')?.focus()];
addEventListener('load', grab);
document.documentElement.dataset.loaded = 'yes';
addEventListener('hashchange', () => setInterval(grab, 5));
`;
const { dashboard, work, freshPage, openOnPage } = withHugoPages({
  // First in the page, before any rule of its own.
  'layouts/_default/strict.html': layout.replace(
    '<head>',
    `<head><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
  ),
  'layouts/_default/grabbing.html': layout.replace('<head>', `<head><script>${grabbing}</script>`),
  'layouts/_default/hostile.html': layout.replace('<head>', `<head><script>${hostile}</script>`),
});

describe('pieces of a page', () => {
  test('are opened from their list by their first words and Enter, however late the timers of the list are', async () => {
    const page = await openOnPage('chosen');
    await page.evaluate(`
      window.late = [];
      const set = window.setTimeout;
      window.setTimeout = (act, after, ...rest) => (after === 0 ? window.late.push(act) : set(act, after, ...rest));
    `);
    await pieces(page).focus();
    await page.keyboard.type('what to');
    await page.getByRole('option', { name: 'Heading: What to do' }).waitFor();
    await page.evaluate(`for (const act of window.late.splice(0)) act()`);
    await page.keyboard.press('Enter');
    await expectFocus(page, 'Text');
  });

  test('are opened by a click of which the browser shows later that it is that of a person', async () => {
    const page = await openOnPage('late');
    await page.evaluate(`(() => {
      const { userActivation } = navigator;
      let first;
      const isActive = () => performance.now() - (first ??= performance.now()) > 100 && userActivation.isActive;
      Object.defineProperty(navigator, 'userActivation', { value: { get isActive() { return isActive(); } } });
    })()`);
    await edit(page, 'Last words');
  });

  test('are opened by touch, once what was done in the dashboard before is over', async () => {
    const page = await openOnPage('touched', undefined, { hasTouch: true });
    const last = frameOf(page).getByText('Last words');
    await last.scrollIntoViewIfNeeded();
    const { x = 0, y = 0 } = (await last.boundingBox()) ?? {};
    // As long as a browser takes an act of a person for the cause of what follows.
    await new Promise((resolve) => setTimeout(resolve, 5_100));
    await page.touchscreen.tap(x + 20, y + 5);
    await textBox(page).waitFor();
    await expectFocus(page, 'Text');
  });

  test('are opened by touch right after the dashboard was, which scrolls the page, too', async () => {
    const { app } = dashboard;
    const page = await openOnPage('tapped', undefined, { hasTouch: true });
    const frame = frameOf(page);
    const topOf = async (one: Locator) => (await one.boundingBox())?.y ?? 0;
    const tap = async (text: string) => {
      const piece = frame.getByText(text).first();
      await piece.scrollIntoViewIfNeeded();
      const { x = 0, y = 0 } = (await piece.boundingBox()) ?? {};
      await page.touchscreen.tap(x + 20, y + 5);
      return piece;
    };
    /** The editor gets the focus when it is laid over the piece. */
    const openByTouch = async (text: string) => {
      const piece = await tap(text);
      await textBox(page).filter({ hasText: text }).waitFor();
      await expect.poll(async () => Math.abs((await topOf(textBox(page))) - (await topOf(piece)))).toBeLessThan(15);
      await page.keyboard.press('Control+End');
    };
    const touchDashboard = () => page.getByRole('radio', { name: 'Page', exact: true }).locator('..').tap();
    await page.setViewportSize({ width: 1440, height: 420 });
    await touchDashboard();
    const { x = 0, y = 0 } = (await page.getByTestId('touch-guard').boundingBox()) ?? {};
    const cdp = await page.context().newCDPSession(page);
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', points: { x: number; y: number }[]) =>
      cdp.send('Input.dispatchTouchEvent', { type, touchPoints: points });
    await touch('touchStart', [{ x: x + 50, y: y + 120 }]);
    for (const at of [100, 60]) await touch('touchMove', [{ x: x + 50, y: y + at }]);
    await touch('touchEnd', []);
    await expect.poll(() => frame.locator('html').evaluate('window.scrollY')).toBeGreaterThan(30);
    await touchDashboard();
    await openByTouch('The frost came');
    await page.keyboard.type(' Now.');
    await openByTouch('Last words');
    await page.keyboard.type(' Then.');
    await frame.getByText('the post. Then.').waitFor();
    await page.keyboard.press('Control+s');
    await saveState(page, 'Nothing to save');
    expect(await stored(app, 'tapped')).toBe(
      raw.replace('blossom.', 'blossom. Now.').replace('of the post.', 'of the post. Then.'),
    );
    await touchDashboard();
    await tap('Bees');
    await page.waitForURL(/\/content\/posts\/bees/);
  });

  test('are edited in place, and nothing else changes', async () => {
    const { app } = dashboard;
    const page = await openOnPage('edited');
    const frame = frameOf(page);
    await edit(page, 'The frost came');
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' Now.');
    await frame.getByText('blossom. Now.').waitFor();
    await edit(page, 'What to do');
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' then');
    await frame.getByRole('heading', { name: 'What to do then' }).waitFor();
    await edit(page, 'Every morning');
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' again');
    await frame.getByText('uncover them again').waitFor();
    await frame.getByRole('cell', { name: 'Plum' }).click();
    await expectFocus(page, 'Row 3, column 1');
    await page.keyboard.press('End');
    await page.keyboard.type(' tree');
    await page.keyboard.press('Escape');
    await frame.getByRole('cell', { name: 'Plum tree' }).waitFor();
    await page.keyboard.press('Escape');
    await textBox(page).waitFor({ state: 'hidden' });
    await frame.getByRole('img', { name: 'A pear' }).click();
    await page.getByRole('img', { name: 'A pear' }).click();
    await page.getByRole('textbox', { name: 'Alternative text' }).fill('Two pears');
    await page.getByRole('textbox', { name: 'Alternative text' }).press('Enter');
    await frame.getByRole('img', { name: 'Two pears' }).waitFor();
    await frame.getByRole('heading', { name: 'Late frost' }).click();
    await page.getByRole('textbox', { name: 'Field', exact: true }).fill('Later frost');
    await frame.getByRole('heading', { name: 'Later frost' }).waitFor();
    await expectGoodPage(page);
    await save(page);
    expect(await stored(app, 'edited')).toBe(
      raw
        .replace('Late frost', 'Later frost')
        .replace('blossom.', 'blossom. Now.')
        .replace('What to do', 'What to do then')
        .replace('uncover them', 'uncover them again')
        .replace('| Plum |', '| Plum tree |')
        .replace('A pear', 'Two pears'),
    );
    await work();
    // Its id is what the build makes of its text.
    await frame.locator('#what-to-do-then').waitFor();
    await pageReady(page);
    await frame.getByText('uncover them again').waitFor();
  });

  test('are found, edited, split and undone by keyboard alone', async () => {
    const { app } = dashboard;
    const page = await openOnPage('keys');
    await choose(page, 'Last words');
    await page.keyboard.type(' More.');
    await page.keyboard.press('Enter');
    await page.keyboard.type('A new paragraph.');
    await frameOf(page).getByText('A new paragraph.').waitFor();
    // Nothing before the piece is reached from it.
    await page.keyboard.press('Control+a');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Control+z');
    await page.keyboard.press('Control+y');
    await page.keyboard.press('Escape');
    await textBox(page).waitFor({ state: 'hidden' });
    await page.keyboard.press('Control+s');
    await saveState(page, 'Nothing to save');
    expect(await stored(app, 'keys')).toBe(raw.replace('of the post.', 'of the post. More.\n\nA new paragraph.'));
  });
});

test('blocks and items of a page change places, and nothing else changes', async () => {
  const { app } = dashboard;
  const page = await openOnPage('order');
  const frame = frameOf(page);
  const texts = () =>
    frame.locator('html').evaluate(`document.querySelector('main').innerText.split(/\\s*\\n\\s*/).join('|')`);
  await edit(page, 'Last words');
  // Past the picture and the table.
  await page.keyboard.press('Alt+ArrowUp');
  await page.keyboard.press('Alt+ArrowUp');
  await expect.poll(texts).toMatch(/uncover them\|Last words of the post\.\|Tree/);
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' Moved.');
  await frame.getByText('of the post. Moved.').waitFor();
  await edit(page, 'Every morning');
  await page.keyboard.press('Alt+ArrowUp');
  await page.keyboard.press('Alt+ArrowDown');
  await page.keyboard.press('Alt+ArrowUp');
  await expect.poll(texts).toMatch(/to do\|Every morning, uncover them\|Every evening, cover the trees\|Last/);
  await edit(page, 'The frost came');
  await page.keyboard.press('Alt+ArrowDown');
  await expect.poll(texts).toMatch(/What to do\|The frost came/);
  await page.keyboard.press('Control+z');
  await expect.poll(texts).toMatch(/The frost came[^|]*\|What to do\|Every morning/);
  await save(page);
  const last = 'Last words of the post.';
  const items = ['* Every evening, *cover* the trees\n', '* Every morning, uncover them\n'];
  const [head = ''] = raw.split('* Every');
  const table = raw.slice(raw.indexOf('| Tree'), raw.indexOf(last)).trimEnd();
  expect(await stored(app, 'order')).toBe(`${head}${items[1]}${items[0]}\n${last} Moved.\n\n${table}\n`);
  await work();
  await expect.poll(texts).toMatch(/cover the trees\|Last words of the post. Moved.\|Tree/);
});

/** Drags the handle beside a piece to another place of the page. */
async function drag(page: Page, piece: Locator, to: () => Promise<{ x: number; y: number }>): Promise<void> {
  const handle = page.getByTitle('Drag to move');
  // Away from the page, and from the piece that had the handle before.
  await titleField(page).hover();
  await handle.waitFor({ state: 'hidden' });
  await piece.scrollIntoViewIfNeeded();
  await piece.hover();
  await handle.hover();
  await page.mouse.down();
  const { x, y } = await to();
  await page.mouse.move(x, y, { steps: 5 });
  await page.mouse.up();
}

test('blocks and items are dragged by a handle beside them, and nothing else changes', async () => {
  const { app } = dashboard;
  const page = await openOnPage('dragged');
  const frame = frameOf(page);
  const texts = () =>
    frame.locator('html').evaluate(`document.querySelector('main').innerText.split(/\\s*\\n\\s*/).join('|')`);
  const above = (piece: Locator) => async () => {
    const box = await piece.boundingBox();
    return { x: (box?.x ?? 0) + 60, y: (box?.y ?? 0) + 3 };
  };
  const last = frame.getByText('Last words of the post.');
  const heading = frame.getByRole('heading', { name: 'What to do' });
  await drag(page, last, above(heading));
  await expect.poll(texts).toMatch(/pear blossom\.\|Last words of the post\.\|What to do/);
  await expectFocus(page, 'Text');
  await page.keyboard.press('Control+z');
  await expect.poll(texts).toMatch(/none\|Last words of the post\.$/);
  await page.keyboard.press('Escape');
  await drag(page, last, above(heading));
  await expectFocus(page, 'Text');
  await page.keyboard.press('Escape');
  await drag(page, frame.getByText('Every morning'), above(frame.getByText('Every evening')));
  await expect.poll(texts).toMatch(/What to do\|Every morning, uncover them\|Every evening/);
  await expectFocus(page, 'Text');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' again');
  await page.keyboard.press('Escape');
  // An item stays in its list, and what is let go of where it was stays where it is.
  await drag(page, frame.getByRole('cell', { name: 'Plum' }), above(frame.getByRole('table')));
  await expectFocus(page, 'Pieces of this page');
  await expectGoodPage(page);
  await save(page);
  const items = ['* Every evening, *cover* the trees\n', '* Every morning, uncover them\n'];
  expect(await stored(app, 'dragged')).toBe(
    raw
      .replace('\nLast words of the post.\n', '')
      .replace('## What', 'Last words of the post.\n\n## What')
      .replace(items.join(''), `${items[1]}${items[0]}`)
      .replace('uncover them', 'uncover them again'),
  );
});

test('what is inserted by / comes in the piece that is open, and nothing else changes', async () => {
  const { app } = dashboard;
  const page = await openOnPage('slash');
  await edit(page, 'Last words');
  await page.keyboard.press('Control+End');
  await page.keyboard.press('Enter');
  await page.keyboard.type('/quo');
  const menu = page.getByRole('listbox', { name: 'Completions' });
  await menu.getByRole('option', { name: 'Quote' }).waitFor();
  // All of it is in sight, wherever the piece stands, once it has its place.
  const isInSight = () =>
    menu.evaluate((list: { getBoundingClientRect(): { left: number; bottom: number } }) => {
      const { left, bottom } = list.getBoundingClientRect();
      const shown = (globalThis as unknown as { document: { elementFromPoint(x: number, y: number): unknown } })
        .document;
      const at = shown.elementFromPoint(left + 8, bottom - 8) as { closest(name: string): unknown } | null;
      return at?.closest('[role=listbox]') === list;
    });
  await expect.poll(isInSight).toBe(true);
  await page.keyboard.press('Enter');
  await page.keyboard.type('So it is.');
  await frameOf(page).locator('blockquote', { hasText: 'So it is.' }).waitFor();
  await page.keyboard.press('Escape');
  await save(page);
  expect(await stored(app, 'slash')).toBe(raw.replace('of the post.', 'of the post.\n\n> So it is.'));
});

test('rows and columns of a table are deleted, and are pieces again when that is undone', async () => {
  const { app } = dashboard;
  const page = await openOnPage('table');
  const frame = frameOf(page);
  const cells = () => frame.locator('td').allInnerTexts();
  const deleteWith = async (name: string, cell: string, focused: string) => {
    await frame.getByRole('cell', { name: cell }).click();
    await expectFocus(page, focused);
    await page.getByRole('button', { name }).click();
  };
  const leave = async () => {
    await textBox(page).focus();
    await page.keyboard.press('Escape');
    await textBox(page).waitFor({ state: 'hidden' });
  };
  await deleteWith('Delete row', 'Pear', 'Row 2, column 1');
  await expect.poll(cells).toEqual(['Plum', 'none']);
  await textBox(page).waitFor();
  await edit(page, 'Last words');
  await page.keyboard.press('Control+z');
  await expect.poll(cells).toEqual(['Pear', 'all', 'Plum', 'none']);
  await leave();
  // All of a cell is another text while it is open.
  await frame.getByRole('cell', { name: 'Plum' }).click();
  await expectFocus(page, 'Row 3, column 1');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('Quince');
  await expect.poll(cells).toEqual(['Pear', 'all', 'Quince', 'none']);
  await expectFocus(page, 'Row 3, column 1');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await deleteWith('Delete column', 'Quince', 'Row 3, column 1');
  await expect.poll(cells).toEqual(['all', 'none']);
  await textBox(page).focus();
  await page.keyboard.press('Control+z');
  await expect.poll(cells).toEqual(['Pear', 'all', 'Quince', 'none']);
  await leave();
  await frame.getByRole('cell', { name: 'none' }).click();
  await expectFocus(page, 'Row 3, column 2');
  await page.keyboard.press('End');
  await page.keyboard.type(' of it');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await save(page);
  expect(await stored(app, 'table')).toBe(raw.replace('| Plum | none |', '| Quince | none of it |'));
});

test('terms and definitions of a page are edited, each on its own', async () => {
  const { app } = dashboard;
  const list =
    'Pear\n: A fruit that the frost has taken this year\n: A colour of green and of yellow as well\n\nPlum\n: Another fruit\n';
  const text = raw.replace('## What to do', `${list}\n## What to do`);
  const page = await openOnPage('terms', text);
  const frame = frameOf(page);
  const type = async (piece: Locator, words: string) => {
    await edit(page, piece);
    await page.keyboard.press('Control+End');
    await page.keyboard.type(words);
    await page.keyboard.press('Escape');
  };
  await type(frame.getByText('A colour of green'), ', too');
  await frame.getByText('yellow as well, too').waitFor();
  await type(frame.locator('dt', { hasText: 'Plum' }), 's');
  await frame.getByText('Plums', { exact: true }).waitFor();
  await save(page);
  expect(await stored(app, 'terms')).toBe(text.replace('as well', 'as well, too').replace('\nPlum\n', '\nPlums\n'));
  await work();
  await frame.locator('dt', { hasText: 'Plums' }).waitFor();
});

describe('pictures of a page', () => {
  /** Whether a picture is shown that was not built, and how wide. */
  const loaded = async (page: Page, name: string) => {
    const image = frameOf(page).getByRole('img', { name });
    return [(await image.getAttribute('src'))?.startsWith('blob:'), (await image.boundingBox())?.width];
  };

  test('are changed for others, and for those before', async () => {
    const { app } = dashboard;
    const page = await openOnPage('pictures');
    await pieces(page).click();
    await page.getByRole('option', { name: 'Picture: A pear', exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await frameOf(page).getByRole('img', { name: 'A pear' }).click();
    await page.getByRole('button', { name: 'Choose another picture' }).click();
    await page.getByRole('dialog').getByTitle('static/apple.svg').click();
    await expect.poll(() => loaded(page, 'A pear')).toEqual([true, 60]);
    await page.keyboard.press('Control+z');
    await expect.poll(() => loaded(page, 'A pear')).toEqual([false, 40]);
    await page.keyboard.press('Control+y');
    await expect.poll(() => loaded(page, 'A pear')).toEqual([true, 60]);
    await save(page);
    expect(await stored(app, 'pictures')).toBe(raw.replace('/pear.svg', '/apple.svg'));
  });

  test('are dropped on a piece, stored behind its block, and shown at once', async () => {
    const { app } = dashboard;
    // The page was built without it.
    dashboard.tolerate(/404.*\/medlar\.svg/);
    const page = await openOnPage('dropped');
    const directory = mkdtempSync(path.join(tmpdir(), 'portico-dropped-'));
    const file = path.join(directory, 'medlar.svg');
    writeFileSync(file, '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="80"/>');
    const cdp = await page.context().newCDPSession(page);
    const dropOn = async (piece: Locator) => {
      await piece.scrollIntoViewIfNeeded();
      const box = await piece.boundingBox();
      const [x, y] = [(box?.x ?? 0) + 20, (box?.y ?? 0) + 5];
      const data = { items: [], files: [file], dragOperationsMask: 1 };
      const send = (type: 'dragEnter' | 'dragOver' | 'drop') =>
        cdp.send('Input.dispatchDragEvent', { type, x, y, data });
      // Straight into the page, as from another window.
      await send('dragEnter');
      await page.getByTestId('page-drop').waitFor();
      // From there on it is over what the dashboard has laid over the page.
      const isMarked = async () => {
        await send('dragEnter');
        await send('dragOver');
        return page.getByTestId('drop-mark').isVisible();
      };
      await expect.poll(isMarked).toBe(true);
      await send('drop');
    };
    await dropOn(frameOf(page).getByText('The frost came'));
    await expect.poll(() => loaded(page, 'medlar')).toEqual([true, 80]);
    await expectFocus(page, 'Text');
    await page.keyboard.press('Escape');
    await save(page);
    // Beside the picture that the text has by its address.
    const link = /!\[medlar\]\(\/medlar\.svg\)/;
    const once = await stored(app, 'dropped');
    expect(once).toMatch(/blossom\.\n\n!\[medlar\]\(\/medlar\.svg\)\n\n## What/);
    expect(once.replace(new RegExp(`${link.source}\n\n`), '')).toBe(raw);
    await dropOn(frameOf(page).getByRole('cell', { name: 'Plum' }));
    await expect.poll(() => frameOf(page).locator('table ~ p > img[alt="medlar"]').count()).toBe(1);
    await save(page);
    const twice = await stored(app, 'dropped');
    expect(twice.replace(/none \|\n\n!\[medlar\]\(\/medlar(?:-\d)?\.svg\)/, 'none |')).toBe(once);
    rmSync(directory, { recursive: true });
  });

  test('are pasted into a piece, stored, and shown at once', async () => {
    const { app } = dashboard;
    // The page was built without it.
    dashboard.tolerate(/404.*\/quince\.svg/);
    const page = await openOnPage('pasted');
    await edit(page, 'Last words');
    await page.keyboard.press('Control+End');
    await page.keyboard.press('Enter');
    await page.evaluate(`(() => {
      const data = new DataTransfer();
      const source = '<svg xmlns="http://www.w3.org/2000/svg" width="70" height="70"/>';
      data.items.add(new File([source], 'quince.svg', { type: 'image/svg+xml' }));
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData: data }));
    })()`);
    await expect.poll(() => loaded(page, 'quince')).toEqual([true, 70]);
    await save(page);
    expect(await stored(app, 'pasted')).toMatch(
      new RegExp(`^${raw.trimEnd().replace(/[|*()[\]\\.!:]/g, '\\$&')}\n\n!\\[quince\\]\\(\\S*quince\\.svg\\)\n+$`),
    );
  });
});

test('what two people change on one page is merged', async () => {
  const { app } = dashboard;
  const page = await openOnPage('both');
  await edit(page, 'Last words');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' Mine.');
  await saveElsewhere(app, 'both', { body: raw.split('---\n\n')[1]?.replace('## What to do', '## Theirs') });
  await frameOf(page).getByRole('heading', { name: 'Theirs' }).waitFor();
  await page.keyboard.type(' Still.');
  await save(page);
  expect(await stored(app, 'both')).toBe(
    raw.replace('## What to do', '## Theirs').replace('of the post.', 'of the post. Mine. Still.'),
  );
});

test('a link of the page leads to the entry of another', async () => {
  const page = await openOnPage('leaves');
  await frameOf(page).getByRole('link', { name: 'Bees' }).click();
  await page.waitForURL(/\/content\/posts\/bees/);
  await frameOf(page).getByText('The bees have swarmed').waitFor();
});

test('a page with a strict policy of its own is edited all the same', async () => {
  const page = await openOnPage('strict', raw.replace('summary:', 'layout: strict\nsummary:'));
  await edit(page, 'Last words');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' Kept.');
  await frameOf(page).getByText('of the post. Kept.').waitFor();
  // The picture is refused by the policy.
  dashboard.forgive(/csp|Content Security Policy/);
});

test('a hostile page opens nothing, changes nothing, and sees nothing of the dashboard', async () => {
  const { app } = dashboard;
  const text = raw.replace('summary:', 'layout: hostile\nsummary:');
  const page = await dashboard.open(await freshPage('hostile', text));
  await titleField(page).waitFor();
  await page.getByText('Page', { exact: true }).click();
  const frame = frameOf(page);
  await frame.locator('html[data-done]').waitFor();
  await textBox(page).waitFor({ state: 'hidden' });
  await saveState(page, 'Nothing to save');
  await titleField(page).click();
  await page.keyboard.press('End');
  await page.keyboard.type(', typed');
  expect(await titleField(page).inputValue()).toBe('Late frost, typed');
  const seen = (await frame.locator('html').evaluate('window.seen')) as unknown[];
  expect(seen.slice(0, 3)).toEqual(['refused', 'refused', 'own']);
  // All that it gets are pieces of its own page, and what is typed into them.
  for (const [from, data] of seen.slice(3) as [string, { type: string }][]) {
    expect(from).toBe('port');
    expect(['pieces', 'open', 'show']).toContain(data.type);
  }
  await page.getByText('Source', { exact: true }).click();
  await textBox(page).click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('Mine.');
  await save(page);
  expect(await stored(app, 'hostile')).toBe(`${text.replace('Late frost', 'Late frost, typed')}Mine.`);
});

test('a page that takes the focus once is edited, and one that goes on doing so is closed', async () => {
  const { app } = dashboard;
  const text = raw.replace('summary:', 'layout: grabbing\nsummary:');
  const page = await openOnPage('grabbing', text);
  const frame = frameOf(page);
  await edit(page, 'Last words');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' Kept.');
  await page.keyboard.press('Escape');
  await titleField(page).click();
  await page.keyboard.press('End');
  await frame.locator('html').evaluate('void (location.hash = "now")');
  await page.getByText('This page has taken the keyboard to itself again and again').waitFor();
  await titleField(page).click();
  await page.keyboard.press('End');
  await page.keyboard.type(', typed');
  expect(await titleField(page).inputValue()).toBe('Late frost, typed');
  await save(page);
  expect(await stored(app, 'grabbing')).toBe(
    text.replace('Late frost', 'Late frost, typed').replace('of the post.', 'of the post. Kept.'),
  );
  await page.getByRole('button', { name: 'Try again' }).click();
  await pageReady(page);
});
