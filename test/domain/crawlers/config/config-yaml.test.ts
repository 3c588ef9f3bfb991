import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { initialSettings, type StoredSettings } from '../../../../src/domain/crawlers/config/crawler.schema.ts';
import { configYaml, urlsListYaml } from '../../../../src/domain/crawlers/config/crawler-record.ts';
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

  it('quotes what some readers end a plain value at, or take for something else', () => {
    const settings = { start_urls: ['/search?q=1'], exclude: ['colou?r', 'a', '='], include: ['a:b'] };
    const text = configYaml(crawler(settings), { 'X-Sign': '=' }, defaults);
    expect(text).toContain(`
    start_url: ['/search?q=1']
    exclude: ['colou?r', a, '=']
    headers: {X-Sign: '='}
    include: ['a:b']
`);
    expect(configYaml(crawler({ user_agent: '=' }), {}, defaults)).toContain("    user_agent: '='\n");
  });

  it('holds nothing that a reader of YAML may refuse: what is not printable is escaped', () => {
    const include = [
      '\u0007',
      '\u007f',
      '\u0085',
      '\u009f',
      '\u2028',
      '\ufeff',
      '\ufffe',
      '\uffff',
      'é\u{1f600}\ue000',
    ];
    const text = configYaml(crawler({ include }), {}, defaults);
    // c-printable of YAML 1.2, section 5.1, without what ends lines in YAML 1.1
    expect(text).toMatch(/^[\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]*$/u);
    for (const read of both(text)) expect(read.config.include).toEqual(include);
  });

  it.each([
    [1e-7, '1.0e-7'],
    [1.5e-9, '1.5e-9'],
    [0.000001, '0.000001'],
    [0.1, '0.1'],
  ])('writes a delay of %s as a number of YAML 1.1, which has a point in each with an exponent', (delay, written) => {
    const text = configYaml(crawler({ delay, exclude: ['\n    delay: 1e-7'] }), {}, defaults);
    expect(text).toContain(`\n    delay: ${written}\n`);
    expect(both(text)).toMatchObject([{ config: { delay } }, { config: { delay } }]);
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
