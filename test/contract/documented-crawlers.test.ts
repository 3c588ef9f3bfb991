import { readFile } from 'node:fs/promises';
import { Validator } from '@cfworker/json-schema';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, acme, shared, startTestApp } from '../support/app.ts';

/** The request fields of the interface's document, each with a value of its own. */
const fields = {
  name: 'Docs',
  domain: 'https://www.docs.test',
  browser_mode: false,
  urls: ['/one', 'https://www.docs.test/two'],
  start_urls: ['/', '/start'],
  headers: { 'X-Api-Key': 'abc' },
  exclude: ['\\.pdf$'],
  include: ['^https://'],
  webhook_url: 'https://hooks.docs.test/crawl',
  webhook_auth_header: 'Bearer t0k3n',
  webhook_extra_vars: 'key1=value1&key2=value2',
  workers: 20,
  delay: 0.5,
  depth: 3,
  max_hits: 1_000,
  max_html: 250,
  status_ok: [200, 404],
  sitemap: [{ url: '/sitemap.xml', recursive: true }],
  allowed_domains: ['cdn.docs.test'],
  user_agent: 'Docs/1.0',
  assets: { network_intercept: { enabled: true, timeout: 60, execute_js: false }, parser: { enabled: false } },
  max_errors: 7,
};

/** The response fields of the document beside those of the request, by type. */
const responseTypes = {
  id: expect.any(Number),
  uuid: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
  project_id: expect.any(Number),
  config: expect.stringContaining('config:\n'),
  urls_list: expect.stringContaining('single_url:'),
  domain_verified: 1,
  created_at: expect.stringMatching(/Z$/),
  updated_at: expect.stringMatching(/Z$/),
  deleted_at: null,
};

const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: '*.docs.test' }));
let at: string;
let publishedSchemas: Record<string, object>;

beforeAll(async () => {
  const { components } = JSON.parse(await readFile(new URL('../../openapi.json', import.meta.url), 'utf8'));
  publishedSchemas = components.schemas;
  const { body } = await app.ask('POST', `${acme}/projects/site/crawlers`, { body: { domain: 'www.docs.test' } });
  at = `${acme}/projects/site/crawlers/${body.uuid}`;
});

/** What an answer has that the published schema of its kind does not allow. */
function faultsOf(kind: string, { body }: Answer): unknown[] {
  const schema = { $ref: `#/components/schemas/${kind}`, components: { schemas: publishedSchemas } };
  return new Validator(schema as never, '2020-12', false).validate(body).errors;
}

describe('PATCH …/crawlers/{crawler}', () => {
  it('takes every documented field, and answers with all of them', async () => {
    const answer = await app.ask('PATCH', at, { body: fields });
    expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, null]);
    expect(answer.body).toMatchObject({ ...fields, ...responseTypes });
    expect(faultsOf('Crawler', answer)).toEqual([]);
  });

  it('leaves what it does not mention', async () => {
    const before = (await app.ask('PATCH', at, { body: fields })).body;
    const { status, body } = await app.ask('PATCH', at, { body: { domain: fields.domain } });
    expect(status).toBe(200);
    expect({ ...body, updated_at: '' }).toEqual({ ...before, updated_at: '' });
    expect(Date.parse(body.updated_at)).toBeGreaterThanOrEqual(Date.parse(before.updated_at));
  });

  it.each(Object.entries(fields).filter(([name]) => name !== 'domain'))('takes %s alone', async (name, value) => {
    const { status, body } = await app.ask('PATCH', at, { body: { domain: fields.domain, [name]: value } });
    expect([status, body[name]]).toEqual([200, value]);
  });

  it('400 and 403 have the documented error body', async () => {
    const refused = await app.ask('PATCH', at, { body: { workers: 2 } });
    expect(refused).toMatchObject({ status: 400, body: { message: 'domain: is required', error: true } });
    const forbidden = await app.ask('PATCH', at, {
      body: { domain: 'elsewhere.example', urls: null, start_urls: null, workers: 3 },
    });
    expect(forbidden).toMatchObject({
      status: 403,
      body: { message: 'workers: a non-default value requires a verified domain', error: true },
    });
    for (const answer of [refused, forbidden]) expect(faultsOf('Error', answer)).toEqual([]);
  });
});

describe('PATCH …/crawlers/{crawler}/schedules/{crawler_schedule}', () => {
  it('takes the documented body, and answers with every documented field', async () => {
    const crawler = (await app.ask('PATCH', at, { body: { domain: fields.domain, name: 'Docs' } })).body;
    const { body: made } = await app.ask('POST', `${at}/schedules`, { body: { schedule_cron_string: '0 0 * * *' } });
    const answer = await app.ask('PATCH', `${at}/schedules/${made.id}`, {
      body: { name: 'Mornings', schedule_cron_string: '30 6 * * 1-5' },
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      id: made.id,
      name: 'Mornings',
      crawler_config_id: crawler.id,
      crawler_uuid: crawler.uuid,
      project_id: crawler.project_id,
      crawler_last_run_id: 0,
      schedule_cron_string: '30 6 * * 1-5',
      created_at: made.created_at,
      updated_at: expect.stringMatching(/Z$/),
    });
    expect(faultsOf('CrawlerSchedule', answer)).toEqual([]);
    const unnamed = await app.ask('PATCH', `${at}/schedules/${made.id}`, {
      body: { schedule_cron_string: '30 6 * * 1-5' },
    });
    expect([unnamed.status, unnamed.body.name]).toEqual([200, 'Schedule Docs']);
    const refused = await app.ask('PATCH', `${at}/schedules/${made.id}`, { body: { name: 'x' } });
    expect(refused).toMatchObject({ status: 400, body: { message: 'schedule_cron_string: is required', error: true } });
  });
});
