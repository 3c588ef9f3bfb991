import { describe, expect, it } from 'vitest';
import { hostOf, hostText } from '../../../../src/domain/crawlers/config/host.ts';
import { isTrusted, policyFor } from '../../../../src/domain/crawlers/verification/trusted-domains.ts';
import { ConfigError, readConfig } from '../../../../src/server/config.ts';
import { crawlLimitsOf } from '../../../../src/server/feature-settings.ts';
import fc from '../../../support/properties.ts';

const limitsOf = (environment: Record<string, string>) => crawlLimitsOf(readConfig(environment).config);
const trusted = (list: string) => limitsOf({ PORTICO_TRUSTED_DOMAINS: list }).trusted_domains;

describe('PORTICO_TRUSTED_DOMAINS', () => {
  it.each([
    ['a.example', 'a.example', true],
    ['a.example', 'a.example:8080', true],
    ['a.example', 'b.a.example', false],
    ['A.Example', 'a.example', true],
    ['localhost:8080', 'localhost:8080', true],
    ['localhost:8080', 'localhost', false],
    ['localhost:8080', 'localhost:8081', false],
    ['a.example:443', 'a.example', true],
    ['a.example:8443', 'a.example', false],
    ['*.a.example', 'b.a.example', true],
    ['*.a.example', 'c.b.a.example:81', true],
    ['*.a.example', 'a.example', false],
    ['*.a.example', 'xa.example', false],
    ['[::1]:8080', '[::1]:8080', true],
    ['10.0.0.1', '10.0.0.1:9', true],
    ['x.example, b.example', 'b.example', true],
    ['', 'a.example', false],
  ])('%s: %s is %s', (list, host, expected) => {
    expect(isTrusted(trusted(list), host)).toBe(expected);
  });

  it.each([
    [['a.example'], ['a.example', 'localhost:8080']],
    [['localhost:8080'], ['a.example', 'localhost:8080']],
    // Vouched for as a wildcard: not a host inside.
    [['x.b.example'], []],
    [['of.the.internet'], []],
    [['of.the.internet', 'localhost:8080'], ['localhost:8080']],
    [['of.the.internet', 'localhost:8081', '*.a.example'], []],
  ])('only exact names may be inner addresses; to a crawler of %j: %j', (hosts, names) => {
    const limits = limitsOf({ PORTICO_TRUSTED_DOMAINS: 'a.example,*.b.example,localhost:8080' });
    expect(policyFor(limits, { organization_id: 1, hosts }).trustedNames).toEqual(names);
  });

  it.each(['http://a.example', 'a.example/x', '*.', '*.a.example:80', 'a b', '*'])('refuses %s', (entry) => {
    expect(() => readConfig({ PORTICO_TRUSTED_DOMAINS: `a.example,${entry}` })).toThrow(ConfigError);
  });
});

describe('settings of crawls', () => {
  it('have defaults', () => {
    expect(limitsOf({})).toEqual({
      trusted_domains: [],
      max_html: 500,
      max_depth: 1_000,
      max_body_bytes: 100 * 2 ** 20,
      max_page_timeout: 300,
      quota_bytes: null,
      ports: [80, 443, 8080, 8443],
      strip_params: ['utm_*', 'gclid', 'fbclid'],
    });
    const { config } = readConfig({});
    expect(config).toMatchObject({
      PORTICO_DNS_SERVERS: [],
      PORTICO_SCHEDULE_GRACE: 60,
      PORTICO_CHROMIUM_NO_SANDBOX: 'off',
    });
    expect(config.PORTICO_CHROMIUM_PATH).toBeUndefined();
  });

  it.each([
    ['PORTICO_CRAWL_MAX_BODY_BYTES', '1048576', { max_body_bytes: 2 ** 20 }],
    ['PORTICO_CRAWL_QUOTA_BYTES', '20 GiB', { quota_bytes: 20 * 2 ** 30 }],
    ['PORTICO_CRAWL_PORTS', '80, 3000', { ports: [80, 3000] }],
    ['PORTICO_CRAWL_STRIP_PARAMS', 'a,b_*', { strip_params: ['a', 'b_*'] }],
  ])('%s=%s', (name, value, expected) => {
    expect(limitsOf({ [name]: value })).toMatchObject(expected);
  });

  it.each([
    ['PORTICO_SCHEDULE_GRACE', '90min', 90],
    ['PORTICO_DNS_SERVERS', '127.0.0.1:5353,9.9.9.9,[::1]:53', ['127.0.0.1:5353', '9.9.9.9', '[::1]:53']],
    ['PORTICO_CHROMIUM_NO_SANDBOX', '1', '1'],
  ])('%s=%s is read', (name, value, expected) => {
    expect(readConfig({ [name]: value }).config).toMatchObject({ [name]: expected });
  });

  it.each([
    ['PORTICO_CRAWL_MAX_HTML', '-1'],
    ['PORTICO_CRAWL_MAX_BODY_BYTES', '1 MB'],
    ['PORTICO_CRAWL_PORTS', '80,0'],
    ['PORTICO_CRAWL_PORTS', '65536'],
    ['PORTICO_CRAWL_MAX_PAGE_TIMEOUT', '86401'],
    ['PORTICO_SCHEDULE_GRACE', '1h'],
    ['PORTICO_DNS_SERVERS', 'dns.example'],
  ])('refuse %s=%s', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(new RegExp(name));
  });
});

describe('hosts', () => {
  it.each([
    ['EXAMPLE.com.', 'example.com'],
    ['https://example.com:443/', 'example.com'],
    ['http://example.com:443', 'example.com:443'],
    ['https://example.com:80', 'example.com:80'],
    ['example.com:443', 'example.com'],
    ['example.com:8080', 'example.com:8080'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['http://0x7f.1/', '127.0.0.1'],
    ['[::FFFF:1.2.3.4]:81', '[::ffff:102:304]:81'],
  ])('%s is %s', (text, expected) => {
    const host = hostOf(text);
    expect(host && hostText(host)).toBe(expected);
  });

  it('a normal form is its own normal form, and nothing else passes for a host', () => {
    fc.assert(
      fc.property(fc.oneof(fc.webAuthority(), fc.domain(), fc.string({ unit: 'binary' })), (text) => {
        const host = hostOf(text);
        if (!host) return;
        const normal = hostText(host);
        expect(hostOf(normal)).toMatchObject({ name: host.name, port: host.port });
        expect(URL.parse(`https://${normal}/`)?.hostname).toBe(host.name);
      }),
    );
  });
});
