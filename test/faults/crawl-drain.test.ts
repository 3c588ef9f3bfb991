import { expect, it, vi } from 'vitest';
import { ask, pagesOf, repeats, startRun, untilEnded } from '../support/crawlers/crawl-process.ts';
import { demoDataDir, startServer } from '../support/server-process.ts';
import { slowSites } from '../support/sites/slow-sites.ts';
import { treeSite } from '../support/sites/tree.ts';

const tree = treeSite();
const serve = slowSites();
const settings = { PORTICO_TRUSTED_DOMAINS: 'localhost' };

it('SIGTERM ends what is under way and hands the run back: the next start goes on, and asks for nothing twice', async () => {
  const { dataDir, token } = await demoDataDir();
  let server = await startServer(dataDir, settings);
  const run = await startRun(server, token, await serve(tree.site, 60));
  for (let turn = 1; turn <= 2; turn += 1) {
    const requested = run.site.paths().length;
    await vi.waitFor(() => expect(run.site.paths().length).toBeGreaterThan(requested + 20), { timeout: 60_000 });
    const { code } = await server.stop('SIGTERM');
    expect(code).toBe(0);
    server = await startServer(dataDir, settings);
    const found = await ask(server, token, 'GET', run.path);
    expect(found).toMatchObject({ last_status: 'running', completed_at: null });
  }
  expect(await untilEnded(server, token, run)).toMatchObject({
    last_status: 'completed',
    finish_reason: 'done',
    counts: { html: 781, assets: 784, requests: 1565, new: 1565, errors: 0, retries: 0, pending: 0, leased: 0 },
  });
  expect(repeats(run.site)).toBe(0);
  expect((await pagesOf(server, token, run)).filter(({ state }) => state === 'done')).toHaveLength(1565);
  await server.stop();
});
