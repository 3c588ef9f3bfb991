import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import {
  ask,
  type ProcessRun,
  pagesOf,
  type RunPage,
  repeats,
  sha256,
  startRun,
  steadyCounts,
  untilEnded,
} from '../support/crawlers/crawl-process.ts';
import { rounds } from '../support/rounds.ts';
import {
  demoDataDir,
  endPid,
  kill,
  postmasterPid,
  type ServerProcess,
  startServer,
} from '../support/server-process.ts';
import { faultsSite, hopsSite } from '../support/sites/golden.ts';
import { slowSites } from '../support/sites/slow-sites.ts';
import { treeSite } from '../support/sites/tree.ts';

const serve = slowSites();
const settings = { PORTICO_TRUSTED_DOMAINS: 'localhost' };
const kills = rounds(3, 20);
/** There has to be something left to cut off. */
const slower = Math.ceil(kills / 3);
/** Leased, and of the last batch that was not written: as many may be requested again after a kill. */
const mostRepeated = 100 + 2 * 8;
const tree = treeSite();

/** What a run came to in the end. */
interface Outcome {
  status: string;
  counts: Record<string, unknown>;
  pages: RunPage[];
}

async function outcomeOf(server: ServerProcess, token: string, run: ProcessRun): Promise<Outcome> {
  const { last_status, counts } = await untilEnded(server, token, run, 90 * slower);
  return { status: last_status, counts: steadyCounts(counts), pages: await pagesOf(server, token, run) };
}

it('kill -9 at random moments: every run ends with what an undisturbed one has, and asks again only for what was leased', async () => {
  const { dataDir, token } = await demoDataDir();
  let server = await startServer(dataDir, settings);
  const shapes = { tree: tree.site, hops: hopsSite, faults: faultsSite };
  const undisturbed = new Map<string, Outcome>();
  const calm = await Promise.all(
    Object.entries(shapes).map(async ([name, shape]) => {
      const run = await startRun(server, token, await serve(shape, 0));
      return [name, await outcomeOf(server, token, run)] as const;
    }),
  );
  for (const [name, outcome] of calm) undisturbed.set(name, outcome);
  expect(undisturbed.get('tree')?.counts).toMatchObject({ html: 781, assets: 784 });
  expect(undisturbed.get('hops')?.counts).toMatchObject({ html: 101, redirects: 200 });
  expect(undisturbed.get('faults')?.counts).toMatchObject({ html: 201, errors: 100 });

  const runs = new Map<string, ProcessRun>();
  for (const [name, shape] of Object.entries(shapes))
    runs.set(name, await startRun(server, token, await serve(shape, (name === 'tree' ? 40 : 120) * slower)));
  const limited = await startRun(server, token, await serve(tree.site, 60 * slower), { max_hits: 400 });
  for (let turn = 0; turn < kills; turn += 1) {
    await sleep(300 + Math.random() * 1_500);
    expect(await ask(server, token, 'GET', runs.get('tree')?.path ?? '')).toMatchObject({ completed_at: null });
    await kill(server.child);
    server = await startServer(dataDir, settings);
  }

  for (const [name, run] of runs) {
    const disturbed = await outcomeOf(server, token, run);
    expect(disturbed, name).toEqual(undisturbed.get(name));
  }
  for (const page of (await pagesOf(server, token, runs.get('tree') ?? limited)).slice(0, 50))
    expect(page.sha256).toBe(sha256(tree.bodies.get(page.url) ?? ''));
  for (const name of ['tree', 'hops']) {
    const site = runs.get(name)?.site;
    expect(site && repeats(site), name).toBeLessThanOrEqual(kills * mostRepeated);
  }
  expect(await untilEnded(server, token, limited, 90 * slower)).toMatchObject({
    last_status: 'completed',
    finish_reason: 'max_hits',
  });
  expect(limited.site.paths().length).toBeLessThanOrEqual(400);
  await server.stop();
});

it('goes on when its database is started again in the middle, and repeats no result', async () => {
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir, settings);
  const run = await startRun(server, token, await serve(tree.site, 40));
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    await sleep(500 + Math.random() * 1_000);
    await endPid((await postmasterPid(dataDir)) ?? 0, signal);
    await vi.waitFor(async () => expect((await fetch(`${server.url}/readyz`)).status).toBe(200), { timeout: 60_000 });
  }
  const { status, counts, pages } = await outcomeOf(server, token, run);
  expect(status).toBe('completed');
  expect(counts).toMatchObject({ html: 781, assets: 784, captured: 1565, new: 1565, errors: 0, pending: 0, leased: 0 });
  expect(pages.map(({ url }) => url)).toEqual([...tree.bodies.keys()].sort());
  expect(repeats(run.site)).toBeLessThanOrEqual(2 * mostRepeated);
  expect(await ask(server, token, 'GET', run.path)).toMatchObject({ finish_reason: 'done' });
  await server.stop();
});
