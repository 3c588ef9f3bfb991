import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recheckBeforeRun, recheckDomains } from '../../../src/domain/crawlers/verification/recheck.ts';
import { isVerified } from '../../../src/domain/crawlers/verification/standing.ts';
import { createOrganization } from '../../../src/domain/organizations/organizations.operations.ts';
import { permissionNames } from '../../../src/domain/permissions.ts';
import { createProject } from '../../../src/domain/projects/projects.operations.ts';
import { createGuardedHttp } from '../../../src/engines/http/guarded-http.ts';
import { acme, startTestApp, type TestApp } from '../../support/app.ts';
import { type DnsServer, startDnsServer } from '../../support/dns-server.ts';
import { expectRefusal } from '../../support/refusal.ts';

const crawlers = `${acme}/projects/site/crawlers`;
const file = '/.well-known/portico-verification.txt';

let app: TestApp;
let dns: DnsServer;
let site: Server;
let port: number;
let serve: RequestListener;
beforeAll(async () => {
  dns = await startDnsServer();
  site = createServer((request, response) => serve(request, response));
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  port = (site.address() as AddressInfo).port;
  app = await startTestApp({ PORTICO_DNS_SERVERS: dns.address, PORTICO_TRUSTED_DOMAINS: 'trusted.example' });
  await app.services.http.close();
  // Every name is this machine, as it would be of a site whose server stands there.
  app.services.http = createGuardedHttp({ allowedCidrs: ['127.0.0.1'], resolve: async () => ['127.0.0.1'] });
});
beforeEach(() => {
  dns.zone.clear();
  serve = (_request, response) => response.writeHead(404).end();
});
afterEach(() => {
  app.clock.now = null;
});
afterAll(async () => {
  await app?.stop();
  site?.close();
  await dns?.close();
});

let count = 0;
/** A crawler of a host nobody has asked about. */
async function crawler(draft: object = {}) {
  count += 1;
  const domain = `www.site${count}.example:${port}`;
  const { body } = await app.ask('POST', crawlers, { body: { domain, ...draft } });
  const at = `${crawlers}/${body.uuid}`;
  const ask = (method: string, where: string, input?: object) =>
    app.ask(method, `${at}/verification${where}`, input === undefined ? {} : { body: input });
  const start = async (host?: string) => (await ask('POST', '', host === undefined ? {} : { host })).body;
  const check = async (input: object = {}) => (await ask('POST', '/check', input)).body;
  const { token } = await start();
  const name = `site${count}.example`;
  return { at, domain, name, token, ask, start, check, read: async () => (await app.ask('GET', at)).body };
}

const outcomes = ({ checks }: { checks: { method: string; outcome: string }[] }) =>
  Object.fromEntries(checks.map(({ method, outcome }) => [method, outcome]));

/** Serves texts by path under a host name; everything else is 404. */
const pages = (texts: Record<string, string>): void => {
  serve = (request, response) => {
    const text = texts[request.url ?? ''];
    if (text === undefined) response.writeHead(404).end();
    else response.end(text);
  };
};

describe('a start', () => {
  it('gives a token for the organisation and the registrable domain, and says what to do with it', async () => {
    const { token, domain, name, start, read } = await crawler({ allowed_domains: ['docs.else.example'] });
    expect(token).toMatch(/^[0-9A-Za-z]{27}$/);
    const again = await start();
    expect(again).toEqual({
      host: domain,
      state: 'pending',
      method: null,
      token,
      instructions: {
        dns: { name: `_portico-challenge.www.${name}`, type: 'TXT', value: `portico-verification=${token}` },
        file: { url: `https://${domain}${file}`, content: token },
        meta: { html: `<meta name="portico-verification" content="${token}">` },
      },
      checks: [],
      checked_at: null,
      verified_at: null,
    });
    const other = await start('https://Docs.Else.example/');
    expect([other.host, other.token === token]).toEqual(['docs.else.example', false]);
    expect((await read()).verification).toEqual({ state: 'pending', method: null, checked_at: null });
  });

  it('gives another organisation another token', async () => {
    const { token, domain } = await crawler();
    await app.run(createOrganization, { name: 'Rival', machine_name: 'rival' });
    await app.run(createProject, { organization: 'rival', name: 'Site', machine_name: 'site' });
    const theirs = '/api/v2/organizations/rival/projects/site/crawlers';
    const rival = await app.makeToken(permissionNames, { organization: 'rival' });
    const { body } = await app.ask('POST', theirs, { token: rival, body: { domain } });
    const started = await app.ask('POST', `${theirs}/${body.uuid}/verification`, { token: rival, body: {} });
    expect(started.body.token).not.toBe(token);
  });

  it('knows only the hosts of the crawler', async () => {
    const { ask } = await crawler({ allowed_domains: ['a.else.example', '*.cdn.else.example'] });
    const text = 'host: must be the host of the crawler or one of its allowed_domains';
    for (const host of ['b.else.example', 'x', '', '*.cdn.else.example'])
      expectRefusal(await ask('POST', '', { host }), 400, 'invalid_request', text);
    expect((await ask('GET', '?host=cdn.else.example')).body.state).toBe('none');
  });

  it('shows the token only to callers with manage_crawlers', async () => {
    const { at, token } = await crawler();
    const reader = await app.makeToken(permissionNames.filter((name) => name !== 'manage_crawlers'));
    const seen = await app.ask('GET', `${at}/verification`, { token: reader });
    expect([seen.status, seen.body.token, seen.body.instructions]).toEqual([200, null, null]);
    expect(JSON.stringify(seen.body)).not.toContain(token);
    expect((await app.ask('GET', `${at}/verification`)).body.token).toBe(token);
    for (const where of ['', '/check']) {
      const refused = await app.ask('POST', `${at}/verification${where}`, { token: reader, body: {} });
      expectRefusal(refused, 403, 'forbidden', /manage_crawlers/);
    }
  });
});

describe('by dns', () => {
  it('a record of the registrable domain proves all names below it', async () => {
    const { name, token, check, read, domain } = await crawler();
    dns.zone.set(`_portico-challenge.${name}`, [['unrelated'], ['portico-verification=', token]]);
    const body = await check({ method: 'dns' });
    expect([body.state, body.method, outcomes(body)]).toEqual(['verified', 'dns', { dns: 'found' }]);
    expect([(await read()).domain_verified, (await read()).verification.state]).toEqual([1, 'verified']);
    const [{ id }] = (await app.services.orm.em
      .fork()
      .execute("select id from organization where machine_name = 'acme'")) as [{ id: number }];
    const known = (host: string) => isVerified(app.services, { id }, host);
    expect(await Promise.all([domain, name, `deep.${name}`, `deep.${name}:81`, `x${name}`].map(known))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
  });

  it('a record of the host proves it, not its siblings', async () => {
    const { name, token, check } = await crawler();
    dns.zone.set(`_portico-challenge.www.${name}`, [[`portico-verification=${token}`]]);
    expect((await check({ method: 'dns' })).state).toBe('verified');
    const [{ id }] = (await app.services.orm.em
      .fork()
      .execute("select id from organization where machine_name = 'acme'")) as [{ id: number }];
    expect(await isVerified(app.services, { id }, `a.www.${name}`)).toBe(true);
    expect(await isVerified(app.services, { id }, name)).toBe(false);
  });

  it.each([
    ['no record', undefined, 'absent'],
    ['another token', [['portico-verification=x']], 'absent'],
    ['the token alone', 'token', 'absent'],
    ['a server that fails', 'servfail', 'unreachable'],
  ] as const)('%s: failed', async (_title, records, outcome) => {
    const { name, token, check } = await crawler();
    if (records !== undefined)
      dns.zone.set(
        `_portico-challenge.${name}`,
        records === 'token' ? [[token]] : records === 'servfail' ? records : records.map((one) => [...one]),
      );
    const body = await check({ method: 'dns' });
    expect([body.state, outcomes(body)]).toEqual(['failed', { dns: outcome }]);
    expect(body.checked_at).not.toBe(null);
  });
});

describe('by file', () => {
  it('the body is the token, blanks aside, and proves the host and its sibling', async () => {
    const { token, check, name } = await crawler();
    pages({ [file]: `\n ${token}\r\n` });
    const body = await check({ method: 'file' });
    expect([body.state, body.method, outcomes(body)]).toEqual(['verified', 'file', { file: 'found' }]);
    const [{ id }] = (await app.services.orm.em
      .fork()
      .execute("select id from organization where machine_name = 'acme'")) as [{ id: number }];
    const known = (host: string) => isVerified(app.services, { id }, host);
    const hosts = [`${name}:${port}`, name, `www.${name}`, `deep.${name}:${port}`];
    expect(await Promise.all(hosts.map(known))).toEqual([true, false, false, false]);
  });

  it('of 1024 bytes it may be, of 1025 not', async () => {
    const { token, check } = await crawler();
    pages({ [file]: token.padEnd(1_025) });
    expect(outcomes(await check({ method: 'file' }))).toEqual({ file: 'absent' });
    pages({ [file]: token.padEnd(1_024) });
    expect((await check({ method: 'file' })).state).toBe('verified');
  });

  it('follows three redirects on the host and its sibling', async () => {
    const { token, check, name } = await crawler();
    const hops = (to: number, last: string) => {
      serve = (request, response) => {
        const hop = request.url === file ? 0 : Number(request.url?.slice(1));
        if (hop < to)
          response.writeHead(302, { location: hop % 2 ? `/${hop + 1}` : `http://${name}:${port}/${hop + 1}` }).end();
        else response.end(last);
      };
    };
    hops(4, token);
    expect(outcomes(await check({ method: 'file' }))).toEqual({ file: 'absent' });
    hops(3, token);
    expect((await check({ method: 'file' })).state).toBe('verified');
  });

  it.each([
    ['another text', 'x', 200, undefined, 'absent'],
    ['an answer that is not 200', null, 404, undefined, 'absent'],
    ['a server that fails', null, 503, undefined, 'unreachable'],
    ['a redirect elsewhere', null, 302, 'http://else.example/', 'absent'],
    ['a redirect to another port', null, 302, 'http://www.site.example:1/', 'absent'],
    ['a redirect nowhere', null, 302, '', 'absent'],
  ])('%s: failed', async (_title, text, status, location, outcome) => {
    const { check } = await crawler();
    serve = (_request, response) => response.writeHead(status, location === undefined ? {} : { location }).end(text);
    const body = await check({ method: 'file' });
    expect([body.state, outcomes(body)]).toEqual(['failed', { file: outcome }]);
  });

  it('never reaches inner addresses', async () => {
    const { check, token } = await crawler();
    const open = app.services.http;
    pages({ [file]: token });
    app.services.http = createGuardedHttp({ allowedCidrs: [], resolve: async () => ['127.0.0.1'] });
    const body = await check({ method: 'file' });
    await app.services.http.close();
    app.services.http = open;
    expect([body.state, outcomes(body)]).toEqual(['failed', { file: 'unreachable' }]);
  });
});

describe('by meta', () => {
  const tag = (token: string) => `<meta name="portico-verification" content="${token}">`;

  it.each<[string, (token: string) => string]>([
    ['in the head', (token) => `<!doctype html><html><head><title>x</title>${tag(token)}</head><body>y</body></html>`],
    [
      'beside others, in other spellings',
      (token) => `${tag('x')}<META Content=' ${token} ' NAME=Portico-Verification>`,
    ],
  ])('%s: verified', async (_title, page) => {
    const { token, check } = await crawler();
    pages({ '/': page(token) });
    const body = await check({ method: 'meta' });
    expect([body.state, body.method]).toEqual(['verified', 'meta']);
  });

  it.each<[string, (token: string) => string]>([
    ['in the body', (token) => `<head></head><body>${tag(token)}</body>`],
    ['after something of the body', (token) => `<head><div>${tag(token)}</div></head>`],
    ['in a comment', (token) => `<head><!-- ${tag(token)} --></head>`],
    ['in a script', (token) => `<head><script>'${tag(token)}'</script></head>`],
    ['in a template', (token) => `<head><template>${tag(token)}</template></head>`],
    ['of another name', (token) => `<head>${tag(token).replace('portico-', '')}</head>`],
    ['as a part', (token) => `<head>${tag(`${token}x`)}</head>`],
  ])('%s: failed', async (_title, page) => {
    const { token, check } = await crawler();
    pages({ '/': page(token) });
    const body = await check({ method: 'meta' });
    expect([body.state, outcomes(body)]).toEqual(['failed', { meta: 'absent' }]);
  });
});

describe('a check', () => {
  it('tries all methods and tells what each found', async () => {
    const { token, check } = await crawler();
    pages({ [file]: 'nothing', '/': `<meta name="portico-verification" content="${token}">` });
    const body = await check();
    expect(outcomes(body)).toEqual({ dns: 'absent', file: 'absent', meta: 'found' });
    expect([body.state, body.method]).toEqual(['verified', 'meta']);
    for (const { detail } of body.checks) expect(detail).toMatch(/^\S/);
    const seen = (await app.ask('GET', `${crawlers}`)).body.at(-1);
    expect(seen.domain_verified).toBe(1);
  });

  it('429 for the eleventh within a minute, with the time to wait', async () => {
    const { check, ask } = await crawler();
    app.clock.now = new Date();
    for (let i = 0; i < 10; i++) expect((await check({ method: 'dns' })).state).toBe('failed');
    app.clock.now = new Date(app.clock.now.getTime() + 45_000);
    const over = await ask('POST', '/check', {});
    expectRefusal(over, 429, 'rate_limited', 'Too many checks');
    expect(over.headers.get('retry-after')).toBe('15');
    app.clock.now = new Date(app.clock.now.getTime() + 15_000);
    expect((await check({ method: 'dns' })).state).toBe('failed');
  });

  it('opens what only owners may set, and a new host closes it', async () => {
    const { at, domain, token, check, name } = await crawler();
    const change = (body: object) => app.ask('PATCH', at, { body: { domain, ...body } });
    expect((await change({ workers: 3 })).status).toBe(403);
    pages({ [file]: token });
    await check();
    expect((await change({ workers: 3 })).body.workers).toBe(3);
    const spelt = await change({ domain: `http://WWW.${name}:${port}/` });
    expect(spelt.body.domain_verified).toBe(1);
    const moved = await change({ domain: `new.${name}` });
    expect([moved.body.domain_verified, moved.body.workers]).toEqual([0, 3]);
    expect((await change({ domain: `new.${name}`, workers: 4 })).status).toBe(403);
  });

  it('of an unknown crawler is 404, whatever else is wrong with the body', async () => {
    const answer = await app.ask('POST', `${crawlers}/999999/verification/check`, { body: { method: 'x' } });
    expectRefusal(answer, 404, 'not_found', 'Crawler not found');
    const { ask } = await crawler();
    expectRefusal(await ask('POST', '/check', { method: 'x' }), 400, 'invalid_request', /^method: must be one of/);
  });

  it('leaves an audit row without the token', async () => {
    const { at, token } = await crawler();
    const { body } = await app.ask('GET', `${acme}/audit?action=crawlers.startVerification`);
    expect(body[0]).toMatchObject({ subject_type: 'crawler', subject_id: at.split('/').at(-1) });
    expect(JSON.stringify(body)).not.toContain(token);
  });
});

describe('the daily look', () => {
  beforeEach(() => app.services.orm.em.fork().execute('delete from domain_verification'));
  const signal = new AbortController().signal;
  const hour = 3_600_000;
  const later = (hours: number) => {
    app.clock.now = new Date((app.clock.now ?? new Date()).getTime() + hours * hour);
  };
  const proved = async (draft: object = {}) => {
    const made = await crawler(draft);
    app.clock.now = new Date();
    dns.zone.set(`_portico-challenge.${made.name}`, [[`portico-verification=${made.token}`]]);
    expect((await made.check({ method: 'dns' })).state).toBe('verified');
    return { ...made, record: `_portico-challenge.${made.name}` };
  };
  const stateOf = async ({ at }: { at: string }) => (await app.ask('GET', `${at}/verification`)).body.state;

  it('happens once a day, and a proof that is there stays', async () => {
    const { at, record } = await proved();
    const { verified_at } = (await app.ask('GET', `${at}/verification`)).body;
    dns.asked.length = 0;
    later(23);
    await recheckDomains(app.services, signal);
    expect(dns.asked).not.toContain(record);
    later(1);
    await recheckDomains(app.services, signal);
    expect(dns.asked).toContain(record);
    const { body } = await app.ask('GET', `${at}/verification`);
    expect([body.state, body.verified_at]).toEqual(['verified', verified_at]);
  });

  it('loses a domain after 72 hours of absence, tells the webhook, and keeps the settings', async () => {
    const made = await proved({ webhook_url: 'https://hooks.example/x', webhook_extra_vars: 'a=1' });
    const { at, domain, record } = made;
    await app.ask('PATCH', at, { body: { domain, workers: 9 } });
    dns.zone.delete(record);
    for (const hours of [24, 24, 24, 23]) {
      later(hours);
      await recheckDomains(app.services, signal);
      expect(await stateOf(made)).toBe('verified');
    }
    later(1);
    await recheckDomains(app.services, signal);
    expect(await stateOf(made)).toBe('lost');
    const { body } = await app.ask('GET', at);
    expect([body.domain_verified, body.verification.state, body.workers]).toEqual([0, 'lost', 9]);
    const em = app.services.orm.em.fork();
    const told = await em.execute<{ payload: string }[]>(
      "select payload from notification where type = 'crawler.verification.lost' and crawler_id = ?",
      [body.id],
    );
    expect(told.map(({ payload }) => JSON.parse(payload).data.verification)).toEqual([
      { host: domain, method: 'dns', state: 'lost' },
    ]);
    const audit = (await app.ask('GET', `${acme}/audit?action=crawlers.loseVerification`)).body;
    expect(audit[0]).toMatchObject({ subject_type: 'domain', subject_id: domain, actor: 'system:verification' });
    await recheckDomains(app.services, signal);
    expect(await em.execute('select 1 from notification where crawler_id = ?', [body.id])).toHaveLength(1);
    dns.zone.set(record, [[`portico-verification=${made.token}`]]);
    expect((await made.check()).state).toBe('verified');
  });

  it('a server that cannot be asked changes nothing, and a proof that comes back begins anew', async () => {
    const made = await proved();
    const { record, token } = made;
    const look = async (hours: number, records: string[][] | 'servfail' | null) => {
      if (records) dns.zone.set(record, records);
      else dns.zone.delete(record);
      later(hours);
      await recheckDomains(app.services, signal);
      return stateOf(made);
    };
    expect(await look(24, null)).toBe('verified');
    for (let day = 0; day < 5; day++) expect(await look(24, 'servfail')).toBe('verified');
    expect(await look(24, [[`portico-verification=${token}`]])).toBe('verified');
    for (let day = 0; day < 3; day++) expect(await look(24, null)).toBe('verified');
    expect(await look(24, null)).toBe('lost');
  });

  it('is made before a run, unless it was within the hour', async () => {
    const { record, domain } = await proved();
    const [{ id }] = (await app.services.orm.em
      .fork()
      .execute("select id from organization where machine_name = 'acme'")) as [{ id: number }];
    const host = { organization_id: id, host: domain };
    dns.asked.length = 0;
    later(0.9);
    await recheckBeforeRun(app.services, host, signal);
    expect(dns.asked).toEqual([]);
    later(0.2);
    await recheckBeforeRun(app.services, host, signal);
    expect(dns.asked).toContain(record);
  });
});
