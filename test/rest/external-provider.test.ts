import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { z } from 'zod';
import { notifyProvider } from '../../src/domain/studio/deployments/notify-provider.ts';
import { deployNoticeJob, notify } from '../../src/domain/studio/deployments/queue-deployment.ts';
import { tickDeployments } from '../../src/domain/studio/deployments/tick.ts';
import { acme, seed, startTestApp, studio, type TestApp } from '../support/app.ts';
import { executionOfGeneration } from '../support/recent-execution.ts';

interface Received {
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

let app: TestApp;
let provider: Server;
let answerWith = 204;
const received: Received[] = [];
let environment: { id: number; deploy_hook_secret: string };

beforeAll(async () => {
  provider = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    received.push({ headers: request.headers, text });
    response.writeHead(answerWith).end();
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  app = await startTestApp({ PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' });
  await seed(app, { 'index.html': 'x' });
  const deploy_webhook_url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/hook`;
  const draft = { name: 'Outside', branch: 'main', provider: 'webhook', deploy_webhook_url, auto_deploy: false };
  environment = (await app.ask('POST', `${studio}/environments`, { body: draft })).body;
});
afterAll(async () => {
  await app?.stop();
  provider?.close();
});

const never = new AbortController().signal;
const send = (deployment_id: number, event: 'deployment.requested' | 'deployment.cancelled' = 'deployment.requested') =>
  notifyProvider(app.services, { deployment_id, event }, never);
const start = async (): Promise<number> =>
  (await app.ask('POST', `${studio}/deployments`, { body: { environment_id: environment.id } })).body.id;
const get = async (id: number) => (await app.ask('GET', `${studio}/deployments/${id}`)).body;
const report = (id: number, token: string, body: object) =>
  app.ask('PATCH', `${studio}/deployments/${id}`, { token, body });

/** Starts a deployment and notifies the provider. @returns its number and token */
async function requested(): Promise<{ id: number; token: string }> {
  const id = await start();
  await send(id);
  return { id, token: JSON.parse(received.at(-1)?.text ?? '{}').report_token };
}

it('receives a signed notification, the same token in each', async () => {
  expect(environment.deploy_hook_secret).toMatch(/^whsec_/);
  const { id, token } = await requested();
  const { headers, text } = received.at(-1) as Received;
  const key = Buffer.from(environment.deploy_hook_secret.slice('whsec_'.length), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  expect(JSON.parse(text)).toMatchObject({
    event: 'deployment.requested',
    deployment_id: id,
    environment: 'Outside',
    branch: 'main',
    repository_url: 'http://portico.test/git/acme/site.git',
    report_url: `http://portico.test${studio}/deployments/${id}`,
  });
  expect(token).toMatch(/^ptr_[0-9A-Za-z]{36}$/);
  await send(id);
  expect(JSON.parse(received.at(-1)?.text ?? '').report_token).toBe(token);
  expect(await get(id)).toMatchObject({ status: 'queued', jobs: [] });
});

it('is notified in a group of its organisation, whose slow providers keep no others waiting', async () => {
  expect((await app.ask('POST', `${acme}/projects`, { body: { name: 'Other', machine_name: 'other' } })).status).toBe(
    201,
  );
  const em = app.services.orm.em.fork();
  const [project] = await em.execute<{ id: number; organization_id: number }[]>(
    "select id, organization_id from project where machine_name = 'other'",
  );
  expect(project?.id).not.toBe(project?.organization_id);
  const send = vi.spyOn(app.services.jobs, 'send').mockResolvedValue();
  const of = { id: 1, project_id: project?.id ?? 0 };
  await em.transactional((within) => notify({ em: within, services: app.services }, of, 'deployment.cancelled'));
  expect(send.mock.calls[0]?.[2]?.group).toBe(String(project?.organization_id));
  send.mockRestore();
});

describe('reports', () => {
  it('move the deployment on, never back; the end publishes and ends the token', async () => {
    const { id, token } = await requested();
    const jobs = [{ name: 'compile', status: 'in_progress', steps: [{ name: 'make', status: 'in_progress' }] }];
    expect(await report(id, token, { status: 'in_progress', jobs, log_url: 'https://ci.test/1' })).toMatchObject({
      status: 200,
      body: {
        status: 'in_progress',
        log_url: 'https://ci.test/1',
        jobs: [{ name: 'compile', steps: [{ name: 'make' }] }],
      },
    });
    expect((await report(id, token, { status: 'queued', url: 'https://late.test' })).body).toMatchObject({
      status: 'in_progress',
      url: null,
    });
    const done = {
      conclusion: 'success',
      url: 'https://site.test/',
      jobs: [{ name: 'compile', conclusion: 'success' }],
    };
    expect(await report(id, token, done)).toMatchObject({
      status: 200,
      body: {
        status: 'completed',
        conclusion: 'success',
        published: true,
        url: 'https://site.test/',
        jobs: [{ conclusion: 'success' }],
      },
    });
    expect((await report(id, token, { conclusion: 'failure' })).status).toBe(401);
    expect((await report(id, app.token, { conclusion: 'failure' })).body.conclusion).toBe('success');
  });

  it('of a failure say so', async () => {
    const { id, token } = await requested();
    expect((await report(id, token, { conclusion: 'failure' })).body).toMatchObject({
      conclusion: 'failure',
      failure_reason: 'provider_error',
    });
  });

  it('hold a bounded amount of jobs, together with what earlier ones said', async () => {
    const { id, token } = await requested();
    const steps = (count: number) => Array.from({ length: count }, () => ({ name: 'x'.repeat(200) }));
    const whole = Array.from({ length: 50 }, () => ({ name: 'job', steps: steps(100) }));
    const refused = await report(id, token, { jobs: whole });
    expect([refused.status, refused.body.code, refused.body.message]).toEqual([
      413,
      'too_large',
      expect.stringMatching(/^jobs: .* at most 262144; report fewer steps/),
    ]);
    expect((await get(id)).jobs).toEqual([]);
    const done = { name: 'job', conclusion: 'success' };
    const statuses: number[] = [];
    for (let before = 0; before < 10 && !statuses.includes(413); before += 1) {
      const jobs = [...Array.from({ length: before }, () => done), { ...done, steps: steps(100) }];
      statuses.push((await report(id, token, { jobs })).status);
    }
    expect(statuses.slice(0, 7)).toEqual(Array(7).fill(200));
    expect(statuses.at(-1)).toBe(413);
  });

  it('are refused when they contradict themselves', async () => {
    const { id, token } = await requested();
    expect((await report(id, token, { status: 'completed' })).status).toBe(400);
    expect((await report(id, token, { status: 'queued', conclusion: 'success' })).status).toBe(400);
    expect((await report(id, token, { url: 'javascript:alert(1)' })).status).toBe(400);
  });
});

it('has a token for nothing but reports on its own run', async () => {
  const first = await requested();
  await report(first.id, first.token, { status: 'in_progress' });
  const second = await requested();
  expect((await report(second.id, first.token, { conclusion: 'success' })).status).toBe(403);
  for (const path of [`${studio}/deployments/${first.id}`, `${studio}/collections`, '/api/v2/organizations'])
    expect((await app.ask('GET', path, { token: first.token })).status).toBe(403);
  expect((await report(first.id, first.token.replace(/.$/, '!'), {})).status).toBe(401);
  const reader = await app.makeToken(['browse_studio', 'edit_studio']);
  expect((await report(first.id, reader, { conclusion: 'success' })).status).toBe(403);
});

it('is notified with how many executions of the project may have led to the deployment', async () => {
  await executionOfGeneration(app, 5, new Date(Date.now() - 120_000));
  await requested();
  expect(received.at(-1)?.headers['portico-generation']).toBeUndefined();
  await executionOfGeneration(app, 3, new Date());
  await requested();
  expect(received.at(-1)?.headers['portico-generation']).toBe('3');
  await app.services.orm.em.fork().execute('delete from execution');
});

it('is notified when a deployment is cancelled', async () => {
  const { id } = await requested();
  expect((await app.ask('POST', `${studio}/deployments/${id}/cancel`)).body).toMatchObject({
    status: 'completed',
    conclusion: 'cancelled',
  });
  expect(await app.ask('POST', `${studio}/deployments/${id}/cancel`)).toMatchObject({
    status: 409,
    body: { code: 'conflict' },
  });
  await send(id, 'deployment.cancelled');
  expect(JSON.parse(received.at(-1)?.text ?? '')).toMatchObject({ event: 'deployment.cancelled', deployment_id: id });
});

it('is notified of the cancellation of a deployment that is deleted with its environment', async () => {
  const deploy_webhook_url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/hook`;
  const draft = { name: 'Doomed', branch: 'main', provider: 'webhook', deploy_webhook_url, auto_deploy: false };
  const { body: doomed } = await app.ask('POST', `${studio}/environments`, { body: draft });
  const { body: run } = await app.ask('POST', `${studio}/deployments`, { body: { environment_id: doomed.id } });
  await send(run.id);
  const notices: z.input<typeof deployNoticeJob.payload>[] = [];
  const sending = vi.spyOn(app.services.jobs, 'send').mockImplementation(async (kind, payload) => {
    if (kind.name === deployNoticeJob.name) notices.push(deployNoticeJob.payload.parse(payload));
  });
  const path = `${studio}/environments/${doomed.id}`;
  expect((await app.ask('DELETE', path)).status).toBe(409);
  expect((await app.ask('DELETE', `${path}?force=true`)).status).toBe(204);
  sending.mockRestore();
  expect((await app.ask('GET', `${studio}/deployments/${run.id}`)).status).toBe(404);
  expect(notices).toHaveLength(1);
  // What is in the queue contains no secret to sign with.
  expect(JSON.stringify(notices)).not.toContain(doomed.deploy_hook_secret);
  for (const notice of notices) await notifyProvider(app.services, notice, never);
  const { headers, text } = received.at(-1) as Received;
  const { deploy_hook_secret: secret } = doomed;
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  expect(JSON.parse(text)).toEqual({
    event: 'deployment.cancelled',
    deployment_id: run.id,
    environment: 'Doomed',
    branch: 'main',
    commit_sha: run.commit_sha,
    repository_url: 'http://portico.test/git/acme/site.git',
    report_url: `http://portico.test${studio}/deployments/${run.id}`,
  });
});

it('is notified again after a failure, and not after 410', async () => {
  const id = await start();
  answerWith = 500;
  await expect(send(id)).rejects.toThrow('500');
  expect((await get(id)).status).toBe('queued');
  answerWith = 410;
  await send(id);
  answerWith = 204;
  expect(await get(id)).toMatchObject({
    conclusion: 'failure',
    failure_reason: 'provider_error',
    warnings: [{ code: 'provider_not_notified', message: 'The provider was not notified: it answered 410' }],
  });
});

it('that says nothing for longer than the environment allows has failed', async () => {
  const { id } = await requested();
  app.clock.now = new Date(Date.now() + 899_000);
  await tickDeployments(app.services);
  expect((await get(id)).status).toBe('queued');
  app.clock.now = new Date(Date.now() + 901_000);
  await tickDeployments(app.services);
  app.clock.now = null;
  expect(await get(id)).toMatchObject({ conclusion: 'failure', failure_reason: 'provider_timeout' });
});
