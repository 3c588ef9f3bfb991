import { describe, expect, it } from 'vitest';
import fc from '../../../support/properties.ts';
import { assets, read } from './reading.ts';

const sheet = (text: string | Uint8Array, contentType: string | null = 'text/css') => ({
  text,
  page: { kind: 'css' as const, contentType, url: 'https://example.com/css/a.css' },
});
const of = (text: string | Uint8Array, contentType?: string) => {
  const { text: content, page } = sheet(text, contentType);
  return assets(content, page);
};

describe('style sheets', () => {
  it.each([
    ['a{b:url(x)}', ['style /css/x']],
    ['a{b:url( "x" )}', ['style /css/x']],
    ["a{b:url('../x')}", ['style /x']],
    ['a{b:URL(x)}', ['style /css/x']],
    ['a{b:u\\72l(x)}', ['style /css/x']],
    ['a{b:url(\\78\\)y)}', ['style /css/x)y']],
    ['a{b:url("\\78 y\\"z")}', ['style /css/xy%22z']],
    ['a{b:url("x\\\ny")}', ['style /css/xy']],
    ['a{b:url(x y)} c{d:url(z)}', ['style /css/z']],
    ['a{b:src("x")}', ['style /css/x']],
    ['a{b:url(x),url(y)}', ['style /css/x', 'style /css/y']],
    ['a{--p:url(x)}', ['style /css/x']],
    ['@import "x";', ['import /css/x']],
    ['@import url(x) layer(a) supports(background:url(y)) screen;', ['import /css/x']],
    ['@IMPORT url("x") print;@import\'y\'layer;', ['import /css/x', 'import /css/y']],
    ['@media print{a{b:url(x)}}', ['style /css/x']],
    ['@font-face{src:url(x) format("woff2"),url(y)}', ['style /css/x', 'style /css/y']],
    ['a{b:image-set("x" 1x,url(y) 2x,"z" type("image/png"))}', ['style /css/x', 'style /css/y', 'style /css/z']],
    ['a{b:-webkit-image-set(url(x) 1x)}', ['style /css/x']],
    ['a{content:"x";b:attr("y")}', []],
    ['@charset "x";@namespace "x";@namespace p url(y);', []],
    ['/* url(x) */ a{b:/*url(y)*/c}', []],
    ['a{b:url(data:image/gif,x);c:url(#d);e:url()}', []],
    ['a{b:url("x\n} c{d:url(y)}', ['style /css/y']],
    ['a{b:url(x', ['style /css/x']],
    ['a{b:image-set("x" 1x;} c{content:"no";d:url(y)}', ['style /css/x', 'style /css/y']],
    ['}}){a{b:url(x)}', ['style /css/x']],
    ['<!-- a{b:url(x)} -->', ['style /css/x']],
    ['a{b:url(//cdn.test/x)}', ['style https://cdn.test/x']],
  ])('%j', (text, expected) => expect(of(text)).toEqual(expected));

  it.each([
    ['UTF-8 by default', Buffer.from('a{b:url(ä)}'), 'text/css', 'utf-8'],
    ['as the answer says', Buffer.from('a{b:url(ä)}', 'latin1'), 'text/css; charset=iso-8859-1', 'windows-1252'],
    ['as the sheet says', Buffer.from('@charset "latin1";a{b:url(ä)}', 'latin1'), 'text/css', 'windows-1252'],
    ['by its mark', Buffer.from('\ufeffa{b:url(ä)}', 'utf16le'), 'text/css; charset=latin1', 'utf-16le'],
  ])('are read in %s', (_, bytes, contentType, charset) => {
    const { text, page } = sheet(bytes, contentType);
    expect(read(text, page)).toMatchObject({ charset, assets: [{ url: 'https://example.com/css/%C3%A4' }] });
  });

  it('give nothing that is no sheet', () => {
    expect(read(Buffer.from('89504e470d0a1a0a', 'hex'), sheet('').page).faults).toEqual(['content']);
    expect(of('<!doctype html><p>not found</p>')).toEqual([]);
  });

  it('find any address, however it is written', () => {
    const name = fc.string({
      unit: fc.constantFrom('a', 'ä', ' ', '"', "'", '(', ')', '\\', ';', '}', '中'),
      minLength: 1,
      maxLength: 8,
    });
    const escaped = (text: string) => [...text].map((letter) => `\\${letter.codePointAt(0)?.toString(16)} `).join('');
    fc.assert(
      fc.property(name, fc.constantFrom('url(%)', 'url("%")', "url('%')", 'image-set("%" 1x)'), (text, form) => {
        const expected = new URL(`x${text}y`.replaceAll('\\', '/'), 'https://example.com/css/a.css').href;
        const { page } = sheet('');
        const css = `a{content:"no";b:${form.replace('%', () => escaped(`x${text}y`))}} c{d:url(after)}`;
        expect(read(css, page).assets.map(({ url }) => url)).toEqual([expected, 'https://example.com/css/after']);
      }),
    );
  });

  it('never throw', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(read(text, sheet('').page).faults).toEqual([]);
      }),
    );
  });
});
