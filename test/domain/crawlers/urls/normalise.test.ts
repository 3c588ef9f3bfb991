import { describe, expect, it } from 'vitest';
import { normalise } from '../../../../src/domain/crawlers/urls/normalise.ts';
import fc from '../../../support/properties.ts';

const stripParams = ['utm_*', 'gclid', 'fbclid'];
const base = 'https://example.com/docs/page?q=1';
const of = (link: string, from = base) => normalise(link, from, { stripParams });

describe('normalise', () => {
  it.each([
    ['other', 'https://example.com/docs/other'],
    ['', base],
    ['#part', base],
    ['/a#part', 'https://example.com/a'],
    ['?', 'https://example.com/docs/page'],
    ['//cdn.example.com/a', 'https://cdn.example.com/a'],
    ['  /a\n/b ', 'https://example.com/a/b'],
    ['HTTP://EXAMPLE.COM:80/A', 'http://example.com/A'],
    ['https://example.com:443/', 'https://example.com/'],
    ['https://example.com:8443/', 'https://example.com:8443/'],
    ['https://example.com./a', 'https://example.com/a'],
    ['https://bücher.example/ä?ö=ü', 'https://xn--bcher-kva.example/%C3%A4?%C3%B6=%C3%BC'],
    ['https://xn--bcher-kva.example', 'https://xn--bcher-kva.example/'],
    ['/a/./b/../c', 'https://example.com/a/c'],
    ['/a/%2e%2E/b', 'https://example.com/b'],
    ['../../../up', 'https://example.com/up'],
    ['/%7euser/%41%2d%5f', 'https://example.com/~user/A-_'],
    ['/a%2fb%c3%a4?x=%3d', 'https://example.com/a%2Fb%C3%A4?x=%3D'],
    ['/100%', 'https://example.com/100%'],
    ['/a//b/', 'https://example.com/a//b/'],
    ['/Path', 'https://example.com/Path'],
    ['/p?b=2&a=1&b=', 'https://example.com/p?b=2&a=1&b='],
    ['/p;jsessionid=AB12?x=1', 'https://example.com/p?x=1'],
    ['/p;JSESSIONID=AB12/q', 'https://example.com/p/q'],
    ['/p;v=1;jsessionid=A.b;w=2', 'https://example.com/p;v=1;w=2'],
    ['/p?PHPSESSID=1&a=2', 'https://example.com/p?a=2'],
    ['/p?ASPSESSIONIDQAB=1', 'https://example.com/p'],
    ['/p?utm_source=a&x=1&utm_medium=b&gclid=c', 'https://example.com/p?x=1'],
    ['/p?utm%5Fsource=a', 'https://example.com/p'],
    ['/p?utmost=1&gclid2=3', 'https://example.com/p?utmost=1&gclid2=3'],
    ['/p?fbclid', 'https://example.com/p'],
    ['/p?a&&b', 'https://example.com/p?a&&b'],
    ['\\a\\b', 'https://example.com/a/b'],
    ['http://0x7f.1/', 'http://127.0.0.1/'],
    ['http://[::1]:80/', 'http://[::1]/'],
  ])('%j is %j', (link, url) => expect(of(link)).toBe(url));

  it.each([
    'data:text/html,<a>',
    ' DATA:,x',
    'blob:https://example.com/1',
    'javascript:void(0)',
    'mailto:a@example.com',
    'tel:+1',
    'ftp://example.com/a',
    'about:blank',
    'https://user@example.com/',
    'https://user:secret@example.com/',
    'https://:secret@example.com/',
    'http://exa mple.com/',
    'http://[::1/',
    'https://example.com:99999/',
    'https://a../',
    'http://',
  ])('%j is no page of the web', (link) => expect(of(link)).toBeNull());

  it('gives links to the primary host the scheme of the run, when both ports are default', () => {
    const at = (link: string, origin: string) => normalise(link, base, { stripParams, origin: new URL(origin) });
    expect(at('http://example.com/a', 'https://example.com')).toBe('https://example.com/a');
    expect(at('https://example.com/a', 'http://example.com')).toBe('http://example.com/a');
    expect(at('http://example.com:8080/a', 'https://example.com')).toBe('http://example.com:8080/a');
    expect(at('http://example.com/a', 'https://example.com:8443')).toBe('http://example.com/a');
    expect(at('http://www.example.com/a', 'https://example.com')).toBe('http://www.example.com/a');
  });

  it('strips nothing but sessions when nothing is to be stripped', () => {
    expect(normalise('/p?utm_source=a&PHPSESSID=1', base, { stripParams: [] })).toBe(
      'https://example.com/p?utm_source=a',
    );
  });

  const piece = fc.oneof(
    fc.constantFrom(
      '%',
      '%2',
      '%41',
      '%2e',
      '%252E',
      '/',
      '//',
      '.',
      '..',
      ';jsessionid=',
      ';',
      '?',
      '&',
      '=',
      '#',
      ':',
      '@',
    ),
    fc.constantFrom(
      'utm_a=1',
      'PHPSESSID',
      'a',
      'é',
      '中',
      ' ',
      '\\',
      '[',
      '|',
      '\u0000',
      '\ud800',
      '*',
      '$',
      "'",
      '"',
    ),
  );
  const link = fc.oneof(
    fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
    fc.array(piece, { maxLength: 12 }).map((pieces) => `http://Example.COM.${pieces.join('')}`),
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
    fc.string({ unit: 'binary' }),
  );
  const origin = fc.constantFrom(undefined, new URL('https://example.com'), new URL('http://example.com:8080'));

  it('changes nothing a second time', () => {
    fc.assert(
      fc.property(link, origin, (text, origin) => {
        const options = { stripParams, ...(origin && { origin }) };
        const once = normalise(text, base, options);
        if (once === null) return;
        expect(normalise(once, base, options)).toBe(once);
        expect(once).toBe(new URL(once).href);
        expect(once).not.toContain('#');
      }),
      { numRuns: 5_000 },
    );
  });
});
