import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ask, type ProcessRun, repeats, sha256, startRun, untilEnded } from '../support/crawlers/crawl-process.ts';
import { endingMoments, openHolder, untilHeldUp } from '../support/crawlers/ending-moments.ts';
import { demoDataDir, kill, type ServerProcess, startServer } from '../support/server-process.ts';
import { type SiteServer, serveSite } from '../support/sites/site-server.ts';
import { treeSite } from '../support/sites/tree.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

const settings = { PORTICO_TRUSTED_DOMAINS: 'localhost', PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' };
const tree = treeSite();
/** Pages of the site down to the first level, and what these need. */
const shape = { pages: 6, assets: 9 };

let receiver: Receiver;
let site: SiteServer;
/** Lets the site answer for its start page, before which no run comes to its end. */
let open = () => {};
beforeEach(async () => {
  receiver = await startReceiver();
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  site = await serveSite((request, response) => {
    const answer = tree.site(request, response);
    if (request.path !== '/') return answer;
    void opened.then(() => response.writeHead(200, answer?.headers).end(answer?.body));
    return null;
  });
});
afterEach(async () => {
  await Promise.all([receiver.close(), site.close()]);
});

const crawlerOf = (run: ProcessRun) => run.path.replace(/\/runs\/.*/, '');

/** Waits until the webhook of a run's crawler has received these events, each once, and no other. */
const untilDelivered = (server: ServerProcess, token: string, run: ProcessRun, events: string[]): Promise<void> =>
  vi.waitFor(
    async () => {
      const at = `${crawlerOf(run)}/webhook/deliveries`;
      const deliveries: { type: string; status: string }[] = await ask(server, token, 'GET', at);
      const expected = events.map((event) => `crawler.${event} delivered`);
      expect(deliveries.map(({ type, status }) => `${type} ${status}`).sort()).toEqual(expected);
    },
    { timeout: 60_000 },
  );

/** What is to be found once a run has ended, whichever process ended it. */
async function expectEndedOnce(server: ServerProcess, token: string, run: ProcessRun) {
  const ended = await untilEnded(server, token, run);
  const contents = shape.pages + shape.assets;
  expect(ended).toMatchObject({
    last_status: 'completed',
    finish_reason: 'done',
    counts: {
      html: shape.pages,
      assets: shape.assets,
      requests: contents,
      new: contents,
      retries: 0,
      pending: 0,
      leased: 0,
    },
  });
  const crawler = crawlerOf(run);
  const snapshots = await ask(server, token, 'GET', `${crawler}/snapshots`);
  const sealed = { id: ended.snapshot_id, run_id: ended.id, state: 'ready', published: true, pages: shape.pages };
  expect(snapshots).toEqual([expect.objectContaining(sealed)]);
  expect(await ask(server, token, 'GET', crawler)).toMatchObject({ published_snapshot_id: ended.snapshot_id });
  const at = `${crawler}/snapshots/${ended.snapshot_id}/entries?per_page=100`;
  const entries: { url: string; sha256: string }[] = await ask(server, token, 'GET', at);
  expect(entries).toHaveLength(contents);
  for (const { url, sha256: found } of entries)
    expect(found, url).toBe(sha256(tree.bodies.get(url.replace(site.origin, '')) ?? ''));

  const log: { event: string }[] = await ask(server, token, 'GET', `${run.path}/log?per_page=100`);
  expect(log.filter(({ event }) => event === 'run.completed')).toHaveLength(1);
  await untilDelivered(server, token, run, ['run.completed', 'run.started', 'snapshot.published']);
}

it.each(endingMoments)(
  'kill -9 in the transaction that ends a run, $where: it ends once, and asks for nothing again',
  async (moment) => {
    const { dataDir, token } = await demoDataDir();
    const first = await startServer(dataDir, settings);
    const run = await startRun(first, token, site, { depth: 1, webhook_url: receiver.url });
    await vi.waitFor(() => expect(site.paths()).toEqual(['/']), { timeout: 60_000 });
    await untilDelivered(first, token, run, ['run.started']);
    const db = await openHolder(dataDir);
    await db.query(moment.hold);
    open();
    await untilHeldUp(db, moment.waiting);
    await kill(first.child);
    const requested = site.log.length;
    const completions = () => receiver.received.filter(({ text }) => JSON.parse(text).type === 'crawler.run.completed');
    expect(completions()).toEqual([]);
    await db.query(moment.release);
    const second = await startServer(dataDir, settings);
    await expectEndedOnce(second, token, run);
    expect(site.log).toHaveLength(requested);
    expect(repeats(site)).toBe(0);
    expect(completions()).toHaveLength(1);
    expect((await db.query('select epoch from crawler_run')).rows).toEqual([{ epoch: moment.epoch }]);
  },
);
