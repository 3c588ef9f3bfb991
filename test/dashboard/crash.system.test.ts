/** What becomes of typed text when a browser, a server or the network ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { studio } from '../support/app.ts';
import { makePerson, setUp, signedIn } from '../support/browser.ts';
import { wholeChromium } from '../support/chromium.ts';
import { openPage } from '../support/dashboard.ts';
import {
  editorReady,
  expectKept,
  freshEntry,
  save,
  saveButton,
  saveElsewhere,
  saveState,
  stored,
  textBox,
  titleField,
  withEditor,
} from '../support/entry-editor.ts';
import { freePort } from '../support/free-port.ts';
import { demoDataDir, kill, readFirstRun, startServer } from '../support/server-process.ts';

const dashboard = withEditor();

/** Chromium as a process of its own on a profile, which outlives it. */
async function startChromium(profile: string): Promise<{ child: ChildProcess; page: Page }> {
  const options = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--window-size=1440,900',
  ];
  const where = ['--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'];
  const child = spawn(wholeChromium, [...options, ...where], { stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => kill(child));
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    const [, address] = /DevTools listening on (\S+)/.exec(said) ?? [];
    if (address) resolve(address);
  });
  child.once('exit', () => reject(new Error(`Chromium ended: ${said}`)));
  const browser = await chromium.connectOverCDP(await promise);
  const [context] = browser.contexts();
  const page = context?.pages()[0];
  if (!page) throw new Error('Chromium has no page');
  return { child, page };
}

/** Types at the end of the text. */
async function typeAtEnd(page: Page, words: string): Promise<void> {
  await textBox(page).click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type(words);
}

test('two browsers edit one entry, one is killed: what was typed in it comes back beside what the other saved', async () => {
  const { app } = dashboard;
  const profile = await mkdtemp(path.join(tmpdir(), 'portico-profile-'));
  onTestFinished(() => rm(profile, { recursive: true, force: true, maxRetries: 5 }));
  const address = await freshEntry(app, 'en/two');
  const user = await makePerson(app, { email: 'killed@example.org', role: 'editor' });
  const open = async () => {
    const { child, page } = await startChromium(profile);
    const { cookie } = await signedIn(app, user);
    await page.context().addCookies([{ name: 'portico', value: cookie?.replace('portico=', '') ?? '', url: app.url }]);
    await page.goto(`${app.url}${address}`);
    await editorReady(page);
    return { child, page };
  };
  const first = await open();
  const other = await dashboard.open(address);
  await editorReady(other);
  await titleField(first.page).fill('Of the first');
  await typeAtEnd(first.page, 'Typed in the first.');
  await expectKept(first.page, 'Typed in the first.');
  await other.getByRole('textbox', { name: 'Summary' }).fill('Of the other.');
  await save(other);
  await first.page.getByText(/Somebody saved this entry. What they changed is in the form now/).waitFor();
  await saveState(first.page, 'All changes saved in this browser');
  await kill(first.child);
  await other.getByLabel('Rating').fill('5');
  await save(other);

  const { page } = await open();
  await page.getByText(/are back, together with what was saved since/).waitFor();
  expect(await titleField(page).inputValue()).toBe('Of the first');
  await save(page);
  const text = await stored(app, 'en/two');
  for (const part of ['title: "Of the first"', 'Typed in the first.', 'summary: Of the other.', 'rating: 5'])
    expect(text).toContain(part);
  await page.context().browser()?.close();
});

describe('a server that is killed while somebody types', () => {
  test('has all of it after it has started again, and what is live is live again', async () => {
    const { dataDir, token } = await demoDataDir();
    const port = String(await freePort());
    const first = await startServer(dataDir, { PORTICO_PORT: port });
    const { setup_url = '' } = await readFirstRun(dataDir);
    const { cookie } = await setUp(first, setup_url);
    const page = await openPage();
    const url = `http://localhost:${port}`;
    await page.context().addCookies([{ name: 'portico', value: cookie?.replace('portico=', '') ?? '', url }]);
    await page.goto(`${url}/p/demo/site/content/posts/en/first-frost`);
    await editorReady(page);
    const words = 'Every word of this is typed while the server dies.';
    await typeAtEnd(page, words.slice(0, 20));
    await Promise.all([page.keyboard.type(words.slice(20), { delay: 5 }), kill(first.child)]);
    await textBox(page).getByText(words).waitFor();
    await saveState(page, 'All changes saved in this browser');
    await saveButton(page).click();
    await page.getByRole('alert').getByText('The server cannot be reached').waitFor();

    const second = await startServer(dataDir, { PORTICO_PORT: port });
    await save(page);
    const ask = (method: string, body?: object) =>
      fetch(`${second.url}/api/v2/organizations/demo/projects/site/studio/collections/posts/en/first-frost`, {
        method,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
    expect(((await (await ask('GET')).json()) as { body: string }).body.trimEnd().endsWith(words)).toBe(true);
    // The tab follows the new server without being loaded anew.
    await ask('PUT', { frontmatter: { title: 'Saved by another' } });
    await expect.poll(() => titleField(page).inputValue()).toBe('Saved by another');
    await page.close();
    await second.stop();
  });

  test('and had stored a save it did not answer: the next save is a change of that', async () => {
    const { app } = dashboard;
    const page = await dashboard.open('/account');
    let isLost = false;
    await page.route('**/graphql', async (route) => {
      const sent = route.request().postData() ?? '';
      // The stream, which would say that the entry was saved, is gone as well.
      if (/subscription Watch\b/.test(sent)) return;
      if (isLost || !/mutation SaveEntry\b/.test(sent)) return route.fallback();
      isLost = true;
      // What the browser adds of itself is not among the headers of an intercepted request.
      await route.fetch({ headers: { ...route.request().headers(), 'sec-fetch-site': 'same-origin' } });
      await route.abort('connectionreset');
    });
    await page.goto(`${app.url}${await freshEntry(app, 'en/unanswered')}`);
    await editorReady(page);
    await typeAtEnd(page, 'One');
    await saveState(page, 'All changes saved in this browser');
    await saveButton(page).click();
    await page.getByRole('alert').getByText('The server cannot be reached').waitFor();
    dashboard.forgive(/ERR_CONNECTION_RESET/);
    expect(await stored(app, 'en/unanswered')).toContain('One');
    await typeAtEnd(page, ', two.');
    await save(page);
    expect(await stored(app, 'en/unanswered')).toContain('One, two.');
    expect(await page.getByText(/somebody/i).count()).toBe(0);
  });
});

test('five minutes offline: the page stays, and what was typed is saved then, with what others saved meanwhile', async () => {
  const { app } = dashboard;
  const address = await freshEntry(app, 'en/five-minutes');
  const page = await dashboard.open('/account');
  await page.clock.install();
  await page.goto(`${app.url}${address}`);
  await editorReady(page);
  await titleField(page).fill('Before');
  await page.context().setOffline(true);
  await typeAtEnd(page, 'Typed at once.');
  await page.clock.fastForward('04:00');
  await page.keyboard.type(' Typed after four minutes.');
  await saveElsewhere(app, 'en/five-minutes', { frontmatter: { summary: 'Theirs.' } });
  await saveButton(page).click();
  await page.getByRole('alert').getByText('The server cannot be reached').waitFor();
  await page.clock.fastForward('01:00');
  await textBox(page).getByText('Typed after four minutes.').waitFor();
  await saveState(page, 'All changes saved in this browser');
  await page.context().setOffline(false);
  await page.getByText(/Somebody saved this entry. What they changed is in the form now/).waitFor();
  await save(page);
  const text = await stored(app, 'en/five-minutes');
  for (const part of ['title: "Before"', 'Typed at once. Typed after four minutes.', 'summary: Theirs.'])
    expect(text).toContain(part);
  dashboard.forgive(/ERR_INTERNET_DISCONNECTED/);
});

test('a server that cannot be reached leaves the page as it is, which says so until it is', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/unreached'));
  await editorReady(page);
  await typeAtEnd(page, 'Typed before.');
  await page.route('**/graphql', (route) =>
    /query (ProjectFrame|EntryPage)\b/.test(route.request().postData() ?? '')
      ? route.abort('connectionreset')
      : route.fallback(),
  );
  await saveElsewhere(app, 'en/unreached', { frontmatter: { summary: 'First.' } });
  const notice = page.getByRole('status').getByText('The server cannot be reached');
  await notice.waitFor();
  await typeAtEnd(page, ' Typed after.');
  await page.unroute('**/graphql');
  await saveElsewhere(app, 'en/unreached', { frontmatter: { summary: 'Second.' } });
  await expect.poll(() => page.getByRole('textbox', { name: 'Summary' }).inputValue()).toBe('Second.');
  await notice.waitFor({ state: 'detached' });
  await save(page);
  expect(await stored(app, 'en/unreached')).toContain('Typed before. Typed after.');
  dashboard.forgive(/ERR_CONNECTION_RESET/);
});

describe('the stream of what changes', () => {
  test('goes on without loss after its connection was cut', async () => {
    const { app } = dashboard;
    const page = await dashboard.open('/account');
    // Its body ends in the middle, as when a proxy is started anew.
    let cut = 0;
    await page.route('**/graphql', async (route) => {
      if (!/subscription Watch\b/.test(route.request().postData() ?? '') || cut > 0) return route.fallback();
      cut += 1;
      await route.abort('connectionreset');
    });
    await page.goto(`${app.url}${await freshEntry(app, 'en/cut')}`);
    await editorReady(page);
    await expect.poll(() => cut).toBe(1);
    await saveElsewhere(app, 'en/cut', { frontmatter: { title: 'While it was cut' } });
    await expect.poll(() => titleField(page).inputValue()).toBe('While it was cut');
    await saveElsewhere(app, 'en/cut', { frontmatter: { title: 'After that' } });
    await expect.poll(() => titleField(page).inputValue()).toBe('After that');
    expect((await app.ask('GET', `${studio}/collections/posts/en/cut`)).body.frontmatter.title).toBe('After that');
    dashboard.forgive(/ERR_CONNECTION_RESET/);
  });
});
