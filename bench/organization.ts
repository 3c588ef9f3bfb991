import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { readPostgresRecord } from '../src/db/postgres.ts';
import { type Benchmark, type Case, check } from './benchmark.ts';
import { type LoadResult, load } from './support/load.ts';
import { startServer } from './support/server.ts';
import { median } from './support/statistics.ts';

const connections = 16;

/** The bare handler in a process of its own. @returns its address and how to end it. */
async function startHandler(databaseUrl: string): Promise<{ url: string; stop(): void }> {
  const child = fork(path.join(import.meta.dirname, 'support/organization-handler.js'), [databaseUrl], {
    execArgv: [],
  });
  const failed = once(child, 'exit').then(([code]) => Promise.reject(new Error(`The handler ended with ${code}`)));
  const [port] = (await Promise.race([once(child, 'message'), failed])) as [number];
  failed.catch(() => {});
  return { url: `http://127.0.0.1:${port}`, stop: () => void child.kill() };
}

/** The documented GET of an organisation against the same by hand; the two take turns, so that what else the machine does hits both. */
export const organization: Benchmark = {
  name: 'organization',
  summary: 'Requests per second of a token-checked GET of an organisation, beside a bare Express handler with pg.',
  async run({ defer, directory, say, scaled }) {
    const pairs = scaled(6);
    const seconds = scaled(3);
    const dataDir = path.join(await directory(), 'data');
    await mkdir(dataDir, { mode: 0o700 });
    const server = await startServer({ dataDir });
    defer(server.stop);
    const { token } = JSON.parse(await readFile(path.join(dataDir, 'first-run.json'), 'utf8')) as { token: string };
    const record = await readPostgresRecord(dataDir);
    if (!record) throw new Error('The server runs no database of its own');
    const handler = await startHandler(record.url);
    defer(handler.stop);

    const headers = { authorization: `Bearer ${token}` };
    const sides = { portico: server.url, handler: handler.url };
    const answers = await Promise.all(
      Object.values(sides).map(async (url) => (await fetch(`${url}/api/v2/organizations/demo`, { headers })).json()),
    );
    check(JSON.stringify(answers[0]) === JSON.stringify(answers[1]), 'The two sides answer differently');
    const measure = (url: string, duration: number) =>
      load({ url: `${url}/api/v2/organizations/demo`, connections, duration, headers });
    for (const url of Object.values(sides)) await measure(url, 2);
    const found: { portico: LoadResult[]; handler: LoadResult[] } = { portico: [], handler: [] };
    for (let pair = 0; pair < pairs; pair += 1) {
      found.portico.push(await measure(sides.portico, seconds));
      found.handler.push(await measure(sides.handler, seconds));
      say(`pair ${pair + 1} of ${pairs}`);
    }
    const ratios = found.portico.map(({ perSecond }, at) => (100 * perSecond) / (found.handler[at]?.perSecond ?? 1));
    const row = (name: string, unit: string, of: (result: LoadResult) => number): Case => ({
      ...{ name, unit, value: median(found.portico.map(of)), runs: pairs },
      peers: [{ name: 'bare Express and pg', value: median(found.handler.map(of)) }],
    });
    return {
      cases: [
        { name: 'share of the handler, median of pairs', unit: '%', value: median(ratios), runs: pairs, atLeast: 100 },
        row('GET of an organisation', 'requests/s', ({ perSecond }) => perSecond),
        row('p50', 'ms', ({ p50 }) => p50),
        row('p99', 'ms', ({ p99 }) => p99),
      ],
      notes: [
        `${pairs} pairs of ${seconds} s each, taking turns, ${connections} connections, from a third process; both use the same database.`,
        `Ratios of the pairs: ${ratios.map((ratio) => `${Math.round(ratio)} %`).join(', ')}.`,
        'Portico runs with its defaults: request ids, metrics and a log line for every request. The handler has none of them.',
      ],
    };
  },
};
