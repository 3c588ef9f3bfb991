import pg from 'pg';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readPostgresRecord } from '../../src/db/postgres.ts';
import { ask, type ProcessRun, repeats, sha256, startRun, untilEnded } from '../support/crawlers/crawl-process.ts';
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
/** Holds locks in the server's database. */
let holder: pg.Client | undefined;
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
  await holder?.end().catch(() => {});
  holder = undefined;
  await Promise.all([receiver.close(), site.close()]);
});

async function openHolder(dataDir: string): Promise<pg.Client> {
  holder = new pg.Client({ connectionString: (await readPostgresRecord(dataDir))?.url });
  await holder.connect();
  return holder;
}

/** Has the commit of what ends a run wait for a lock of the holder. */
const holdCommits = `
  create function hold_commit() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock_shared(4711); return null; end';
  create constraint trigger hold_commit after update of status on crawler_run deferrable initially deferred
    for each row when (new.status = 'completed') execute function hold_commit();
  select pg_advisory_lock(4711)`;
const letCommitsGo = 'select pg_advisory_unlock_all(); drop function hold_commit cascade';

/** Where the end of a run is held up while its process is killed: each has done more than the one before. */
const moments = [
  {
    where: 'before its snapshot is sealed',
    hold: 'begin; select id from snapshot for no key update',
    waiting: 'update "snapshot"',
    release: 'commit',
    epoch: 2,
  },
  {
    where: 'when its snapshot is sealed and published',
    hold: 'begin; lock table notification in share mode',
    waiting: 'insert into "notification"',
    release: 'commit',
    epoch: 2,
  },
  {
    where: 'in its commit, which fails',
    hold: holdCommits,
    waiting: 'commit',
    release: `select pg_terminate_backend(pid, 60000) from pg_stat_activity where query = 'commit' and wait_event = 'advisory';
      ${letCommitsGo}`,
    epoch: 2,
  },
  { where: 'in its commit, which succeeds', hold: holdCommits, waiting: 'commit', release: letCommitsGo, epoch: 1 },
];

/** Waits until a statement that begins like this waits for what the holder has. */
const untilHeldUp = (db: pg.Client, beginning: string): Promise<void> =>
  vi.waitFor(
    async () => {
      // Of activity a transaction otherwise goes on to see what it saw first.
      await db.query('select pg_stat_clear_snapshot()');
      const { rows } = await db.query(
        'select pid from pg_stat_activity where pg_backend_pid() = any (pg_blocking_pids(pid)) and query ilike $1',
        [`${beginning}%`],
      );
      expect(rows).toHaveLength(1);
    },
    { timeout: 60_000 },
  );

/** What is to be found once a run has ended, whoever ended it. */
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
  const crawler = run.path.replace(/\/runs\/.*/, '');
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
  const deliveries = `${crawler}/webhook/deliveries`;
  await vi.waitFor(
    async () => {
      const told: { type: string; status: string }[] = await ask(server, token, 'GET', deliveries);
      expect(told.map(({ type, status }) => `${type} ${status}`).sort()).toEqual([
        'crawler.run.completed delivered',
        'crawler.run.started delivered',
        'crawler.snapshot.published delivered',
      ]);
    },
    { timeout: 60_000 },
  );
}

it.each(moments)(
  'kill -9 in the transaction that ends a run, $where: it ends once, and asks for nothing again',
  async (moment) => {
    const { dataDir, token } = await demoDataDir();
    const first = await startServer(dataDir, settings);
    const run = await startRun(first, token, site, { depth: 1, webhook_url: receiver.url });
    await vi.waitFor(() => expect(site.paths()).toEqual(['/']), { timeout: 60_000 });
    const db = await openHolder(dataDir);
    await db.query(moment.hold);
    open();
    await untilHeldUp(db, moment.waiting);
    await kill(first.child);
    const asked = site.log.length;
    const heard = () => receiver.heard.filter(({ text }) => JSON.parse(text).type === 'crawler.run.completed');
    expect(heard()).toEqual([]);
    await db.query(moment.release);
    const second = await startServer(dataDir, settings);
    await expectEndedOnce(second, token, run);
    expect(site.log).toHaveLength(asked);
    expect(repeats(site)).toBe(0);
    expect(heard()).toHaveLength(1);
    expect((await db.query('select epoch from crawler_run')).rows).toEqual([{ epoch: moment.epoch }]);
  },
);
