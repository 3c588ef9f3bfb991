import { createHmac } from 'node:crypto';
import { request } from 'node:http';
import { advanceJob } from '../../src/domain/workflows/advance-job.ts';
import { sealSecret } from '../../src/domain/workflows/triggers/sealed-secret.ts';
import type { RunningQueue } from '../../src/jobs/queue.ts';
import { startTestApp, type TestApp } from './app.ts';

export const workflowsPath = '/api/v2/organizations/acme/projects/site/workflows';
const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: "1"}\n';

export interface Webhook {
  workflow: string;
  trigger: string;
  /** Below the workflows of the project. */
  path: string;
  /** Path of the endpoint. */
  endpoint: string;
  secret: string;
}

/** An application whose job queue takes jobs, and does none. */
export async function startWebhookApp(environment: Record<string, string> = {}): Promise<TestApp> {
  const app = await startTestApp(environment);
  const queue = app.services.jobs as RunningQueue;
  await queue.start({ kinds: [advanceJob], jobs: [] });
  const stop = app.stop;
  return Object.assign(app, {
    async stop() {
      await queue.stop(1);
      await stop();
    },
  });
}

/** A workflow with a webhook. */
export async function newWebhook(app: TestApp, fields: object = {}): Promise<Webhook> {
  const ask = async (path: string, body: object) => (await app.ask('POST', `${workflowsPath}${path}`, { body })).body;
  const { id: workflow } = await ask('', { name: 'Hooked', definition });
  const { id: trigger } = await ask(`/${workflow}/triggers`, { type: 'webhook', ...fields });
  const path = `/${workflow}/triggers/${trigger}`;
  const { secret } = await ask(`${path}/reveal`, {});
  return { workflow, trigger, path, endpoint: `/webhooks/ai/workflows/${workflow}`, secret };
}

/** Gives a webhook a secret of the test's choice, which no interface does. */
export async function setSecret(app: TestApp, webhook: Webhook, secret: string): Promise<void> {
  const em = app.services.orm.em.fork();
  const versions = await em.execute('select secret_version from workflow_trigger where id = ?', [webhook.trigger]);
  const [{ secret_version }] = versions as [{ secret_version: number }];
  const [{ id }] = (await em.execute("select id from organization where machine_name = 'acme'")) as [{ id: number }];
  const sealed = await sealSecret(app.services, id, webhook.trigger, secret_version, secret);
  await em.execute('update workflow_trigger set secret = ? where id = ?', [sealed, webhook.trigger]);
  webhook.secret = secret;
}

export const sign = (secret: string, body: string | Uint8Array): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

export interface WebhookAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

export interface Sent {
  method?: string;
  /** Names and values; a list of values makes several lines. */
  headers?: Record<string, string | string[]>;
  body?: string | Uint8Array;
  /** The body in these pieces, without a length. */
  chunks?: Iterable<Uint8Array>;
  query?: string;
}

/** Calls an endpoint as an outside service does. */
export function call(
  base: string,
  endpoint: string,
  { method = 'POST', headers = {}, body, chunks, query }: Sent = {},
) {
  return new Promise<WebhookAnswer>((resolve, reject) => {
    const outgoing = request(`${base}${endpoint}${query === undefined ? '' : `?${query}`}`, {
      method,
      headers: { ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }), ...headers },
    });
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('error', reject);
      response.once('end', () => {
        const text = Buffer.concat(parts).toString();
        const isJson = text.startsWith('{');
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          body: isJson ? JSON.parse(text) : null,
        });
      });
    });
    if (chunks) for (const chunk of chunks) outgoing.write(chunk);
    outgoing.end(body);
  });
}
