import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { withClient } from '../../../src/db/postgres/connect.ts';
import { readPostgresRecord } from '../../../src/db/postgres.ts';
import type { Bench } from '../../benchmark.ts';
import { createClient } from '../client.ts';
import { startServer } from '../server.ts';
import { type TreeUse, watchTree } from './process-tree.ts';

export interface PorticoRun extends TreeUse {
  /** Milliseconds since 1970 when the run was seen to have ended, its snapshot sealed and published. */
  ended: number;
  counts: Record<string, number>;
}

export interface PorticoCrawls {
  /** Resident memory of the server before it crawls, MiB. */
  idle: number;
  /** Crawls a site with a crawler of its own, or once more with the one of the last call. */
  crawl(origin: string, again?: boolean): Promise<PorticoRun>;
}

/** Milliseconds between looks at a run. */
const look = 10;

/**
 * Waits for the end of a run where it is written: asking the server costs it milliseconds each time, of which the others are spared.
 * @returns milliseconds since 1970
 */
async function endOf(run_id: string, database: string): Promise<number> {
  return withClient(database, async (client) => {
    for (;;) {
      const { rows } = await client.query<{ status: string }>('select status from crawler_run where id = $1', [run_id]);
      if (['completed', 'failed', 'stopped', 'canceled'].includes(rows[0]?.status ?? '')) return Date.now();
      await delay(look);
    }
  });
}

/** A server of its own on a new data directory, with loopback trusted. @param settings of its crawlers */
export async function porticoCrawls(bench: Bench, settings: object = {}): Promise<PorticoCrawls> {
  const dataDir = path.join(await bench.directory(), 'data');
  const environment = {
    PORTICO_TRUSTED_DOMAINS: 'localhost',
    PORTICO_CRAWL_MAX_HTML: '1000000',
    // Chromium refuses to run as root with its sandbox.
    ...(process.getuid?.() === 0 && { PORTICO_CHROMIUM_NO_SANDBOX: '1' }),
  };
  const server = await startServer({ dataDir, environment });
  bench.defer(server.stop);
  const { token } = JSON.parse(await readFile(path.join(dataDir, 'first-run.json'), 'utf8')) as { token: string };
  const client = createClient(server.url, token);
  bench.defer(client.close);
  const crawlers = '/api/v2/organizations/demo/projects/site/crawlers';
  const request = async (method: string, at: string, body?: unknown) =>
    JSON.parse((await client.send(at, { method, ...(body !== undefined && { body }) })).body.toString('utf8'));
  const postgres = await readPostgresRecord(dataDir);
  if (!postgres) throw new Error('the server has no database of its own');
  let crawler = '';
  return {
    idle: await server.memory(),
    async crawl(origin, again = false) {
      if (!again)
        crawler = (
          await request('POST', crawlers, { domain: origin, workers: 20, delay: 0, max_errors: 0, ...settings })
        ).uuid;
      const watch = watchTree([server.pid, postgres.pid]);
      const { run_id } = await request('POST', `${crawlers}/${crawler}/run`, {});
      const ended = await endOf(run_id, postgres.url);
      const use = watch.end();
      const run = await request('GET', `${crawlers}/${crawler}/runs/${run_id}`);
      if (run.last_status !== 'completed')
        throw new Error(`the run is ${run.last_status}: ${run.finish_reason} ${run.finish_message}`);
      return { ...use, ended, counts: run.counts };
    },
  };
}
