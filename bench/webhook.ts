import { fork } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { readPostgresRecord } from '../src/db/postgres.ts';
import { type Benchmark, type Case, check } from './benchmark.ts';
import { type LoadResult, load } from './support/load.ts';
import { startServer } from './support/server.ts';
import { median } from './support/statistics.ts';

const connections = 32;
const kibibyte = 1024;
const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: "1"}\n';

const signed = (secret: string, body: string | Buffer) => ({
  'content-type': 'application/json',
  'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
});
const jsonOf = (bytes: number) =>
  JSON.stringify({
    text: randomBytes(bytes)
      .toString('hex')
      .slice(0, bytes - 11),
  });

/** The bare handler in a process of its own. @returns its address and how to end it. */
async function startHandler(databaseUrl: string, secret: string): Promise<{ url: string; stop(): void }> {
  const child = fork(path.join(import.meta.dirname, 'support/webhook-handler.js'), [databaseUrl, secret], {
    execArgv: [],
  });
  const failed = once(child, 'exit').then(([code]) => Promise.reject(new Error(`The handler ended with ${code}`)));
  const [port] = (await Promise.race([once(child, 'message'), failed])) as [number];
  failed.catch(() => {});
  return { url: `http://127.0.0.1:${port}/hook`, stop: () => void child.kill() };
}

/** A workflow with a signed webhook. @returns its address and secret */
async function makeWebhook(url: string, token: string): Promise<{ door: string; secret: string }> {
  const base = `${url}/api/v2/organizations/demo/projects/site/workflows`;
  const ask = async (at: string, body: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${base}${at}`, { method: 'POST', headers, body: JSON.stringify(body) });
    check(response.ok, `${at} answers ${response.status}`);
    return (await response.json()) as { id: string; secret: string };
  };
  const { id } = await ask('', { name: 'Hooked', definition });
  const trigger = await ask(`/${id}/triggers`, { type: 'webhook', auth_mode: 'hmac' });
  const { secret } = await ask(`/${id}/triggers/${trigger.id}/reveal`, {});
  return { door: `${url}/webhooks/ai/workflows/${id}`, secret };
}

/** Signed calls against the same by hand; the two take turns, so that what else the machine does hits both. */
export const webhook: Benchmark = {
  name: 'webhook',
  summary: 'Signed webhook calls accepted a second, beside a bare Express handler that checks and inserts a row.',
  async run({ defer, directory, say, scaled }) {
    const pairs = scaled(5);
    const seconds = scaled(3);
    const dataDir = path.join(await directory(), 'data');
    await mkdir(dataDir, { mode: 0o700 });
    const environment = { PORTICO_ROLES: 'web', PORTICO_WORKFLOW_BACKLOG: '10000000' };
    const server = await startServer({ dataDir, environment });
    defer(server.stop);
    const { token } = JSON.parse(await readFile(path.join(dataDir, 'first-run.json'), 'utf8')) as { token: string };
    const { door, secret } = await makeWebhook(server.url, token);
    const record = await readPostgresRecord(dataDir);
    if (!record) throw new Error('The server runs no database of its own');
    const handler = await startHandler(record.url, secret);
    defer(handler.stop);

    const measure = (url: string, body: string, duration = seconds, count = connections) =>
      load({ url, connections: count, duration, method: 'POST', headers: signed(secret, body), body });
    const cases: Case[] = [];
    const notes: string[] = [];
    for (const size of [1, 8]) {
      const body = jsonOf(size * kibibyte);
      for (const url of [door, handler.url]) await measure(url, body, 2);
      const found: { portico: LoadResult[]; handler: LoadResult[] } = { portico: [], handler: [] };
      for (let pair = 0; pair < pairs; pair += 1) {
        found.portico.push(await measure(door, body));
        found.handler.push(await measure(handler.url, body));
        say(`${size} KiB: pair ${pair + 1} of ${pairs}`);
      }
      const ratios = found.portico.map(({ perSecond }, at) => (100 * perSecond) / (found.handler[at]?.perSecond ?? 1));
      const row = (name: string, unit: string, of: (result: LoadResult) => number): Case => ({
        ...{ name: `${size} KiB: ${name}`, unit, value: median(found.portico.map(of)), runs: pairs },
        peers: [{ name: 'bare Express and pg', value: median(found.handler.map(of)) }],
      });
      const share = { name: `${size} KiB: share of the handler, median of pairs`, unit: '%', runs: pairs };
      cases.push({ ...share, value: median(ratios), atLeast: 60 });
      cases.push({
        ...row('accepted', 'calls/s', ({ perSecond }) => perSecond),
        ...(size === 8 && { atLeast: 2_000 }),
      });
      cases.push(row('p50', 'ms', ({ p50 }) => p50));
      cases.push({ ...row('p99', 'ms', ({ p99 }) => p99), ...(size === 8 && { atMost: 40 }) });
      notes.push(`${size} KiB, ratios of the pairs: ${ratios.map((ratio) => `${Math.round(ratio)} %`).join(', ')}.`);
    }

    const large = Buffer.alloc(25 * kibibyte * kibibyte - 2, 'a');
    const before = await server.memory();
    const small = measure(door, jsonOf(kibibyte), 2 * seconds, 1);
    let sent = 0;
    let over = false;
    void small.finally(() => {
      over = true;
    });
    while (!over) {
      const { status } = await fetch(door, { method: 'POST', headers: signed(secret, large), body: large });
      check(status === 202, `A large delivery is answered ${status}`);
      sent += 1;
    }
    const beside = await small;
    cases.push({ name: 'slowest small call beside 25 MiB deliveries', unit: 'ms', value: beside.max, atMost: 50 });
    cases.push({ name: 'p99 of small calls beside 25 MiB deliveries', unit: 'ms', value: beside.p99 });
    cases.push({ name: 'memory added by them', unit: 'MiB', value: (await server.memory()) - before, atMost: 60 });
    return {
      cases,
      notes: [
        `${pairs} pairs of ${seconds} s each, taking turns, ${connections} connections, from a third process; both use the same database.`,
        ...notes,
        `${sent} deliveries of 25 MiB, one after another, beside one connection of small ones.`,
        'Portico keeps delivery, execution, its first event and its job; the handler one row. Nothing is executed meanwhile.',
      ],
    };
  },
};
