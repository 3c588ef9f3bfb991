import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect, it, vi } from 'vitest';
import { pagesOf, repeats, startRun, untilEnded } from '../support/crawlers/crawl-process.ts';
import { rounds } from '../support/rounds.ts';
import { kill, startServer } from '../support/server-process.ts';
import { slowSites } from '../support/sites/slow-sites.ts';
import { treeSite } from '../support/sites/tree.ts';
import { twoServers } from '../support/two-servers.ts';

const tree = treeSite();
const serve = slowSites();
const settings = { PORTICO_TRUSTED_DOMAINS: 'localhost' };
const mostRepeated = 100 + 2 * 8;
/** How often a server is killed and started again. */
const takeovers = rounds(2, 20);

/** Rows of a database of the test. */
async function rowsOf(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return (await client.query(statement).finally(() => client.end())).rows;
}

/** Everything the database holds of runs. */
const everything = (url: string) =>
  rowsOf(
    url,
    `select (select json_agg(r order by r.id) from (select id, status, epoch, counts, finish_reason from crawler_run) r)::text as runs,
      (select json_agg(u order by u.id) from crawl_url u)::text as urls,
      (select count(*) from crawl_link)::integer as links, (select count(*) from snapshot_entry)::integer as entries`,
  );

it('two servers on one database, one killed and started again: each run is captured whole', async () => {
  const { url, one, other, owner } = await twoServers(settings);
  const token = owner.text;
  const runs = await Promise.all(
    Array.from({ length: rounds(6, 20) }, async () =>
      startRun(one, token, await serve(tree.site, 30 * takeovers), { depth: 3 }),
    ),
  );
  let first = one;
  for (let takeover = 0; takeover < takeovers; takeover += 1) {
    await sleep(500 + Math.random() * 1_500);
    await kill(first.child);
    first = await startServer(one.dataDir, { ...settings, DATABASE_URL: url });
  }
  for (const run of runs) {
    const { last_status, counts } = await untilEnded(other, token, run, 45 * takeovers);
    expect(last_status).toBe('completed');
    expect(counts).toMatchObject({ html: 156, assets: 159, new: 315, errors: 0, pending: 0, leased: 0 });
    expect(repeats(run.site)).toBeLessThanOrEqual(takeovers * mostRepeated);
    const pages = (await pagesOf(other, token, run)).filter(({ state }) => state === 'done');
    expect(new Set(pages.map(({ url: at }) => at)).size).toBe(315);
  }
  await kill(first.child);
});

it('two servers share the runs, and each address is requested once', async () => {
  const { one, other, owner } = await twoServers(settings);
  const token = owner.text;
  const runs = await Promise.all(
    Array.from({ length: 8 }, async (_, at) =>
      startRun(at % 2 === 0 ? one : other, token, await serve(tree.site, 10), { depth: 2 }),
    ),
  );
  for (const run of runs) {
    expect(await untilEnded(one, token, run)).toMatchObject({
      last_status: 'completed',
      counts: { html: 31, requests: 65 },
    });
    expect(repeats(run.site)).toBe(0);
  }
});

it('an owner that slept and wakes after its run was taken over writes nothing', async () => {
  const { url, one, other, owner } = await twoServers(settings);
  const token = owner.text;
  const run = await startRun(one, token, await serve(tree.site, 150), { depth: 3 });
  const epochs = async () => (await rowsOf(url, 'select epoch, status from crawler_run'))[0];
  await vi.waitFor(async () => expect(await epochs()).toMatchObject({ status: 'running' }), { timeout: 60_000 });
  const before = (await epochs())?.epoch as number;
  one.child.kill('SIGSTOP');
  const requested = run.site.log.length;
  // Whichever has taken the run sleeps: it goes on without this one, or is taken over. An idle one is woken again.
  const goesOn = () => run.site.log.length > requested + 3 * 8;
  const isTakenOver = async () => ((await epochs())?.epoch as number) > before;
  await vi.waitUntil(async () => (await isTakenOver()) || goesOn(), { timeout: 60_000 });
  const isOwner = await isTakenOver();
  const [sleeper, awake] = isOwner ? [one, other] : [other, one];
  if (!isOwner) {
    one.child.kill('SIGCONT');
    other.child.kill('SIGSTOP');
  }
  try {
    const ended = await untilEnded(awake, token, run);
    expect(ended).toMatchObject({
      last_status: 'completed',
      counts: { html: 156, assets: 159, pending: 0, leased: 0 },
    });
    expect((await epochs())?.epoch).toBeGreaterThan(before);
    expect(run.site.log.length).toBeGreaterThan(requested);
    const settled = await everything(url);
    sleeper.child.kill('SIGCONT');
    await vi.waitFor(async () => expect((await fetch(`${sleeper.url}/readyz`)).status).toBe(200), { timeout: 60_000 });
    await sleep(3_000);
    expect(await everything(url)).toEqual(settled);
    expect(repeats(run.site)).toBeLessThanOrEqual(mostRepeated);
  } finally {
    sleeper.child.kill('SIGCONT');
  }
});
