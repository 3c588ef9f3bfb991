import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { revokeToken } from '../../src/domain/identity/tokens.operations.ts';
import { runRetention } from '../../src/jobs/upkeep.ts';
import { readConfig } from '../../src/server/config.ts';
import { openCore } from '../../src/server/core.ts';
import { createLog } from '../../src/server/log.ts';
import { acme, shared, startTestApp, studio } from '../support/app.ts';
import { askHost, makeEnvironment, publish, type Served, startPreview } from '../support/preview.ts';

const app = shared(startTestApp);
const preview = shared(() => startPreview(app));
const environment = shared(() => makeEnvironment(app, { slug: 'once', visibility: 'members' }));

beforeAll(() => publish(app, environment, { 'index.html': 'for members', 'a/index.html': 'a' }));
afterEach(() => {
  app.clock.now = null;
});

/** A fresh link, as path and query on its host. */
async function newLink(token = app.token): Promise<string> {
  const { body } = await app.ask('GET', `${studio}/environments/${environment.id}/preview`, { token });
  return body.url.slice(new URL(body.url).origin.length);
}
const ask = (target: string, headers: Record<string, string> = {}, method = 'GET') =>
  preview.ask(environment.label, target, { method, headers });
const cookieOf = ({ headers }: Served) => ({ cookie: headers['set-cookie']?.[0]?.split(';')[0] ?? '' });

describe('a link', () => {
  it('is spent by the first navigation, and says then to open the preview again', async () => {
    const link = await newLink();
    const opened = await ask(link, { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' });
    expect([opened.status, opened.headers.location]).toEqual([303, '/']);
    const again = await ask(link);
    expect(again.status).toBe(410);
    expect(again.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
    expect(again.headers['set-cookie']).toBeUndefined();
    expect(again.text).toContain('<h1>Open it again from Portico</h1>');
    // What the first one opened stays open.
    expect((await ask('/', cookieOf(opened))).text).toBe('for members');
  });

  it.each([
    ['HEAD', {}, 'HEAD'],
    ['Sec-Purpose: prefetch', { 'sec-purpose': 'prefetch', 'sec-fetch-mode': 'navigate' }, 'GET'],
    ['Sec-Purpose: prefetch;prerender', { 'sec-purpose': 'prefetch;prerender', 'sec-fetch-mode': 'navigate' }, 'GET'],
    ['Purpose: prefetch', { purpose: 'prefetch' }, 'GET'],
    ['X-Moz: prefetch', { 'x-moz': 'prefetch' }, 'GET'],
    ['X-Purpose: preview', { 'x-purpose': 'preview' }, 'GET'],
    ['a script', { 'sec-fetch-mode': 'cors' }, 'GET'],
    ['an image', { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }, 'GET'],
  ])('is not spent by %s', async (_what, headers, method) => {
    const link = await newLink();
    for (let time = 0; time < 3; time += 1) {
      const looked = await ask(link, headers as Record<string, string>, method);
      expect([looked.status, looked.headers['set-cookie'], looked.headers.location]).toEqual([
        403,
        undefined,
        undefined,
      ]);
      expect(looked.text).not.toContain('for members');
    }
    expect((await ask(link)).status).toBe(303);
  });

  it('can be reloaded for ten seconds by the browser that opened it, and by no other', async () => {
    const link = await newLink();
    const start = Date.now();
    const at = (milliseconds: number) => {
      app.clock.now = new Date(start + milliseconds);
    };
    at(0);
    const opened = await ask(link);
    expect(opened.status).toBe(303);
    const browser = cookieOf(opened);
    const other = cookieOf(await ask(await newLink()));
    at(10_000);
    const reloaded = await ask(link, browser);
    expect(reloaded.status).toBe(303);
    for (const headers of [{}, other, { cookie: '__Host-portico-preview=x.y' }])
      expect((await ask(link, headers)).status).toBe(410);
    at(10_001);
    for (const headers of [browser, cookieOf(reloaded)]) expect((await ask(link, headers)).status).toBe(410);
    // Only the link is spent: what it opened stays open.
    expect((await ask('/', browser)).status).toBe(200);
    at(61_000);
    expect((await ask(link, browser)).status).toBe(410);
  });

  it('is not spent while its pass opens nothing: when it is for another host, was changed, or its token has ended', async () => {
    const other = await makeEnvironment(app, { slug: 'beside', visibility: 'members' });
    await publish(app, other, { 'index.html': 'other' });
    const link = await newLink();
    expect((await preview.ask(other.label, link)).status).toBe(403);
    // Not its last character: bits of that one may carry nothing (RFC 4648, section 3.5).
    const changed = `${link.slice(0, -10)}${link.at(-10) === 'A' ? 'B' : 'A'}${link.slice(-9)}`;
    expect((await ask(changed)).status).toBe(403);
    expect((await ask(link)).status).toBe(303);
    const { body } = await app.ask('POST', `${acme}/tokens`, { body: { name: 'T', permissions: ['browse_studio'] } });
    const ended = await newLink(body.token);
    await app.run(revokeToken, { organization: 'acme', token_id: String(body.id) });
    expect((await ask(ended)).status).toBe(403);
  });

  it('leaves a row that says so, for a day', async () => {
    const link = await newLink();
    await ask(link);
    const count = async () => {
      const [row] = await app.services.orm.em.fork().execute('select count(*)::int as count from spent_preview_link');
      return (row as { count: number }).count;
    };
    const before = await count();
    const now = Date.now();
    app.clock.now = new Date(now + 23 * 3600_000);
    await runRetention(app.services, 365);
    expect(await count()).toBe(before);
    app.clock.now = new Date(now + 25 * 3600_000);
    await runRetention(app.services, 365);
    expect(await count()).toBe(0);
  });
});

describe('two servers of a database', () => {
  /** Another server beside the application: its own connections, caches and keys. */
  async function startOther() {
    const [row] = (await app.services.orm.em.fork().execute('select current_database() as name')) as { name: string }[];
    const address = new URL(app.services.orm.config.get('clientUrl') ?? '');
    address.pathname = `/${row?.name}`;
    const dataDir = path.resolve(app.directory('x'), '../..');
    const core = await openCore({
      config: readConfig({ PORTICO_DATA_DIR: dataDir }).config,
      databaseUrl: address.href,
      log: createLog({ level: 'silent', redactHeaders: [] }),
      settings: { public_url: 'http://portico.test', public_host: 'portico.test' },
    });
    const other = await startPreview(core);
    const stop = async () => {
      await other.stop();
      await core.close();
    };
    const host = `${environment.label}.localhost:${other.port}`;
    return { stop, ask: (target: string, headers = {}) => askHost(other.port, host, target, { headers }) };
  }

  it('open a link once between them, however many ask at the same time, and a restart does not forget it', async () => {
    const other = await startOther();
    const link = await newLink();
    const answers = await Promise.all(Array.from({ length: 24 }, (_, at) => (at % 2 ? ask(link) : other.ask(link))));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([303, ...Array.from({ length: 23 }, () => 410)]);
    const cookie = cookieOf(answers.find(({ status }) => status === 303) as Served);
    expect((await other.ask('/', cookie)).status).toBe(200);
    expect((await ask('/', cookie)).status).toBe(200);
    expect((await other.ask(link, cookie)).status).toBe(303);
    await other.stop();
    const restarted = await startOther();
    try {
      expect((await restarted.ask(link)).status).toBe(410);
      const opened = await restarted.ask(await newLink());
      expect(opened.status).toBe(303);
      expect((await ask('/', cookieOf(opened))).status).toBe(200);
    } finally {
      await restarted.stop();
    }
  });
});
