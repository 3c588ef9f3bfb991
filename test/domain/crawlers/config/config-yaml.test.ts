import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { configYaml, urlsListYaml } from '../../../../src/domain/crawlers/config/config-yaml.ts';
import { initialSettings } from '../../../../src/domain/crawlers/config/crawl-defaults.ts';
import type { StoredSettings } from '../../../../src/domain/crawlers/config/crawler.entity.ts';
import fc from '../../../support/properties.ts';

const defaults = { max_html: 500, user_agent: 'Mozilla/5.0 (compatible; Portico/1.0; +https://portico.example)' };
const crawler = (settings: Partial<StoredSettings>, domain = 'https://www.example.com') => ({
  domain,
  settings: { ...initialSettings(), ...settings },
});
const both = (text: string) => (['1.1', '1.2'] as const).map((version) => parse(text, { version }));

describe('config', () => {
  it('is the documented text, byte for byte', () => {
    const text = configYaml(
      crawler({
        allowed_domains: ['docs.example.com'],
        sitemap: [{ url: '/sitemap.xml', recursive: true }],
        assets: { network_intercept: { enabled: false, timeout: 30, execute_js: true }, parser: { enabled: true } },
        webhook_url: 'https://hooks.example.com/crawl',
        webhook_extra_vars: 'key1=value1&key2=value2',
      }),
      {},
      defaults,
    );
    expect(text).toBe(`config:
    user_agent: Mozilla/5.0 (compatible; Portico/1.0; +https://portico.example)
    browser_mode: false
    workers: 2
    depth: -1
    max_hits: 0
    max_html: 500
    cache: false
    delay: 4
    status_ok: [200]
    options: {enabled: true, max_errors: 100}
    start_url: [/]
    exclude: []
    headers: {}
    allowed_domains: [docs.example.com]
    merge_domains: true
    sitemap: [{url: /sitemap.xml, recursive: true}]
    webhook: {url: 'https://hooks.example.com/crawl', extra_vars: key1=value1&key2=value2}
domain: https://www.example.com
headers: {}
`);
  });

  it('shows assets only when they are set, and no extension', () => {
    const assets = { network_intercept: { enabled: true, timeout: 30, execute_js: true }, parser: { enabled: true } };
    const text = configYaml(crawler({ assets, ignore_robots: true, include: ['a'] }), { 'X-On': 'yes' }, defaults);
    expect(text).toContain(
      "    headers: {X-On: 'yes'}\n    include: [a]\n    assets: {network_intercept: {enabled: true, timeout: 30, execute_js: true}, parser: {enabled: true}}\n",
    );
    expect(text).not.toMatch(/robots|publish|browser_config|webhook/);
  });

  it('says the same to readers of YAML 1.1 and 1.2, whatever the patterns and headers hold', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }).map((value) => value.replaceAll('\u0000', '')),
      fc.constantFrom(
        'no',
        'ON',
        '0o7',
        '012',
        '1:20',
        '1_000',
        '~',
        'null',
        '- a',
        '# x',
        "it's",
        '{a: b}',
        '<<',
        '=',
      ),
      fc.constantFrom(
        '2020-01-01',
        '.5',
        '0x1F',
        'a: b',
        'a #b',
        '\n',
        ' x ',
        '\u2028',
        '\u0085',
        '---',
        '!!str',
        '&a',
        '*a',
      ),
    );
    fc.assert(
      fc.property(fc.array(text), fc.array(text), fc.dictionary(text, text), (exclude, include, headers) => {
        const written = configYaml(crawler({ exclude, include }), headers, defaults);
        for (const read of both(written)) {
          expect(read.config.exclude).toEqual(exclude);
          expect(read.config.include ?? []).toEqual(include);
          expect(Object.entries(read.config.headers)).toEqual(Object.entries({ ...headers }));
          expect(read.domain).toBe('https://www.example.com');
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('urls_list', () => {
  it('is empty, or a block list', () => {
    expect(urlsListYaml(crawler({}))).toBe('single_url: []\n');
    expect(urlsListYaml(crawler({ urls: ['/a', '/b?c=d', 'https://www.example.com/'] }))).toBe(
      'single_url:\n    - /a\n    - /b?c=d\n    - https://www.example.com/\n',
    );
  });

  it('folds no long line and reads back', () => {
    const urls = [`/${'word '.repeat(400)}x`, '/é#a', '/a: b', '/# x'];
    for (const read of both(urlsListYaml(crawler({ urls })))) expect(read).toEqual({ single_url: urls });
    expect(urlsListYaml(crawler({ urls })).split('\n')).toHaveLength(6);
  });
});
