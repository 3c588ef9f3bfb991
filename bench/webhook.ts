import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { readPostgresRecord } from '../src/db/postgres.ts';
import type { Benchmark, Case } from './benchmark.ts';
import { jsonOf, signed, startHooked } from './support/hooked.ts';
import { type LoadResult, load } from './support/load.ts';
import { median } from './support/statistics.ts';

const connections = 32;
const kibibyte = 1024;
const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: "1"}\n';

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

/** Signed calls against the same by hand; the two take turns, so that what else the machine does hits both. */
export const webhook: Benchmark = {
  name: 'webhook',
  summary: 'Signed webhook calls accepted a second, beside a bare Express handler that checks and inserts a row.',
  async run(bench) {
    const { defer, say, scaled } = bench;
    const pairs = scaled(5);
    const seconds = scaled(3);
    const { endpoint, secret, dataDir } = await startHooked(bench, {
      environment: { PORTICO_ROLES: 'web' },
      definition,
    });
    const record = await readPostgresRecord(dataDir);
    if (!record) throw new Error('The server runs no database of its own');
    const handler = await startHandler(record.url, secret);
    defer(handler.stop);

    const measure = (url: string, body: string, duration = seconds) =>
      load({ url, connections, duration, method: 'POST', headers: signed(secret, body), body });
    const cases: Case[] = [];
    const notes: string[] = [];
    for (const size of [1, 8]) {
      const body = jsonOf(size * kibibyte);
      for (const url of [endpoint, handler.url]) await measure(url, body, 2);
      const found: { portico: LoadResult[]; handler: LoadResult[] } = { portico: [], handler: [] };
      for (let pair = 0; pair < pairs; pair += 1) {
        found.portico.push(await measure(endpoint, body));
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
    return {
      cases,
      notes: [
        `${pairs} pairs of ${seconds} s each, taking turns, ${connections} connections, from a third process; both use the same database.`,
        ...notes,
        'Portico keeps delivery, execution, its first event and its job; the handler one row. Nothing is executed meanwhile.',
      ],
    };
  },
};
