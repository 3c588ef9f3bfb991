import { createHmac, randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Bench, check } from '../benchmark.ts';
import { type RunningServer, startServer } from './server.ts';

/** A server with a workflow whose webhook takes signed calls. */
export interface Hooked {
  server: RunningServer;
  dataDir: string;
  /** Address of the webhook. */
  endpoint: string;
  secret: string;
  /** Reads something of the workflow; `at` is appended to its path. */
  read(at: string): Promise<unknown>;
  /** How many executions have a status. */
  count(status: string): Promise<number>;
}

/** Headers of a call that is signed. */
export const signed = (secret: string, body: string | Buffer) => ({
  'content-type': 'application/json',
  'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
});

/** So many bytes of JSON. */
export const jsonOf = (bytes: number): string =>
  JSON.stringify({
    text: randomBytes(Math.ceil(bytes / 2))
      .toString('hex')
      .slice(0, bytes - 11),
  });

export async function startHooked(
  bench: Bench,
  {
    environment,
    definition,
    nodeOptions = [],
  }: { environment: Record<string, string>; definition: string; nodeOptions?: readonly string[] },
): Promise<Hooked> {
  const dataDir = path.join(await bench.directory(), 'data');
  await mkdir(dataDir, { mode: 0o700 });
  const settings = { PORTICO_WORKFLOW_BACKLOG: '10000000', ...environment };
  const server = await startServer({ dataDir, environment: settings, nodeOptions });
  bench.defer(server.stop);
  const { token } = JSON.parse(await readFile(path.join(dataDir, 'first-run.json'), 'utf8')) as { token: string };
  const base = `${server.url}/api/v2/organizations/demo/projects/site/workflows`;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const send = async (at: string, body?: object) => {
    const init = { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) };
    const response = await fetch(`${base}${at}`, init);
    check(response.ok, `${at} answers ${response.status}`);
    return { total: Number(response.headers.get('x-total-count')), body: await response.json() };
  };
  const ask = async (at: string, body?: object) => (await send(at, body)).body as { id: string; secret: string };
  const { id } = await ask('', { name: 'Hooked', definition });
  const trigger = await ask(`/${id}/triggers`, { type: 'webhook', auth_mode: 'hmac' });
  const { secret } = await ask(`/${id}/triggers/${trigger.id}/reveal`, {});
  const endpoint = `${server.url}/webhooks/ai/workflows/${id}`;
  return {
    ...{ server, dataDir, endpoint, secret },
    read: (at) => ask(`/${id}${at}`),
    count: async (status) => (await send(`/${id}/executions?status=${status}&per_page=1`)).total,
  };
}
