import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOrganization } from '../../../src/domain/organizations/organizations.operations.ts';
import { permissionNames } from '../../../src/domain/permissions.ts';
import { createProject } from '../../../src/domain/projects/projects.operations.ts';
import { acme, startTestApp, type TestApp } from '../../support/app.ts';
import { expectRefusal } from '../../support/refusal.ts';

const crawlers = `${acme}/projects/site/crawlers`;

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ PORTICO_TRUSTED_DOMAINS: 'localhost:8080,trusted.example,*.below.example' });
});
afterAll(() => app?.stop());

const create = (body: object, token?: string) =>
  app.ask('POST', crawlers, { body, ...(token !== undefined && { token }) });
const change = (name: string | number, body: object, token?: string) =>
  app.ask('PATCH', `${crawlers}/${name}`, { body, ...(token !== undefined && { token }) });
const read = (name: string | number, token?: string) =>
  app.ask('GET', `${crawlers}/${name}`, token === undefined ? {} : { token });
const made = async (body: object) => {
  const answer = await create({ domain: 'https://www.example.com', ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
};

describe('POST', () => {
  it('200: everything but the domain has a default', async () => {
    const { status, body, headers } = await create({ domain: ' https://Www.Example.com/ ' });
    expect([status, headers.get('x-ignored-fields')]).toEqual([200, null]);
    const { id, uuid, project_id, config, urls_list, created_at, updated_at, ...rest } = body;
    expect([typeof id, typeof project_id, typeof config, typeof urls_list]).toEqual([
      'number',
      'number',
      'string',
      'string',
    ]);
    expect(uuid).toMatch(/^[0-9a-f-]{36}$/);
    expect(created_at).toBe(updated_at);
    expect(rest).toEqual({
      domain: 'https://Www.Example.com/',
      name: 'www.example.com',
      domain_verified: 0,
      browser_mode: false,
      urls: [],
      start_urls: ['/'],
      headers: {},
      include: [],
      exclude: [],
      workers: 2,
      delay: 4,
      depth: -1,
      max_hits: 0,
      max_html: 500,
      max_errors: 100,
      status_ok: [200],
      sitemap: [],
      allowed_domains: [],
      merge_domains: false,
      user_agent: 'Mozilla/5.0 (compatible; Portico/unknown; +http://portico.test)',
      assets: { network_intercept: { enabled: false, timeout: 30, execute_js: true }, parser: { enabled: true } },
      ignore_robots: false,
      browser_config: { capture_api_responses: false, wait_for_network_idle: 0, use_rendered_html: false },
      publish: { auto: true, max_lost_percent: 10, max_error_percent: 10 },
      verification: { state: 'none', method: null, checked_at: null },
      published_snapshot_id: null,
      last_run: null,
      deleted_at: null,
    });
  });

  it('200: trusted names are verified, and so may be addresses and single labels', async () => {
    const one = await create({ domain: 'localhost:8080', workers: 20, delay: 0, ignore_robots: true });
    expect([one.status, one.body.domain_verified, one.body.verification.method]).toEqual([200, 1, 'operator']);
    expect((await create({ domain: 'http://a.below.example', delay: 0 })).status).toBe(200);
    for (const domain of ['localhost', 'localhost:8081', '127.0.0.1', '[::1]:8080'])
      expectRefusal(
        await create({ domain }),
        400,
        'invalid_request',
        'domain: must be a host name or an http(s) origin',
      );
  });

  it.each([
    ['example.com'],
    ['HTTPS://EXAMPLE.COM'],
    ['http://example.com:8081/'],
    ['bücher.example'],
    [`${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(57)}.com`],
  ])('takes %s for a domain', async (domain) => {
    const { body } = await create({ domain });
    expect(body.domain).toBe(domain);
  });

  it.each([[undefined], [null]])('400: domain %j is required', async (domain) => {
    expectRefusal(await create({ domain }), 400, 'invalid_request', 'domain: is required');
  });

  it.each([
    [7],
    [''],
    ['example.com/a'],
    ['example.com?x'],
    ['a@example.com'],
    ['https://a:b@example.com'],
    ['ftp://example.com'],
    ['co.uk'],
    ['github.io'],
    ['com'],
    ['exa mple.com'],
    ['example.com:99999'],
    ['example..com'],
    [`${'a'.repeat(64)}.com`],
    [`${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(58)}.com`],
    ['0x7f.1'],
    ['2130706433'],
  ])('400: %j is no domain', async (domain) => {
    expectRefusal(await create({ domain }), 400, 'invalid_request', 'domain: must be a host name or an http(s) origin');
  });
});

describe('names in paths', () => {
  it('the UUID in any case and the number mean the same', async () => {
    const { id, uuid } = await made({});
    for (const name of [id, uuid, uuid.toUpperCase()]) expect((await read(name)).body.uuid).toBe(uuid);
  });

  it.each([
    ['0'],
    ['-1'],
    ['1.5'],
    ['01'],
    ['2147483648'],
    ['99999999999999999999'],
    ['999999'],
    ['x'],
    ['00000000-0000-4000-8000-000000000000'],
  ])('404: %s', async (name) => {
    for (const answer of [await read(name), await change(name, {}), await app.ask('DELETE', `${crawlers}/${name}`)])
      expectRefusal(answer, 404, 'not_found', 'Crawler not found');
  });

  it('404 for a crawler of another project', async () => {
    await app.run(createProject, { organization: 'acme', name: 'Other', machine_name: 'other' });
    const { uuid } = await made({});
    const answer = await app.ask('GET', `${acme}/projects/other/crawlers/${uuid}`);
    expectRefusal(answer, 404, 'not_found', 'Crawler not found');
  });
});

describe('PATCH', () => {
  it('leaves what is absent, replaces what is there whole, and takes null for the default', async () => {
    const { uuid } = await made({
      name: 'A',
      exclude: ['x'],
      headers: { 'X-A': '1' },
      depth: 3,
      status_ok: [200, 404],
    });
    const domain = 'https://www.example.com';
    const first = await change(uuid, { domain, exclude: ['y', 'z'], assets: { network_intercept: { timeout: 60 } } });
    expect(first.body).toMatchObject({
      name: 'A',
      exclude: ['y', 'z'],
      headers: { 'X-A': '1' },
      depth: 3,
      assets: { network_intercept: { enabled: false, timeout: 60, execute_js: true }, parser: { enabled: true } },
    });
    const second = await change(uuid, { domain, assets: { parser: { enabled: false } }, depth: null, name: null });
    expect(second.body).toMatchObject({
      name: 'www.example.com',
      depth: -1,
      assets: { network_intercept: { timeout: 30 }, parser: { enabled: false } },
      status_ok: [200, 404],
    });
  });

  it('changes nothing but updated_at when what was read is sent back', async () => {
    const body = {
      domain: 'http://trusted.example:81',
      name: 'Round',
      urls: ['/a', 'https://docs.example.com/x'],
      start_urls: ['/s'],
      headers: { 'X-A': 'é' },
      include: ['^a'],
      exclude: ['b$'],
      webhook_url: 'https://hooks.example.com/crawl',
      webhook_auth_header: 'Bearer x',
      webhook_extra_vars: 'a=1&b=',
      workers: 20,
      delay: 0.25,
      depth: 4,
      max_hits: 10,
      max_html: 0,
      max_errors: 0,
      status_ok: [404, 200, 404],
      sitemap: [{ url: '/sitemap.xml' }],
      allowed_domains: ['https://Docs.Example.com/', '*.cdn.example.com'],
      user_agent: 'Me/1.0',
      assets: { network_intercept: { enabled: true } },
      ignore_robots: true,
      browser_config: { use_rendered_html: true },
      publish: { auto: false },
    };
    const before = await made(body);
    expect(before).toMatchObject({
      merge_domains: true,
      allowed_domains: ['docs.example.com', '*.cdn.example.com'],
      status_ok: [404, 200],
    });
    for (const draft of [before, await made({})]) {
      app.clock.now = new Date(Date.now() + 60_000);
      const { body: after, status } = await change(draft.uuid, draft);
      app.clock.now = null;
      expect(status, JSON.stringify(after)).toBe(200);
      expect(after.updated_at).not.toBe(draft.updated_at);
      expect({ ...after, updated_at: draft.updated_at }).toEqual(draft);
    }
  });

  it('goes on following a default that was only read and sent back', async () => {
    const draft = await made({});
    await change(draft.uuid, draft);
    const { body } = await change(draft.uuid, { domain: draft.domain, urls: ['/only'] });
    expect([body.start_urls, body.max_html]).toEqual([[], 500]);
    expect((await made({ start_urls: ['/'] })).start_urls).toEqual(['/']);
  });

  it('keeps start_urls that somebody chose', async () => {
    const { uuid, domain } = await made({ start_urls: ['/'], urls: ['/a'] });
    expect((await change(uuid, { domain, urls: ['/b'] })).body.start_urls).toEqual(['/']);
    expect((await change(uuid, { domain, start_urls: null })).body.start_urls).toEqual([]);
  });

  it('is all or nothing', async () => {
    const { uuid, domain } = await made({ name: 'Before' });
    expect((await change(uuid, { domain, name: 'After', depth: -2 })).status).toBe(400);
    expect((await read(uuid)).body.name).toBe('Before');
  });

  it('refuses a change that puts another field in the wrong', async () => {
    const { uuid } = await made({ urls: ['https://www.example.com/a'] });
    const answer = await change(uuid, { domain: 'example.org' });
    const text = 'urls: [0] must be a path or an http(s) URL of an allowed domain';
    expectRefusal(answer, 400, 'invalid_request', text);
  });

  it('names user_agent as ignored while the browser is on', async () => {
    const { uuid, domain } = await made({ browser_mode: true });
    const { headers, body } = await change(uuid, {
      domain,
      user_agent: 'Me',
      nonsense: 1,
      sitemap: [{ url: '/s', x: 1 }],
    });
    expect(headers.get('x-ignored-fields')).toBe('nonsense,sitemap.0.x,user_agent');
    expect(body.user_agent).toBe('Me');
    expect((await change(uuid, { domain, browser_mode: false })).body.user_agent).toBe('Me');
  });

  it('the domain is required even when nothing about it changes', async () => {
    const { uuid } = await made({});
    expectRefusal(await change(uuid, { name: 'x' }), 400, 'invalid_request', 'domain: is required');
  });

  it.each([['[]'], ['7'], ['null'], ['{"domain":']])('400: %s is no body', async (body) => {
    const { uuid } = await made({});
    const answer = await app.ask('PATCH', `${crawlers}/${uuid}`, { body });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
  });
});

describe('DELETE', () => {
  it('204, and it is gone; again: 404', async () => {
    const { uuid } = await made({});
    expect((await app.ask('DELETE', `${crawlers}/${uuid}`)).status).toBe(204);
    for (const method of ['GET', 'DELETE'])
      expectRefusal(await app.ask(method, `${crawlers}/${uuid}`), 404, 'not_found', 'Crawler not found');
    const { body } = await app.ask('GET', crawlers);
    expect(body.map((one: { uuid: string }) => one.uuid)).not.toContain(uuid);
    const [row] = await app.services.orm.em.fork().execute('select deleted_at from crawler where uuid = ?', [uuid]);
    expect(row?.deleted_at).not.toBe(null);
  });
});

describe('what may be a credential', () => {
  it('is sealed, and shown only to callers with edit_crawlers', async () => {
    const draft = { headers: { Authorization: 'Basic s3cret' }, webhook_auth_header: 'Bearer hush' };
    const { uuid, config } = await made(draft);
    expect(config).toContain('Basic s3cret');
    const [row] = await app.services.orm.em.fork().execute('select * from crawler where uuid = ?', [uuid]);
    expect(JSON.stringify(row)).not.toMatch(/s3cret|hush/);
    const reader = await app.makeToken(permissionNames.filter((name) => name !== 'edit_crawlers'));
    const [listed] = (await app.ask('GET', crawlers, { token: reader })).body.slice(-1);
    for (const shown of [(await read(uuid, reader)).body, listed]) {
      expect(JSON.stringify(shown)).not.toMatch(/s3cret|hush/);
      expect(shown).not.toHaveProperty('headers');
      expect(shown).not.toHaveProperty('webhook_auth_header');
      expect(shown.config).toContain('\n    headers: {}\n');
    }
    expect((await read(uuid)).body).toMatchObject(draft);
    expect(app.log.join('')).not.toMatch(/s3cret|hush/);
  });

  it('stays when other fields change, and goes by null', async () => {
    const { uuid, domain } = await made({ headers: { 'X-A': '1' }, webhook_auth_header: 'Bearer hush' });
    const kept = await change(uuid, { domain, depth: 1, headers: null });
    expect(kept.body).toMatchObject({ headers: {}, webhook_auth_header: 'Bearer hush' });
    const gone = await change(uuid, { domain, webhook_auth_header: null });
    expect(gone.body).not.toHaveProperty('webhook_auth_header');
  });
});

describe('limits on unverified domains', () => {
  const fields = [
    ['workers', 3],
    ['delay', 3.9],
    ['max_hits', 1],
    ['max_html', 499],
    ['ignore_robots', true],
  ] as const;

  it.each(fields)('403: %s %j', async (name, value) => {
    const message = `${name}: a non-default value requires a verified domain`;
    const made = await create({ domain: 'example.com', [name]: value });
    expectRefusal(made, 403, 'verification_required', message);
    expect(made.body.details.errors).toEqual([
      { field: `/${name}`, code: 'verification_required', message: 'a non-default value requires a verified domain' },
    ]);
  });

  it('the first in the documented order, whatever the order of the body', async () => {
    const body = Object.fromEntries([...fields].reverse());
    const answer = await create({ domain: 'example.com', ...body });
    expectRefusal(answer, 403, 'verification_required', /^workers: /);
    expect(answer.body.details.errors).toHaveLength(5);
  });

  it('malformed values are told first, and defaults may be sent', async () => {
    const bad = await create({ domain: 'example.com', workers: 3, publish: { auto: 1 } });
    expectRefusal(bad, 400, 'invalid_request', 'publish: auto must be a boolean');
    const usual = { workers: 2, delay: 4, max_hits: 0, max_html: 500, ignore_robots: false };
    expect((await create({ domain: 'example.com', ...usual })).status).toBe(200);
    expect((await create({ domain: 'example.com', workers: null, max_html: null })).status).toBe(200);
  });

  it('the host after the change counts', async () => {
    const { uuid } = (await create({ domain: 'trusted.example', workers: 9 })).body;
    expectRefusal(await change(uuid, { domain: 'example.com', workers: 9 }), 403, 'verification_required', /^workers/);
    const moved = await change(uuid, { domain: 'example.com' });
    expect([moved.status, moved.body.workers, moved.body.domain_verified]).toEqual([200, 9, 0]);
    const back = await change(uuid, { domain: 'trusted.example', workers: 10 });
    expect([back.status, back.body.domain_verified]).toEqual([200, 1]);
  });
});

describe('who may', () => {
  it.each([
    ['GET', '', 'browse_crawlers'],
    ['POST', '', 'edit_crawlers'],
    ['GET', '/x', 'browse_crawlers'],
    ['PATCH', '/x', 'edit_crawlers'],
    ['DELETE', '/x', 'delete_crawlers'],
  ] as const)('%s %s needs %s, before anything else is looked at', async (method, at, permission) => {
    const token = await app.makeToken(permissionNames.filter((name) => name !== permission));
    const answer = await app.ask(method, `${crawlers}${at}`, {
      token,
      ...(method !== 'GET' && { body: { workers: 0 } }),
    });
    expectRefusal(answer, 403, 'forbidden', new RegExp(permission));
  });

  it('403 to a token of another organisation', async () => {
    await app.run(createOrganization, { name: 'Far', machine_name: 'far' });
    const token = await app.makeToken(permissionNames, { organization: 'far' });
    expect((await app.ask('GET', crawlers, { token })).status).toBe(403);
  });

  it('401 without a token', async () => {
    expect((await app.ask('GET', crawlers, { token: null })).status).toBe(401);
  });
});

describe('many', () => {
  it('carry their newest run each', async () => {
    const ids = [];
    for (const name of ['a', 'b']) {
      const { id, uuid } = await made({ name });
      for (let runs = 0; runs < 2; runs++) await app.ask('POST', `${crawlers}/${uuid}/run`, { body: {} });
      ids.push(id);
    }
    const list = (await app.ask('GET', crawlers)).body;
    for (const id of ids) {
      const { last_run } = list.find((one: { id: number }) => one.id === id);
      const [newest] = (await app.ask('GET', `${crawlers}/${id}/runs`)).body;
      expect([last_run.crawler_config_id, last_run.last_status, last_run.id]).toEqual([id, 'queued', newest.id]);
    }
  });

  it('409 for the 501st of a project; a deleted one makes room', async () => {
    await app.run(createProject, { organization: 'acme', name: 'Full', machine_name: 'full' });
    const full = `${acme}/projects/full/crawlers`;
    const first = await app.ask('POST', full, { body: { domain: 'example.com' } });
    await app.services.orm.em.fork().execute(
      `insert into crawler (uuid, project_id, name, domain, host, settings, version, created_at, updated_at)
       select gen_random_uuid(), project_id, name, domain, host, settings, 1, created_at, updated_at
       from crawler, generate_series(1, 498) where uuid = ?`,
      [first.body.uuid],
    );
    expect((await app.ask('POST', full, { body: { domain: 'example.com' } })).status).toBe(200);
    const over = await app.ask('POST', full, { body: { domain: 'example.com' } });
    expectRefusal(over, 409, 'limit_reached', /500 crawlers/);
    const list = (await app.ask('GET', full)).body;
    expect(list).toHaveLength(500);
    expect(list.map(({ id }: { id: number }) => id)).toEqual(
      list.map(({ id }: { id: number }) => id).toSorted((a: number, b: number) => a - b),
    );
    await app.ask('DELETE', `${full}/${first.body.uuid}`);
    expect((await app.ask('POST', full, { body: { domain: 'example.com' } })).status).toBe(200);
  });
});
