import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readPostgresRecord } from '../../src/db/postgres.ts';
import { demoDataDir, kill, type ServerProcess, startServer } from '../support/server-process.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

const crawlers = '/api/v2/organizations/demo/projects/site/crawlers';
let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

const asker =
  (token: string) =>
  async (server: ServerProcess, method: string, at: string, body: object = {}) => {
    const response = await fetch(`${server.url}${at}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(method !== 'GET' && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${at}: ${response.status} ${text}`);
    return JSON.parse(text);
  };

async function until(fits: () => boolean | Promise<boolean>, what: string, seconds = 80): Promise<void> {
  for (const end = Date.now() + seconds * 1000; !(await fits()); await setTimeout(100))
    if (Date.now() > end) throw new Error(`Not in ${seconds} s: ${what}`);
}

const settings = { PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' };

/** A crawler that notifies the receiver. */
async function crawlerOf(ask: ReturnType<typeof asker>, server: ServerProcess) {
  const { uuid } = await ask(server, 'POST', crawlers, { domain: 'example.com', webhook_url: receiver.url });
  const at = `${crawlers}/${uuid}/webhook`;
  const { secret } = await ask(server, 'POST', `${at}/secret/reveal`);
  return { at, secret: secret as string };
}

it('kill -9 between commit and send: it is delivered by the next process', async () => {
  const { dataDir, token } = await demoDataDir();
  const ask = asker(token);
  // A process that commits and never sends.
  const first = await startServer(dataDir, { ...settings, PORTICO_ROLES: 'web' });
  const { at, secret } = await crawlerOf(ask, first);
  const { id, event_id } = await ask(first, 'POST', `${at}/test`);
  await kill(first.child);
  expect(receiver.received).toEqual([]);
  const second = await startServer(dataDir, settings);
  await until(() => receiver.received.length > 0, 'the receiver is notified');
  const [request] = receiver.received;
  expect(new Webhook(secret).verify(request?.text ?? '', request?.headers as Record<string, string>)).toMatchObject({
    id: event_id,
  });
  await until(async () => (await ask(second, 'GET', `${at}/deliveries/${id}`)).status === 'delivered', 'delivered');
  expect(receiver.received).toHaveLength(1);
});

it('kill -9 while the receiver thinks: it is sent once more, under the same id', async () => {
  const { dataDir, token } = await demoDataDir();
  const ask = asker(token);
  const first = await startServer(dataDir, settings);
  const { at } = await crawlerOf(ask, first);
  receiver.answer = () => {};
  const { id } = await ask(first, 'POST', `${at}/test`);
  await until(() => receiver.received.length === 1, 'the receiver is notified');
  await kill(first.child);
  receiver.answer = (response) => void response.writeHead(204).end();
  const second = await startServer(dataDir, settings);
  await until(() => receiver.received.length === 2, 'the receiver is notified again');
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  await until(async () => (await ask(second, 'GET', `${at}/deliveries/${id}`)).status === 'delivered', 'delivered');
});

it('a receiver that never answers holds up its own crawler alone', async () => {
  const { dataDir, token } = await demoDataDir();
  const ask = asker(token);
  const server = await startServer(dataDir, settings);
  const { at } = await crawlerOf(ask, server);
  let open = 0;
  let most = 0;
  receiver.answer = (response) => {
    open += 1;
    most = Math.max(most, open);
    response.on('close', () => {
      open -= 1;
    });
  };
  for (let count = 0; count < 9; count += 1) await ask(server, 'POST', `${at}/test`);
  await until(() => receiver.received.length > 0, 'the receiver is notified');
  const mute = receiver;
  receiver = await startReceiver();
  const other = await crawlerOf(ask, server);
  await ask(server, 'POST', `${other.at}/test`);
  await until(() => receiver.received.length > 0, 'the other receiver is notified');
  await mute.close();
  expect(most).toBeLessThanOrEqual(2);
});

it('fires a schedule whose time came while no server ran, once', async () => {
  const { dataDir, token } = await demoDataDir();
  const ask = asker(token);
  const first = await startServer(dataDir, { ...settings, PORTICO_ROLES: 'web' });
  const { uuid } = await ask(first, 'POST', crawlers, { domain: 'example.com' });
  const at = `${crawlers}/${uuid}/schedules`;
  const { id, next_runs } = await ask(first, 'POST', at, { schedule_cron_string: '* * * * *' });
  await kill(first.child);
  // As if a minute had passed, in the database that the killed server has left behind.
  const client = new pg.Client({ connectionString: (await readPostgresRecord(dataDir))?.url });
  await client.connect();
  await client.query("update crawler_schedule set next_fire_at = next_fire_at - interval '1 minute'");
  await client.end();
  const second = await startServer(dataDir, settings);
  const fires = () => ask(second, 'GET', `${at}/${id}/fires`);
  await until(async () => (await fires()).length > 0, 'it has fired');
  const [fire] = (await fires()).toReversed();
  expect(fire.outcome).toBe('started');
  // Nothing before it was lost: on a slow machine more than one time may have come.
  expect(Date.parse(fire.fire_at) - fire.missed * 60_000).toBe(Date.parse(next_runs[0]) - 60_000);
  expect(await ask(second, 'GET', `${at}/${id}`)).toMatchObject({ crawler_last_run_id: fire.run_id });
});
