import { describe, expect, it } from 'vitest';
import { updateCrawler } from '../../../src/domain/crawlers/config/crawlers.operations.ts';
import { permissionNames } from '../../../src/kernel/actor.ts';
import { shared, startTestApp } from '../../support/app.ts';
import { crawlers, crawlersApi } from '../../support/crawlers/crawlers-api.ts';
import { expectRefusal } from '../../support/refusal.ts';

const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: 'localhost:8080,trusted.example,*.below.example' }));
const { change, read, made } = crawlersApi(() => app);

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
      const { warnings, ...saved } = after;
      expect({ ...saved, updated_at: draft.updated_at }).toEqual(draft);
      // What only the service says of a crawler cannot be set.
      expect(warnings.map(({ field }: { field: string }) => field)).toContain('/created_at');
    }
  });

  it('goes on following a default that was only read and sent back', async () => {
    const draft = await made({});
    await change(draft.uuid, draft);
    const { body } = await change(draft.uuid, { domain: draft.domain, urls: ['/only'] });
    expect([body.start_urls, body.max_html]).toEqual([[], 500]);
    expect((await made({ start_urls: ['/'] })).start_urls).toEqual(['/']);
  });

  it('keeps start_urls that were set explicitly', async () => {
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

  it('refuses a field without effect, and writes nothing, when nothing may be ignored', async () => {
    const { uuid, domain } = await made({ browser_mode: true });
    const strict = { headers: { Prefer: 'handling=strict' } };
    const before = (await app.ask('GET', `${crawlers}/${uuid}`)).body;
    const text = 'user_agent: has no effect here; remove it, or send no Prefer: handling=strict';
    const answer = await app.ask('PATCH', `${crawlers}/${uuid}`, { body: { domain, user_agent: 'Me' }, ...strict });
    expectRefusal(answer, 400, 'invalid_request', text);
    expect((await app.ask('GET', `${crawlers}/${uuid}`)).body).toEqual(before);
    const count = async () => (await app.ask('GET', `${crawlers}?per_page=1`)).headers.get('x-total-count');
    const total = await count();
    const body = { domain: 'strict.example.org', name: 'Strict', browser_mode: true, user_agent: 'Me' };
    expectRefusal(await app.ask('POST', crawlers, { body, ...strict }), 400, 'invalid_request', text);
    expect(await count()).toBe(total);
    const effective = { domain, user_agent: 'Me', browser_mode: false };
    expect((await app.ask('PATCH', `${crawlers}/${uuid}`, { body: effective, ...strict })).status).toBe(200);
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

it('names the crawler that is not named by a text, as a step of a workflow can', async () => {
  const input = { organization: 'acme', project: 'site', crawler: 6, depth: 2 };
  await expect(app.run(updateCrawler, input)).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringMatching(/^crawler: /),
  });
});
