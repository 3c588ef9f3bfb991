import { beforeAll, describe, expect, it, vi } from 'vitest';
import { deliver } from '../../../src/domain/notifications/deliver.ts';
import { acme, shared, startTestApp } from '../../support/app.ts';
import { startReceiver } from '../../support/webhook-receiver.ts';

// Nothing private may be reached.
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: 'docs.test,127.0.0.1' }));
const receiver = shared(startReceiver);
const crawlers = `${acme}/projects/site/crawlers`;
let path: string;
const never = new AbortController().signal;

beforeAll(async () => {
  app.services.jobs.send = async () => {};
  app.services.jobs.sendMany = async () => {};
  const { port } = new URL(receiver.url);
  const webhook_url = `http://localhost:${port}/hook`;
  const { body } = await app.ask('POST', crawlers, { body: { domain: 'docs.test', webhook_url } });
  path = `${crawlers}/${body.uuid}/webhook`;
});

describe('private addresses', () => {
  const forms = [
    '127.0.0.1',
    'localhost',
    '[::ffff:127.0.0.1]',
    '2130706433',
    '0177.0.0.1',
    '169.254.169.254',
    '[::1]',
    '10.0.0.1',
  ];
  it.each(forms)('http://%s is not reached by the first try, a retry, a test or a re-send', async (host) => {
    const { port } = new URL(receiver.url);
    const webhook_url = `http://${host}:${port}/`;
    const { body: crawler } = await app.ask('POST', crawlers, { body: { domain: 'docs.test', webhook_url } });
    const at = `${crawlers}/${crawler.uuid}/webhook`;
    const { status, body } = await app.ask('POST', `${at}/test`);
    expect([status, body.type, body.status]).toEqual([202, 'crawler.test', 'pending']);
    await deliver(app.services, body.id, never);
    app.clock.now = new Date(Date.now() + 10_000);
    await deliver(app.services, body.id, never);
    expect((await app.ask('POST', `${at}/deliveries/${body.id}/resend`)).status).toBe(202);
    await deliver(app.services, body.id, never);
    app.clock.now = null;
    const { attempts } = (await app.ask('GET', `${at}/deliveries/${body.id}`)).body;
    expect(attempts.map(({ error }: { error: string }) => error)).toEqual(Array(3).fill('blocked_address'));
    expect(receiver.connections).toBe(0);
  });
});

describe('deliveries', () => {
  it('are listed newest first, by status, in pages', async () => {
    const made = [];
    for (let at = 0; at < 3; at += 1) made.push((await app.ask('POST', `${path}/test`)).body);
    const { body, headers } = await app.ask('GET', `${path}/deliveries?per_page=2`);
    expect(body.map(({ id }: { id: number }) => id)).toEqual([made[2].id, made[1].id]);
    expect(headers.get('link')).toContain('rel="next"');
    expect((await app.ask('GET', `${path}/deliveries?status=pending`)).body).toHaveLength(3);
    expect((await app.ask('GET', `${path}/deliveries?status=failed`)).body).toEqual([]);
    expect((await app.ask('GET', `${path}/deliveries?status=odd`)).status).toBe(400);
    const { event_id, payload } = made[0];
    expect(payload).toMatchObject({ id: event_id, type: 'crawler.test', extra: {} });
    expect(event_id).toMatch(/^msg_[0-9a-f]{32}$/);
  });

  it('of all crawlers of an organisation leave room for those of others together', async () => {
    const send = vi.spyOn(app.services.jobs, 'send');
    const { body: other } = await app.ask('POST', crawlers, {
      body: { domain: 'docs.test', webhook_url: 'http://a.test/' },
    });
    for (const at of [path, `${crawlers}/${other.uuid}/webhook`]) await app.ask('POST', `${at}/test`);
    const [organization] = await app.services.orm.em
      .fork()
      .execute<{ id: number }[]>("select id from organization where machine_name = 'acme'");
    expect(send.mock.calls.map(([, , options]) => options?.group)).toEqual(Array(2).fill(String(organization?.id)));
    send.mockRestore();
  });

  it('are sent again with the same id and a schedule that begins anew', async () => {
    const { body } = await app.ask('POST', `${path}/test`);
    await deliver(app.services, body.id, never);
    const again = await app.ask('POST', `${path}/deliveries/${body.id}/resend`);
    expect(again.body).toMatchObject({ id: body.id, event_id: body.event_id, status: 'pending' });
    expect(again.body.attempts).toHaveLength(1);
  });

  it.each(['0', 'abc', '2147483648', '999999'])('has no delivery %s', async (id) => {
    for (const [method, at] of [
      ['GET', `${path}/deliveries/${id}`],
      ['POST', `${path}/deliveries/${id}/resend`],
    ] as const) {
      const { status, body } = await app.ask(method, at);
      expect([status, body.message]).toEqual([404, 'Delivery not found']);
    }
  });

  it('of another crawler are not found', async () => {
    const { body: other } = await app.ask('POST', crawlers, { body: { domain: 'docs.test' } });
    const { body } = await app.ask('POST', `${path}/test`);
    expect((await app.ask('GET', `${crawlers}/${other.uuid}/webhook/deliveries/${body.id}`)).status).toBe(404);
  });
});

describe('the secret', () => {
  const reveal = async (at = path) => app.ask('POST', `${at}/secret/reveal`);

  it('is made with the first address, shown, and replaced, each time with an audit row', async () => {
    const { status, body } = await reveal();
    expect(status).toBe(200);
    expect(body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/);
    expect((await reveal()).body).toEqual(body);
    const rotated = await app.ask('POST', `${path}/secret/rotate`);
    expect(rotated.body.secret).toMatch(/^whsec_/);
    expect(rotated.body.secret).not.toBe(body.secret);
    expect((await reveal()).body).toEqual(rotated.body);
    const { body: audit } = await app.ask('GET', `${acme}/audit?per_page=100`);
    const actions = audit.map(({ action }: { action: string }) => action);
    expect(actions.filter((action: string) => action.endsWith('WebhookSecret'))).toHaveLength(4);
    expect(JSON.stringify(audit)).not.toContain('whsec_');
    expect(app.log.join('')).not.toContain(rotated.body.secret);
  });

  it('outlives changes of the crawler, and its address', async () => {
    const { body } = await reveal();
    const crawler = path.replace(/\/webhook$/, '');
    const [row] = await app.services.orm.em
      .fork()
      .execute<{ webhook_secret: string }[]>('select webhook_secret from crawler where uuid = ?', [
        crawler.split('/').at(-1),
      ]);
    expect(row?.webhook_secret).not.toContain(body.secret);
    const { webhook_url } = (await app.ask('GET', crawler)).body;
    await app.ask('PATCH', crawler, { body: { domain: 'docs.test', webhook_url: null, name: 'Other' } });
    expect((await reveal()).body).toEqual(body);
    expect((await app.ask('POST', `${path}/test`)).body).toMatchObject({ message: 'webhook_url: is not set' });
    await app.ask('PATCH', crawler, { body: { domain: 'docs.test', webhook_url } });
    expect((await reveal()).body).toEqual(body);
  });

  it('is none while there has been no address', async () => {
    const { body: other } = await app.ask('POST', crawlers, { body: { domain: 'docs.test' } });
    const at = `${crawlers}/${other.uuid}/webhook`;
    expect((await reveal(at)).status).toBe(404);
    expect((await app.ask('POST', `${at}/secret/rotate`)).status).toBe(404);
    expect((await app.ask('POST', `${at}/test`)).status).toBe(422);
  });
});

it('asks for the permission of each row', async () => {
  const rows = [
    ['GET', `${path}/deliveries`, 'browse_crawlers'],
    ['GET', `${path}/deliveries/1`, 'browse_crawlers'],
    ['POST', `${path}/deliveries/1/resend`, 'edit_crawlers'],
    ['POST', `${path}/test`, 'edit_crawlers'],
    ['POST', `${path}/secret/reveal`, 'manage_crawlers'],
    ['POST', `${path}/secret/rotate`, 'manage_crawlers'],
  ] as const;
  const all = ['browse_crawlers', 'edit_crawlers', 'delete_crawlers', 'manage_crawlers'] as const;
  for (const [method, at, permission] of rows) {
    const token = await app.makeToken(all.filter((name) => name !== permission));
    const { status, body } = await app.ask(method, at, { token });
    expect([at, status, body.message]).toEqual([at, 403, expect.stringContaining(permission)]);
  }
});
