import { describe, expect, it } from 'vitest';
import { createOrganization } from '../../../src/domain/organizations/organizations.operations.ts';
import { createProject } from '../../../src/domain/projects/projects.operations.ts';
import { permissionNames } from '../../../src/kernel/actor.ts';
import { acme, shared, startTestApp } from '../../support/app.ts';
import { crawlers, crawlersApi } from '../../support/crawlers/crawlers-api.ts';
import { expectRefusal } from '../../support/refusal.ts';

const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: 'localhost:8080,trusted.example,*.below.example' }));
const { create, change, read, made } = crawlersApi(() => app);

const untrusted =
  'domain: must be a host name or an http(s) origin; an address or a single label only where PORTICO_TRUSTED_DOMAINS lists it';

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
      expectRefusal(await create({ domain }), 400, 'invalid_request', untrusted);
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
    ['exa mple.com'],
    ['example.com:99999'],
    ['example..com'],
    [`${'a'.repeat(64)}.com`],
    [`${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(58)}.com`],
  ])('400: %j is no domain', async (domain) => {
    expectRefusal(await create({ domain }), 400, 'invalid_request', 'domain: must be a host name or an http(s) origin');
  });

  it.each(['0x7f.1', '2130706433', 'com', 'http://intranet'])('400: %j is not a public host name', async (domain) => {
    expectRefusal(await create({ domain }), 400, 'invalid_request', untrusted);
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
