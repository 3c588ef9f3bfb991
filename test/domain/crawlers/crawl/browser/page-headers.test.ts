import { expect, it } from 'vitest';
import { mergedCookies } from '../../../../../src/domain/crawlers/crawl/fetch/fetch-url.ts';
import { isEntitled, pageHeaders } from '../../../../../src/domain/crawlers/crawl/run-browser.ts';

const request = {
  url: 'http://a.test/',
  method: 'GET',
  type: 'fetch',
  from: 'http://a.test',
  body: null,
  headers: { accept: '*/*', range: 'bytes=0-', 'if-none-match': '"x"', cookie: 'a=1', 'x-own': 'p', 'user-agent': 'B' },
};
const given = { accept: 'text/html', 'user-agent': 'C', authorization: 'secret', 'x-own': 'crawler' };

it('gives hosts in scope what the crawler gives them, and others nothing of it', () => {
  expect(pageHeaders(request, given, true)).toEqual({
    accept: '*/*',
    'user-agent': 'C',
    authorization: 'secret',
    'x-own': 'crawler',
  });
  expect(pageHeaders(request, given, false)).toEqual({ accept: '*/*', 'user-agent': 'C', 'x-own': 'p' });
});

it('sends the cookies of page and run, those of the page before the others', () => {
  expect(mergedCookies(null, undefined)).toBeNull();
  expect(mergedCookies('a=1; b=2', undefined)).toBe('a=1; b=2');
  expect(mergedCookies(null, 'c=3')).toBe('c=3');
  expect(mergedCookies('a=1; b=2', 'b=x=y; c=3')).toBe('a=1; b=x=y; c=3');
});

const site = {
  isOwn: (host: string) => host === 'own.test',
  isInScope: (url: string) => ['own.test', 'allowed.test'].includes(new URL(url).host),
};

it.each([
  ['http://own.test', 'http://own.test/', true],
  ['https://own.test', 'http://own.test/', true],
  ['http://own.test', 'http://allowed.test/', true],
  ['http://allowed.test', 'http://allowed.test/', true],
  ['http://allowed.test', 'http://own.test/', false],
  ['http://ads.test', 'http://own.test/', false],
  ['http://ads.test', 'http://allowed.test/', false],
  ['http://own.test:81', 'http://own.test/', false],
  [null, 'http://own.test/', false],
  // There is nothing of the crawler's there.
  ['http://own.test', 'http://ads.test/', true],
  [null, 'http://ads.test/', true],
])('a document of %s acts for the crawler at %s: %s', (from, url, expected) => {
  expect(isEntitled(site, { from }, url)).toBe(expected);
});
