import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startRun, untilEnded } from '../support/crawlers/crawl-process.ts';
import { demoDataDir, kill, startServer } from '../support/server-process.ts';
import { page, type SiteServer, serveSite } from '../support/sites/site-server.ts';

let directory: string;
let site: SiteServer;
/** Lets the site answer what its page asks for. */
let open = () => {};
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'browsers-'));
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  site = await serveSite(({ path: at }, response) => {
    if (at === '/') return page('Start', '<script src=/late.js></script>');
    if (at !== '/late.js') return undefined;
    void opened.then(() => response.writeHead(200, { 'Content-Type': 'text/javascript' }).end('0'));
    return null;
  });
});
afterEach(async () => {
  open();
  await site.close();
  await rm(directory, { recursive: true, force: true });
});

it('a server that was killed leaves no profile of its browser behind once another has started, nor one that is stopped', async () => {
  const { dataDir, token } = await demoDataDir();
  const settings = {
    TMPDIR: directory,
    PORTICO_TRUSTED_DOMAINS: 'localhost',
    // Chromium refuses to run as root with its sandbox.
    ...(process.getuid?.() === 0 && { PORTICO_CHROMIUM_NO_SANDBOX: '1' }),
  };
  const left = async () => (await readdir(directory)).filter((name) => /browser|playwright/.test(name));
  const first = await startServer(dataDir, settings);
  const run = await startRun(first, token, site, { browser_mode: true });
  await vi.waitFor(() => expect(site.paths()).toContain('/late.js'), { timeout: 60_000 });
  const before = await left();
  expect(before).not.toEqual([]);
  await kill(first.child);

  open();
  const second = await startServer(dataDir, settings);
  await vi.waitFor(async () => expect((await left()).filter((name) => before.includes(name))).toEqual([]), {
    timeout: 60_000,
  });
  expect(await untilEnded(second, token, run)).toMatchObject({ last_status: 'completed', counts: { html: 1 } });
  expect(await left()).not.toEqual([]);
  await second.stop();
  expect(await left()).toEqual([]);
});
