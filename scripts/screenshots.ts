/**
 * Takes the README's pictures of the running product, `npm run screenshots`: a new server with the demo site, the first account, then pages in
 * both themes into `docs/images`. Needs Chromium (`PORTICO_CHROMIUM_PATH`, otherwise `/usr/bin/chromium`). What it
 * took is to be looked at; nothing compares it.
 */
import { spawn } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { chromium, type Page } from 'playwright-core';

const root = path.resolve(import.meta.dirname, '..');
const images = path.join(root, 'docs/images');
const project = '/p/demo/site';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** @returns address and data directory of a new server, and how to end it */
async function startServer() {
  const directory = await mkdtemp(path.join(tmpdir(), 'portico-screenshots-'));
  const port = await freePort();
  const env = { ...process.env, PORTICO_DATA_DIR: directory, PORTICO_PORT: String(port), PORTICO_PREVIEW_PORT: '0' };
  const child = spawn(process.execPath, [path.join(root, 'scripts/run.ts'), 'src/main'], { env, stdio: 'inherit' });
  const url = `http://localhost:${port}`;
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  for (let left = 600; !(await isReady()); left -= 1) {
    if (left === 0 || child.exitCode !== null) throw new Error('The server did not become ready');
    await delay(200);
  }
  const stop = async () => {
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('exit', resolve));
    await rm(directory, { recursive: true, force: true });
  };
  return { url, directory, stop };
}

/** Makes the first account, and signs it in. */
async function setUp(page: Page, directory: string): Promise<void> {
  const { setup_url } = JSON.parse(await readFile(path.join(directory, 'first-run.json'), 'utf8')) as {
    setup_url: string;
  };
  await page.goto(setup_url);
  await page.getByLabel('Name', { exact: true }).fill('Hazel Quill');
  await page.getByLabel('E-mail').fill('hazel@example.org');
  await page.getByRole('textbox', { name: 'Password' }).fill('correct horse battery');
  await page.getByLabel('Organisation').fill('Acme');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.waitForURL((url) => url.pathname !== '/setup');
}

/** Something to be shown that the demo site lacks: a draft with changes, and a workflow whose webhook has been called. */
async function furnish(url: string, directory: string) {
  const { token } = JSON.parse(await readFile(path.join(directory, 'first-run.json'), 'utf8')) as { token: string };
  const post = async (at: string, body: object) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const response = await fetch(`${url}/api/v2/organizations/demo/projects/site${at}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`POST ${at}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { id: string; secret: string };
  };
  const change = (entry: string, frontmatter: object) => ({
    op: 'update',
    collection: 'posts',
    slug: entry,
    frontmatter,
  });
  await post('/studio/branches', { name: 'spring' });
  await post('/studio/changes', {
    branch: 'spring',
    message: 'Words for spring',
    actions: [
      change('en/first-frost', {
        title: 'First frost, and what it leaves',
        description: 'What to bring in, and what to leave.',
      }),
      change('en/moving-the-bees', { title: 'Moving the bees by night' }),
    ],
  });
  const definition = 'portico: workflow/1\nsteps:\n  - {id: note, type: output, value: "1"}\n';
  const { id } = await post('/workflows', { name: 'Publish what is merged', definition });
  const trigger = await post(`/workflows/${id}/triggers`, { type: 'webhook', auth_mode: 'hmac' });
  const { secret } = await post(`/workflows/${id}/triggers/${trigger.id}/reveal`, {});
  for (const event of ['ping', 'push', 'push']) {
    const body = JSON.stringify({ event });
    const headers = {
      'Content-Type': 'application/json',
      'X-GitHub-Event': event,
      'X-GitHub-Delivery': randomUUID(),
      'X-Hub-Signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    };
    await fetch(`${url}/webhooks/ai/workflows/${id}`, { method: 'POST', headers, body });
  }
  return { trigger: `/workflows/${id}/triggers/${trigger.id}` };
}

interface Picture {
  name: string;
  /** Below the project. */
  address: string;
  /** What is there when the page is complete. */
  complete: string;
  /** Buttons that are pressed first. */
  press?: (string | RegExp)[];
}

/** Nothing is being loaded any more. The stream of live data never ends, so the network is never idle. */
const isComplete = `!document.querySelector('[aria-busy=true]') && [...document.images].every(({ complete }) => complete)`;

await mkdir(images, { recursive: true });
const server = await startServer();
const executablePath = process.env.PORTICO_CHROMIUM_PATH ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0 });
try {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: 'en-GB',
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  await setUp(page, server.directory);
  const { trigger } = await furnish(server.url, server.directory);
  const pictures: Picture[] = [
    { name: 'content', address: '/content/posts', complete: 'main tbody tr' },
    { name: 'entry', address: '/content/posts/en/first-frost', complete: '.cm-content' },
    {
      name: 'publish',
      address: '/drafts?draft=spring',
      complete: '[role=dialog] tbody tr',
      press: ['Publish', /^First frost/],
    },
    { name: 'trigger', address: trigger, complete: 'main tbody tr' },
  ];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const { name, address, complete, press } of pictures) {
      await page.goto(`${server.url}${project}${address}`);
      for (const name of press ?? []) await page.getByRole('button', { name, exact: true }).click();
      await page.locator(complete).first().waitFor();
      await page.waitForFunction(isComplete);
      await page.screenshot({ path: path.join(images, `${name}-${colorScheme}.png`) });
    }
  }
} finally {
  await browser.close();
  await server.stop();
}
