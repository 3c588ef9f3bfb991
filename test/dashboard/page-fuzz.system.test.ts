/**
 * A hostile site under the editor: random messages and forged events for some time, while a person goes on working. By itself it takes half a
 * minute; `PORTICO_FUZZ_SECONDS=3600 npm run test:system -- test/dashboard/page-fuzz.system.test.ts` takes an hour.
 */
import { expect, test } from 'vitest';
import { studio } from '../support/app.ts';
import { saveState, stored, titleField } from '../support/entry-editor.ts';
import { hostileScript } from '../support/hostile-page.ts';
import { layout, raw, withHugoPages } from '../support/hugo-pages.ts';
import { frameOf } from '../support/page-editor.ts';

const seconds = Number(process.env.PORTICO_FUZZ_SECONDS ?? 30);
const seed = Number(process.env.PORTICO_FUZZ_SEED ?? 1 + Math.floor(Math.random() * 1e9));

const { dashboard, freshPage } = withHugoPages({
  'layouts/_default/hostile.html': layout.replace('<head>', `<head><script>${hostileScript(seed, seconds)}</script>`),
});

/** What the person types, which the page shows nowhere. */
const secret = 'Between us alone';

test(`a hostile page makes no edit and reads nothing of the dashboard: ${seconds} s with seed ${seed}`, {
  timeout: (seconds + 300) * 1000,
}, async () => {
  const { app } = dashboard;
  // The view of the text beside the page would try where a picture lies.
  const text = raw.replace('summary:', 'layout: hostile\nnote: Old\nsummary:').replace('![A pear](/pear.svg)\n\n', '');
  const page = await dashboard.open(await freshPage('fuzzed', text));
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  await titleField(page).waitFor();
  const note = page.getByRole('textbox', { name: 'Note', exact: true });
  await note.waitFor();
  await page.getByText('Page', { exact: true }).click();
  const frame = frameOf(page);
  await frame.locator('html[data-rounds]').waitFor();
  const before = (await app.ask('GET', `${studio}/commits`)).body[0].sha;
  const end = Date.now() + seconds * 1000;
  let typed = 0;
  do {
    await note.click();
    await page.keyboard.press('Control+a');
    // As fast as people type.
    await page.keyboard.type(`${secret} ${typed}`, { delay: 20 });
    expect(await note.inputValue()).toBe(`${secret} ${typed}`);
    // A page that says it has no pieces has the text beside it, and nothing over it.
    expect(await page.locator('[data-mode="page"]').getByRole('textbox', { name: 'Text' }).isVisible()).toBe(false);
    typed += 1;
  } while (Date.now() < end);
  await frame.locator('html[data-done]').waitFor();
  const rounds = Number(await frame.locator('html').getAttribute('data-rounds'));
  expect(rounds).toBeGreaterThan(seconds * 50);
  const seen = (await frame.locator('html').evaluate('window.seen')) as [from: string, what: unknown][];
  const reached = seen.filter(([from]) => from.startsWith('reached'));
  // What a frame may know of the window around it (HTML, 7.2.1) is none of this.
  expect(reached).toEqual([]);
  expect(seen.filter(([from]) => from === 'trusted')).toEqual([]);
  expect(seen.filter(([from]) => from === 'parent')).toEqual([]);
  const received = seen.filter(([from]) => /port|given/.test(from)).map(([, what]) => what as { type: string });
  for (const { type } of received) expect(['pieces', 'open', 'show', 'scroll', 'restore', 'locate']).toContain(type);
  const messages = JSON.stringify(seen);
  for (const hidden of [secret, 'ptc_', 'Note', app.token]) expect(messages).not.toContain(hidden);
  // The dashboard goes on as before, and nothing was edited but what the person has typed.
  expect(errors).toEqual([]);
  expect((await app.ask('GET', `${studio}/commits`)).body[0].sha).toBe(before);
  expect(await stored(app, 'fuzzed')).toBe(text);
  await saveState(page, 'All changes saved in this browser');
  await page.keyboard.press('Control+s');
  await saveState(page, 'Nothing to save');
  expect(await stored(app, 'fuzzed')).toBe(text.replace('note: Old', `note: ${secret} ${typed - 1}`));
});
