import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { deliver, wakeDueDeliveries } from '../../../src/domain/notifications/deliver.ts';
import { notify } from '../../../src/domain/notifications/notify.ts';
import { deleteProject, restoreProject } from '../../../src/domain/projects/projects.operations.ts';
import { runRetention } from '../../../src/jobs/upkeep.ts';
import { acme, shared, startTestApp } from '../../support/app.ts';
import { executionOfGeneration } from '../../support/recent-execution.ts';
import { type Receiver, startReceiver } from '../../support/webhook-receiver.ts';

const mark = '[secret webhook_auth_header]';
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

interface SentJob {
  notification_id: number;
  delay: number | undefined;
}

const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: 'docs.test', PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' }));
let receiver: Receiver;
let crawler: { id: number; uuid: string };
let path: string;
let secret: string;
let jobs: SentJob[] = [];
const never = new AbortController().signal;
const start = Date.parse('2026-03-01T08:00:00Z');

beforeAll(async () => {
  app.services.jobs.send = async (_kind, payload, options) => {
    jobs.push({ ...(payload as SentJob), delay: options?.delaySeconds });
  };
  receiver = await startReceiver();
});
beforeEach(async () => {
  jobs = [];
  app.clock.now = new Date(start);
  receiver.received.length = 0;
  receiver.answer = (response) => void response.writeHead(204).end();
  const draft = { domain: 'docs.test', webhook_url: `${receiver.url}/hook`, webhook_extra_vars: 'a=1' };
  const { body } = await app.ask('POST', `${acme}/projects/site/crawlers`, {
    body: { ...draft, webhook_auth_header: 'Bearer of news' },
  });
  crawler = body;
  path = `${acme}/projects/site/crawlers/${body.uuid}`;
  secret = (await app.ask('POST', `${path}/webhook/secret/reveal`)).body.secret;
});
afterEach(() => app.services.orm.em.fork().execute('delete from crawler'));
afterAll(async () => {
  await receiver?.close();
});

/** Writes an event into the outbox. @returns its delivery's number */
const event = async () =>
  (await app.services.orm.em
    .fork()
    .transactional((em) =>
      notify(em, app.services, crawler, 'crawler.run.completed', { counts: { pages: 3 } }),
    )) as number;
const get = async (id: number) => (await app.ask('GET', `${path}/webhook/deliveries/${id}`)).body;
const attempt = async (id: number) => {
  await deliver(app.services, id, never);
  return get(id);
};
const answering = (status: number, headers: Record<string, string> = {}, body = '') => {
  receiver.answer = (response) => void response.writeHead(status, headers).end(body);
};
const later = (milliseconds: number) => {
  app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + milliseconds);
};

describe('a delivery', () => {
  it('says how many executions of the project may have led to it, so that a webhook it calls starts no loop', async () => {
    await attempt(await event());
    expect(receiver.received.at(-1)?.headers['portico-generation']).toBeUndefined();
    await executionOfGeneration(app, 2, new Date(start));
    await attempt(await event());
    expect(receiver.received.at(-1)?.headers['portico-generation']).toBe('2');
    later(61 * second);
    await attempt(await event());
    expect(receiver.received.at(-1)?.headers['portico-generation']).toBeUndefined();
    await app.services.orm.em.fork().execute('delete from execution');
  });

  it('comes signed, with the authorization and the extra variables', async () => {
    app.clock.now = null;
    const id = await event();
    expect(jobs).toEqual([{ notification_id: id, delay: undefined }]);
    const delivered = await attempt(id);
    const [request] = receiver.received;
    expect(request).toMatchObject({ method: 'POST', path: '/hook' });
    expect(request?.headers).toMatchObject({
      authorization: 'Bearer of news',
      'content-type': 'application/json',
      'webhook-id': delivered.event_id,
      'user-agent': expect.stringMatching(/^Portico-Webhooks\/./),
    });
    const payload = new Webhook(secret).verify(request?.text ?? '', request?.headers as Record<string, string>);
    expect(payload).toEqual(delivered.payload);
    expect(payload).toMatchObject({
      type: 'crawler.run.completed',
      data: {
        organization: 'acme',
        project: 'site',
        crawler: { id: crawler.id, uuid: crawler.uuid },
        counts: { pages: 3 },
      },
      extra: { a: '1' },
    });
    expect(delivered).toMatchObject({
      status: 'delivered',
      next_attempt_at: null,
      attempts: [{ status: 204, error: null }],
    });
    expect(JSON.stringify(delivered)).not.toContain('of news');
    expect(app.log.join('')).not.toContain('of news');
  });

  it('is tried eight times by the schedule, under the same id and newly signed, and then has failed', async () => {
    answering(500, {}, 'broken');
    const id = await event();
    const pauses = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour];
    for (const [index, pause] of pauses.entries()) {
      const { status, next_attempt_at, attempts } = await attempt(id);
      expect([status, attempts.length]).toEqual(['pending', index + 1]);
      const wait = Date.parse(next_attempt_at) - (app.clock.now?.getTime() ?? 0);
      expect(Math.abs(wait - pause)).toBeLessThanOrEqual(pause / 10);
      expect(jobs.at(-1)).toEqual({ notification_id: id, delay: wait / 1000 });
      // A moment too early nothing is sent.
      later(wait - 1);
      await deliver(app.services, id, never);
      expect(receiver.received).toHaveLength(index + 1);
      later(1);
    }
    const { status, next_attempt_at, attempts } = await attempt(id);
    expect([status, next_attempt_at, attempts.length]).toEqual(['failed', null, 8]);
    expect(attempts[0]).toMatchObject({
      at: '2026-03-01T08:00:00.000Z',
      status: 500,
      error: 'status',
      answer: 'broken',
    });
    await deliver(app.services, id, never);
    expect(receiver.received).toHaveLength(8);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(8);
  });

  it('obeys Retry-After up to an hour', async () => {
    answering(503, { 'Retry-After': '120' });
    expect((await attempt(await event())).next_attempt_at).toBe('2026-03-01T08:02:00.000Z');
    answering(429, { 'Retry-After': 'Sun, 01 Mar 2026 12:00:00 GMT' });
    expect((await attempt(await event())).next_attempt_at).toBe('2026-03-01T09:00:00.000Z');
  });

  it('ends when the receiver is gone', async () => {
    answering(410);
    expect(await attempt(await event())).toMatchObject({
      status: 'failed',
      attempts: [{ status: 410, error: 'status' }],
    });
  });

  it('follows no redirect', async () => {
    answering(302, { Location: `${receiver.url}/elsewhere` });
    expect(await attempt(await event())).toMatchObject({
      status: 'pending',
      attempts: [{ status: 302, error: 'status' }],
    });
    expect(receiver.received).toHaveLength(1);
  });

  it('keeps the first KiB of an answer, however long that is', async () => {
    receiver.answer = (response) => {
      response.writeHead(200, { 'Content-Length': 2 ** 40 });
      response.write(`\u0000${'ä'.repeat(40_000)}`);
    };
    const { status, attempts } = await attempt(await event());
    expect(status).toBe('delivered');
    expect(attempts[0].answer).toBe('ä'.repeat(511));
  });

  it('keeps nothing of the authorization that an answer repeats, however it is written', async () => {
    receiver.answer = (response) =>
      void response.writeHead(500).end('{"authorization":"Bearer of news"} of%20news b2YgbmV3cw== off news');
    expect((await attempt(await event())).attempts).toMatchObject([
      { answer: `{"authorization":"Bearer ${mark}"} ${mark} ${mark} off news` },
    ]);
  });

  it('names what went wrong without an answer', async () => {
    receiver.answer = (response) => void response.destroy();
    expect((await attempt(await event())).attempts).toMatchObject([{ status: null, error: 'reset', answer: null }]);
  });

  it('waits 5 s for a connection and 15 s for an answer, and then tries again', async () => {
    const { http } = app.services;
    const open = http.request.bind(http);
    const requested: unknown[] = [];
    const request = vi.spyOn(http, 'request').mockImplementation((url, options) => {
      requested.push(options.timeouts);
      // The same with less patience.
      return open(url, { ...options, timeouts: { ...options.timeouts, total: 100 } });
    });
    receiver.answer = () => {};
    const silent = await attempt(await event());
    request.mockRestore();
    expect(requested).toEqual([{ connect: 5_000, headers: 15_000, idle: 15_000, total: 15_000 }]);
    expect(silent).toMatchObject({ status: 'pending', attempts: [{ status: null, error: 'timeout', answer: null }] });
    expect(Math.abs(Date.parse(silent.next_attempt_at) - start - 5 * second)).toBeLessThanOrEqual(second / 2);
  });

  it('is dropped when no webhook is set any more', async () => {
    const id = await event();
    await app.ask('PATCH', path, { body: { domain: 'docs.test', webhook_url: null } });
    expect(await attempt(id)).toMatchObject({ status: 'dropped', attempts: [], next_attempt_at: null });
    expect(await event()).toBeNull();
    expect(receiver.received).toEqual([]);
  });

  it('is dropped when its project is deleted, and later ones are not made', async () => {
    answering(500);
    const id = await event();
    await attempt(id);
    expect(receiver.received).toHaveLength(1);
    await app.run(deleteProject, { organization: 'acme', project: 'site' });
    later(6 * second);
    await deliver(app.services, id, never);
    expect(await event()).toBeNull();
    await app.run(restoreProject, { organization: 'acme', deleted_project: 'site' });
    expect(await get(id)).toMatchObject({ status: 'dropped', next_attempt_at: null });
    expect(receiver.received).toHaveLength(1);
  });

  it('goes to the address and with the header that are set by then', async () => {
    answering(500);
    const id = await event();
    await attempt(id);
    await app.ask('PATCH', path, {
      body: { domain: 'docs.test', webhook_url: `${receiver.url}/new`, webhook_auth_header: 'Other' },
    });
    later(6 * second);
    await attempt(id);
    expect(receiver.received.map((one) => [one.path, one.headers.authorization])).toEqual([
      ['/hook', 'Bearer of news'],
      ['/new', 'Other'],
    ]);
  });

  it('is sent by one of two workers', async () => {
    const id = await event();
    await Promise.all([deliver(app.services, id, never), deliver(app.services, id, never)]);
    expect(receiver.received).toHaveLength(1);
  });

  it('is taken up by another when its worker has died in the middle', async () => {
    const id = await event();
    const dying = new AbortController();
    receiver.answer = () => dying.abort(new Error('killed'));
    await expect(deliver(app.services, id, dying.signal)).rejects.toThrow('killed');
    answering(204);
    // The other one waits until the first cannot be at it any more.
    await deliver(app.services, id, never);
    expect(receiver.received).toHaveLength(1);
    expect(jobs.at(-1)).toEqual({ notification_id: id, delay: 30 });
    jobs = [];
    await wakeDueDeliveries(app.services);
    expect(jobs).toEqual([]);
    later(31 * second);
    await wakeDueDeliveries(app.services);
    expect(jobs).toEqual([{ notification_id: id, delay: undefined }]);
    expect(await attempt(id)).toMatchObject({ status: 'delivered' });
  });
});

it.each([
  ['is new', false],
  ['was tried and waits', true],
])('is delivered within a minute when the clock is set back by an hour while it %s', async (_which, isTried) => {
  const id = await event();
  if (isTried) {
    answering(503);
    await attempt(id);
    answering(204);
  }
  const sent = receiver.received.length;
  later(-hour);
  jobs = [];
  // What the job that was put in before the jump does.
  await deliver(app.services, id, never);
  expect([receiver.received.length, jobs]).toEqual([sent, []]);
  await wakeDueDeliveries(app.services);
  expect(jobs).toEqual([{ notification_id: id, delay: undefined }]);
  expect((await attempt(id)).status).toBe('delivered');
  await wakeDueDeliveries(app.services);
  expect([receiver.received.length, jobs.length]).toEqual([sent + 1, 1]);
});

it('exists exactly when the change it describes is committed', async () => {
  const { em } = app.services.orm;
  const lost = em.fork().transactional(async (own) => {
    await notify(own, app.services, crawler, 'crawler.run.failed');
    throw new Error('rolled back');
  });
  await expect(lost).rejects.toThrow('rolled back');
  expect((await app.ask('GET', `${path}/webhook/deliveries`)).body).toEqual([]);
});

it('is kept for thirty days once it is over', async () => {
  const [done, waiting] = [await event(), await event()];
  await attempt(done);
  app.clock.now = new Date(start + 30 * day);
  await runRetention(app.services, 1_000);
  expect((await app.ask('GET', `${path}/webhook/deliveries/${done}`)).status).toBe(200);
  app.clock.now = new Date(start + 30 * day + 1);
  await runRetention(app.services, 1_000);
  expect((await app.ask('GET', `${path}/webhook/deliveries/${done}`)).status).toBe(404);
  expect((await app.ask('GET', `${path}/webhook/deliveries/${waiting}`)).status).toBe(200);
});
