import { describe, expect, it } from 'vitest';
import { maxLinks } from '../../../../src/domain/crawlers/pages/collector.ts';
import { maxBytes } from '../../../../src/domain/crawlers/pages/document.ts';
import { maxNesting, readPage } from '../../../../src/domain/crawlers/pages/read-page.ts';
import fc from '../../../support/properties.ts';
import { links, read } from './reading.ts';

const found = (html: string | Uint8Array) => {
  const { links, faults, linksCut } = read(html);
  return [links.length, linksCut, faults];
};

describe('bodies', () => {
  it('are read up to 10 MiB', () => {
    const link = '<a href=x>';
    const page = (size: number) => Buffer.from(link.padStart(size));
    expect(found(page(maxBytes))).toEqual([1, 0, []]);
    expect(found(page(maxBytes + 1))).toEqual([0, 0, ['too_large']]);
    expect(found(Buffer.concat([Buffer.from(link), page(maxBytes)]))).toEqual([1, 0, ['too_large']]);
  });

  it('may nest 5,000 elements, and keep what stands before more', () => {
    const nested = (depth: number) => `<a href=x>${'<div>'.repeat(depth - 1)}<p></p><a href=y>`;
    expect(found(nested(maxNesting - 1))).toEqual([2, 0, []]);
    expect(found(nested(maxNesting + 1))).toEqual([1, 0, ['nesting']]);
    expect(found('<div><br></div>'.repeat(maxNesting + 1))).toEqual([0, 0, []]);
    expect(found('<a href=x></a>'.repeat(maxNesting * 2))).toEqual([1, 0, []]);
  });

  it.each([10_000, 1_000_000])('of manifests and sheets may nest %i levels deep', (levels) => {
    const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const manifest = { kind: 'manifest', contentType: 'application/manifest+json' } as const;
    const { links, assets, faults } = read(`{"start_url":"/a","x":${deep},"icons":${deep}}`, manifest);
    expect([links.length, assets.length, faults]).toEqual([1, 0, []]);
    const sheet = `${'@media x{'.repeat(levels)}a{b:${'f('.repeat(levels)}url(/c)}`;
    expect(read(sheet, { kind: 'css', contentType: 'text/css' }).assets.length).toBe(levels === 10_000 ? 1 : 0);
  });

  it('give 10,000 different links and count the others', () => {
    const page = (count: number) =>
      Array.from({ length: count }, (_, index) => `<a href=/${index}><a href=/%30>`).join('');
    expect(found(page(maxLinks))).toEqual([maxLinks, 0, []]);
    expect(found(page(maxLinks + 1))).toEqual([maxLinks, 1, []]);
    expect(found(page(100_000))).toEqual([maxLinks, 90_000, []]);
  });

  it.each([
    ['PNG', '89504e470d0a1a0a'],
    ['JPEG', 'ffd8ffe0'],
    ['GIF', '474946383961'],
  ])('that are %s are not read, whatever they call themselves', (_, mark) => {
    expect(found(Buffer.concat([Buffer.from(mark, 'hex'), Buffer.from('<a href=x>')]))).toEqual([0, 0, ['content']]);
  });

  it.each([
    ['nothing', '', 0],
    ['one long line', `${'x'.repeat(5_000_000)}<a href=x>`, 1],
    ['an attribute without end', `<a href=x><a href="${'y'.repeat(1_000_000)}`, 1],
    ['tags without end', `<a href=x>${'<'.repeat(1_000_000)}`, 1],
    ['only ends', `${'</div>'.repeat(200_000)}<a href=x>`, 1],
    ['many attributes', `<p ${'a=b '.repeat(200_000)}><a href=x>`, 1],
    ['a piece of markup on every edge', `${'<b title="&amp;é中">x</b>'.repeat(9_000)}<a href=x>`, 1],
    ['conditional comments', '<!--[if IE]><a href=y><![endif]--><a href=x>', 1],
    ['CDATA', '<![CDATA[<a href=y>]]><a href=x>', 1],
  ])('of %s are read', (_, html, count) => expect(found(html)).toEqual([count, 0, []]));

  it('read the same in one piece and across the edges of pieces', () => {
    const part = fc.constantFrom(
      '<a href="x1">',
      '<img src=y>',
      '<!-- <a href=n> -->',
      'text',
      '<style>a{b:url(z)}</style>',
      '&amp;',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 10 }), fc.nat(60), (parts, shift) => {
        const html = parts.join('');
        const far = ' '.repeat(64 * 1024 - shift) + html;
        expect({ ...read(far) }).toEqual({ ...read(html) });
      }),
    );
  });

  it('of XHTML close what closes itself', () => {
    const html = '<html><head><title/><script src="s"/></head><body><a href="x"/></body></html>';
    expect(links(html, { contentType: 'application/xhtml+xml' })).toEqual(['a /docs/x']);
    expect(links(html)).toEqual([]);
  });

  it('never make the reader throw', () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '"',
      "'",
      '=',
      ' ',
      '/',
      '!--',
      '-->',
      'a',
      'href',
      'style',
      'base',
      'iframe',
      'srcdoc',
      'svg',
      'form',
      'template',
      'url(',
      ')',
      '&#x',
      ';',
      '\u0000',
      '\ud800',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece).map((pieces) => pieces.join('')),
          fc.string({ unit: 'binary' }),
        ),
        (html) => {
          expect(read(html).faults).toEqual([]);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('are left when time is up, with what was found', () => {
    const html = `${'<a href=x>'.repeat(20_000)}<a href=y>`;
    let looks = 0;
    const page = {
      bytes: Buffer.from(html),
      url: 'https://example.com/',
      contentType: null,
      parserOn: true,
      options: { stripParams: [] },
    };
    const facts = readPage(page, (soFar) => {
      looks += 1;
      expect(soFar().links).toHaveLength(1);
      return looks < 2;
    });
    expect(looks).toBe(2);
    expect([facts.links.length, facts.faults]).toEqual([1, ['time']]);
  });

  it('are left inside of a long style sheet, too', () => {
    const html = `<a href=x><style>${'a{b:url(c)}'.repeat(2_000)}</style><a href=y>`;
    const page = {
      bytes: Buffer.from(html),
      url: 'https://example.com/',
      contentType: null,
      parserOn: true,
      options: { stripParams: [] },
    };
    const facts = readPage(page, () => false);
    expect([facts.links.length, facts.assets.length, facts.faults]).toEqual([1, 1, ['time']]);
  });

  it.each([
    ['links', (n: number) => `<a href=${n}>`],
    ['assets', (n: number) => `<img src=${n}>`],
  ] as const)('give their first 10,000 %s', (kind, of) => {
    const facts = read(Array.from({ length: 60_000 }, (_, n) => of(n)).join(''));
    expect([facts[kind].length, facts.linksCut]).toEqual([10_000, 50_000]);
    expect(facts[kind].at(-1)?.url).toBe('https://example.com/docs/9999');
  });

  const long = (characters: number) => 'a'.repeat(characters);
  it.each([
    ['one of 4,096 characters', `<a href=/x><a href="/${long(5_000)}">`, ['/x']],
    ['one written in fewer', `<a href=/x><a href="/${'€'.repeat(1_000)}">`, ['/x']],
    ['a base', `<base href="/${long(5_000)}/"><a href=/x>`, ['/x']],
    ['one below a base', `<base href="/${long(4_000)}/"><a href=/x><a href=${long(100)}>`, ['/x']],
    ['one of a sheet', `<style>a{b:url(/${long(20_000)}) url(/x)}</style>`, ['/x']],
    ['a string of a sheet', `<style>@import "/${long(20_000)}"; @import "/x"</style>`, ['/x']],
  ])('have no address longer than a crawl could take: %s', (_, html, paths) => {
    const { links, assets } = read(html);
    expect([...links, ...assets].map(({ url }) => new URL(url).pathname)).toEqual(paths);
  });
});
