import { describe, expect, it } from 'vitest';
import { acme, shared, startTestApp } from '../../support/app.ts';
import { expectRefusal } from '../../support/refusal.ts';

const crawlers = `${acme}/projects/site/crawlers`;

const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: 'own.example' }));

const create = (body: object) => app.ask('POST', crawlers, { body: { domain: 'own.example', ...body } });

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const paths = (count: number) => times(count, (i) => `/${i}`);
const headers = (count: number) => Object.fromEntries(times(count, (i) => [`X-${i}`, 'v']));
const inScope = 'must be a path or an http(s) URL of an allowed domain';
const max = 2 ** 31 - 1;

describe('each field takes', () => {
  it.each<[string, unknown]>([
    ['name', 'n'],
    ['name', 'ü'.repeat(255)],
    ['browser_mode', true],
    ['urls', paths(10_000)],
    ['urls', [`/${'a'.repeat(2_047)}`, 'https://www.own.example/x', 'HTTP://OWN.EXAMPLE', '/ü b?c=d#e']],
    ['start_urls', paths(1_000)],
    ['headers', headers(50)],
    ['headers', { "X!#$%&'*+-.^_`|~9": 'v'.repeat(4_096), 'X-Empty': '', Cookie: 'a=b', Authorization: 'x\tÿ' }],
    ['include', times(1_000, (i) => `^/${i}$`)],
    ['exclude', times(50, () => 'a'.repeat(2_000))],
    ['webhook_url', `https://h.example/${'a'.repeat(2_048 - 18)}`],
    ['webhook_auth_header', 'v'.repeat(4_096)],
    ['webhook_extra_vars', `${times(49, (i) => `k${i}=v`).join('&')}&last=`],
    ['webhook_extra_vars', `k=${'v'.repeat(2_046)}`],
    ['workers', 1],
    ['workers', 20],
    ['delay', 0],
    ['delay', 10],
    ['delay', 0.1],
    ['depth', -1],
    ['depth', max],
    ['max_hits', 0],
    ['max_hits', max],
    ['max_html', 0],
    ['max_html', max],
    ['max_errors', 0],
    ['max_errors', max],
    ['status_ok', times(50, (i) => 200 + i)],
    ['status_ok', [599]],
    ['sitemap', times(100, () => ({ url: '/s.xml', recursive: true }))],
    ['allowed_domains', times(50, (i) => `d${i}.example`)],
    ['user_agent', 'x'],
    ['user_agent', '~ '.repeat(256)],
    ['assets', { network_intercept: { enabled: true, timeout: 1, execute_js: false }, parser: { enabled: false } }],
    ['assets', { network_intercept: { enabled: true, timeout: 86_400, execute_js: true }, parser: { enabled: true } }],
    ['ignore_robots', true],
    ['browser_config', { capture_api_responses: true, wait_for_network_idle: 60_000, use_rendered_html: true }],
    ['publish', { auto: false, max_lost_percent: 0, max_error_percent: 100 }],
  ])('%s %#', async (field, value) => {
    const { status, body } = await create({ [field]: value });
    expect([status, body.message]).toEqual([200, undefined]);
    expect(body[field]).toEqual(value);
  });
});

describe('each field refuses', () => {
  it.each<[string, unknown, string]>([
    ['name', '', 'must be 1 to 255 characters'],
    ['name', '  ', 'must be 1 to 255 characters'],
    ['name', 'n'.repeat(256), 'must be 1 to 255 characters'],
    ['name', 5, 'must be 1 to 255 characters'],
    ['name', 'a\u0000', 'must be text without NUL'],
    ['name', '\ud800', 'must be text without NUL'],
    ['domain', 'a\u0000.example', 'must be text without NUL'],
    ['browser_mode', 'true', 'must be a boolean'],
    ['browser_mode', 1, 'must be a boolean'],
    ['urls', 'x', 'must be a list'],
    ['urls', paths(10_001), 'must be at most 10000 URLs'],
    ['urls', ['/a', `/${'a'.repeat(2_048)}`], `[1] ${inScope}`],
    ['urls', ['a'], `[0] ${inScope}`],
    ['urls', ['//else.example/'], `[0] ${inScope}`],
    ['urls', ['https://else.example/'], `[0] ${inScope}`],
    ['urls', ['https://own.example:8443/'], `[0] ${inScope}`],
    ['urls', ['https://u:p@own.example/'], `[0] ${inScope}`],
    ['urls', ['ftp://own.example/'], `[0] ${inScope}`],
    ['urls', ['javascript:1'], `[0] ${inScope}`],
    ['urls', ['/a\nb'], `[0] ${inScope}`],
    ['urls', ['/a\u0000'], '[0] must be text without NUL'],
    ['urls', [7], `[0] ${inScope}`],
    ['start_urls', paths(1_001), 'must be at most 1000 URLs'],
    ['start_urls', [], 'needs an entry when urls and sitemap are empty'],
    ['headers', [], 'must be an object'],
    ['headers', headers(51), 'must be at most 50 headers'],
    ['headers', { 'X Y': '1' }, 'X Y is not a valid header name'],
    ['headers', { '': '1' }, ' is not a valid header name'],
    ['headers', { 'X-Ä': '1' }, 'X-Ä is not a valid header name'],
    ['headers', { hOst: '1' }, 'hOst may not be set'],
    ['headers', { 'If-None-Match': '1' }, 'If-None-Match may not be set'],
    ['headers', { 'Proxy-Authorization': '1' }, 'Proxy-Authorization may not be set'],
    ['headers', { 'Keep-Alive': '1' }, 'Keep-Alive may not be set'],
    ['headers', { Range: '1' }, 'Range may not be set'],
    ['headers', { 'X-A': 'a\r\nb' }, 'X-A has an invalid value'],
    ['headers', { 'X-A': 'a\u0000' }, 'X-A has an invalid value'],
    ['headers', { 'X-A': '€' }, 'X-A has an invalid value'],
    ['headers', { 'X-A': 1 }, 'X-A has an invalid value'],
    ['headers', { 'X-A': 'v'.repeat(4_097) }, 'X-A has an invalid value'],
    ['headers', { 'X-A': '1', 'x-a': '2' }, 'x-a is given twice'],
    ['include', times(1_001, () => 'a'), 'must be at most 1000 patterns'],
    ['include', ['a', '(b'], '[1] is not a valid pattern: missing closing ): `(b`'],
    ['include', ['(?=a)'], '[0] is not a valid pattern: invalid or unsupported Perl syntax: `(?=`'],
    ['include', ['a'.repeat(2_001)], '[0] must be at most 2000 characters'],
    ['exclude', [...times(50, () => 'a'.repeat(2_000)), 'a'], 'must be at most 100000 characters together'],
    ['exclude', ['\\1'], '[0] is not a valid pattern: invalid escape sequence: `\\1`'],
    ['webhook_url', 'ftp://h.example', 'must be an http(s) URL'],
    ['webhook_url', 'https://u@h.example', 'must be an http(s) URL'],
    ['webhook_url', '/x', 'must be an http(s) URL'],
    ['webhook_url', `https://h.example/${'a'.repeat(2_049 - 18)}`, 'must be an http(s) URL'],
    ['webhook_auth_header', 'v'.repeat(4_097), 'is not a valid header value'],
    ['webhook_auth_header', 'a\nb', 'is not a valid header value'],
    ['webhook_extra_vars', '', 'must be key=value pairs joined by &'],
    ['webhook_extra_vars', 'a', 'must be key=value pairs joined by &'],
    ['webhook_extra_vars', 'a=1&', 'must be key=value pairs joined by &'],
    ['webhook_extra_vars', '=1', 'must be key=value pairs joined by &'],
    ['webhook_extra_vars', times(51, (i) => `k${i}=v`).join('&'), 'must be key=value pairs joined by &'],
    ['webhook_extra_vars', `k=${'v'.repeat(2_047)}`, 'must be key=value pairs joined by &'],
    ['workers', 0, 'must be an integer from 1 to 20'],
    ['workers', 21, 'must be an integer from 1 to 20'],
    ['workers', '2', 'must be an integer from 1 to 20'],
    ['workers', 2.5, 'must be an integer from 1 to 20'],
    ['delay', -0.1, 'must be a number from 0 to 10'],
    ['delay', 10.1, 'must be a number from 0 to 10'],
    ['delay', '4', 'must be a number from 0 to 10'],
    ['depth', -2, 'must be an integer of at least -1'],
    ['depth', max + 1, 'must be at most 2147483647'],
    ['max_hits', -1, 'must be an integer of at least 0'],
    ['max_hits', max + 1, 'must be at most 2147483647'],
    ['max_html', -1, 'must be an integer of at least 0'],
    ['max_errors', -1, 'must be an integer of at least 0'],
    ['status_ok', [], 'must be 1 to 50 status codes'],
    ['status_ok', times(51, (i) => 200 + i), 'must be 1 to 50 status codes'],
    ['status_ok', [200, 199], '[1] must be a status code from 200 to 599'],
    ['status_ok', [600], '[0] must be a status code from 200 to 599'],
    ['status_ok', ['200'], '[0] must be a status code from 200 to 599'],
    ['sitemap', times(101, () => ({ url: '/s' })), 'must be at most 100 sitemaps'],
    ['sitemap', [{ recursive: true }], '[0].url is required'],
    ['sitemap', [{ url: '/a' }, { url: '/b', recursive: 1 }], '[1].recursive must be a boolean'],
    ['sitemap', [{ url: 'mailto:a' }], '[0].url must be a path or an http(s) URL'],
    ['sitemap', [{ url: 5 }], '[0].url must be a path or an http(s) URL'],
    ['sitemap', [{ url: `/${'a'.repeat(2_048)}` }], '[0].url must be a path or an http(s) URL'],
    ['allowed_domains', times(51, () => 'a.example'), 'must be at most 50 domains'],
    ['allowed_domains', ['a.example/b'], '[0] must be a host name'],
    ['allowed_domains', ['a.example', '*.com'], '[1] must be a host name'],
    ['allowed_domains', ['*'], '[0] must be a host name'],
    ['user_agent', '', 'is not a valid header value'],
    ['user_agent', '  ', 'is not a valid header value'],
    ['user_agent', 'a\nb', 'is not a valid header value'],
    ['user_agent', 'ä', 'is not a valid header value'],
    ['user_agent', 'x'.repeat(513), 'is not a valid header value'],
    ['assets', { network_intercept: { timeout: 0 } }, 'network_intercept.timeout must be an integer from 1 to 86400'],
    [
      'assets',
      { network_intercept: { timeout: 86_401 } },
      'network_intercept.timeout must be an integer from 1 to 86400',
    ],
    ['assets', { parser: { enabled: 'on' } }, 'parser.enabled must be a boolean'],
    ['ignore_robots', 'no', 'must be a boolean'],
    ['browser_config', { wait_for_network_idle: 60_001 }, 'wait_for_network_idle must be an integer from 0 to 60000'],
    ['browser_config', { wait_for_network_idle: -1 }, 'wait_for_network_idle must be an integer from 0 to 60000'],
    ['publish', { max_lost_percent: 101 }, 'max_lost_percent must be an integer from 0 to 100'],
    ['publish', { max_error_percent: -1 }, 'max_error_percent must be an integer from 0 to 100'],
  ])('%s %#', async (field, value, reason) => {
    expectRefusal(await create({ [field]: value }), 400, 'invalid_request', `${field}: ${reason}`);
  });

  it('a name that JavaScript objects cannot hold', async () => {
    const body = '{"domain": "own.example", "headers": {"__proto__": "x"}}';
    const answer = await app.ask('POST', crawlers, { body });
    expectRefusal(answer, 400, 'invalid_request', 'headers.__proto__: is not a name that can be used');
  });
});

it('lists all errors, the first of the documented order in front', async () => {
  const answer = await create({ publish: { auto: 1 }, workers: 0, urls: ['x', '/y', 'z'], exclude: ['('], name: '' });
  expectRefusal(answer, 400, 'invalid_request', 'name: must be 1 to 255 characters');
  expect(answer.body.details.errors.map(({ field }: { field: string }) => field)).toEqual([
    '/name',
    '/urls/0',
    '/urls/2',
    '/exclude/0',
    '/workers',
    '/publish/auto',
  ]);
});

it('takes a catastrophic pattern, and refuses patterns that are too large together', async () => {
  expect((await create({ exclude: ['(a+)+$', '(a|aa)*b'] })).status).toBe(200);
  expect((await create({ exclude: times(1_000, () => '/a?[^/]+/(b|c*)'.repeat(6).padEnd(100, 'd')) })).status).toBe(
    200,
  );
  // Together they would keep the thread busy for seconds with every URL.
  expect((await create({ exclude: times(200, () => '(x{1,50}){1,20}y') })).status).toBe(400);
  const answer = await create({ exclude: times(1_000, () => '(a{30}){30}') });
  expect([answer.status, answer.body.message]).toEqual([
    400,
    expect.stringMatching(/^exclude: \[\d+\] is not a valid pattern: the patterns before it and it are too large/),
  ]);
});

it.each(['(?i)(?:a?){600}a{600}z', '(a{30}){30}(a{30}){30}'])(
  'refuses a pattern whose repetitions alone are too large: %s',
  async (pattern) => {
    const answer = await create({ exclude: ['(?:a?){300}z', 'a'.repeat(2_000), pattern] });
    expect([answer.status, answer.body.message]).toEqual([
      400,
      'exclude: [2] is not a valid pattern: its counted repetitions are too large; repeat less, or split it into several patterns',
    ]);
  },
);

it('an allowed domain puts its URLs into scope, a wildcard those below it', async () => {
  const urls = ['https://docs.example/a', 'http://a.cdn.example/b'];
  expect((await create({ urls, allowed_domains: ['docs.example', '*.cdn.example'] })).status).toBe(200);
  const bare = await create({ urls: ['https://cdn.example/'], allowed_domains: ['*.cdn.example'] });
  expectRefusal(bare, 400, 'invalid_request', `urls: [0] ${inScope}`);
});

it('start_urls may be empty beside urls or a sitemap', async () => {
  for (const beside of [{ urls: ['/a'] }, { sitemap: [{ url: '/s' }] }])
    expect((await create({ start_urls: [], ...beside })).status).toBe(200);
});
