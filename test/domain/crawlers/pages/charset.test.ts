import { describe, expect, it } from 'vitest';
import { charsetOf } from '../../../../src/domain/crawlers/pages/charset.ts';
import fc from '../../../support/properties.ts';
import { read } from './reading.ts';

const html = (text: string) => Buffer.from(text, 'latin1');
const of = (text: string, contentType: string | null = 'text/html') => charsetOf(html(text), contentType, 'html');

describe('the encoding of a page', () => {
  it.each([
    ['a byte order mark before the answer', '\u00ef\u00bb\u00bfx', 'text/html; charset=windows-1252', 'utf-8'],
    ['UTF-16 LE by its mark', '\u00ff\u00fex\u0000', 'text/html; charset=utf-8', 'utf-16le'],
    ['UTF-16 BE by its mark', '\u00fe\u00ff\u0000x', null, 'utf-16be'],
    ['the answer before the page', '<meta charset=gbk>', 'text/html;charset="UTF-8"', 'utf-8'],
    ['a label of the answer in any case', '', 'text/html; Charset=Shift_JIS; x=y', 'shift_jis'],
    [
      'the page, when the label of the answer is unknown',
      '<meta charset=euc-kr>',
      'text/html; charset=klingon',
      'euc-kr',
    ],
    ['a meta charset', '<html><head><meta charset=gb2312>', null, 'gbk'],
    [
      'a meta http-equiv',
      '<meta content="text/html; charset=iso-2022-jp" http-equiv=Content-Type>',
      null,
      'iso-2022-jp',
    ],
    ['no meta content alone', '<meta content="text/html; charset=iso-2022-jp">', null, 'windows-1252'],
    ['no meta in a comment', '<!-- <meta charset=gbk> --><meta charset=big5>', null, 'big5'],
    ['no meta in a comment without end', '<!-- <meta charset=gbk>', null, 'windows-1252'],
    ['no meta in an attribute', '<a title="<meta charset=gbk>"><meta charset=big5>', null, 'big5'],
    ['the first of two attributes', '<meta charset=gbk charset=big5>', null, 'gbk'],
    ['UTF-8, when a page that is readable says UTF-16', '<meta charset=utf-16>', null, 'utf-8'],
    ['no label that is dangerous', '<meta charset=hz-gb-2312>', null, 'windows-1252'],
    ['windows-1252 by default', '<p>', 'text/html', 'windows-1252'],
    ['windows-1252 of an XML declaration in HTML', '<?xml version="1.0" encoding="gbk"?>', null, 'windows-1252'],
  ])('is %s', (_, text, contentType, charset) => expect(of(text, contentType)).toBe(charset));

  it('is looked for in the first 1,024 bytes', () => {
    const meta = '<meta charset=gbk>';
    expect(of(' '.repeat(1_024 - meta.length) + meta)).toBe('gbk');
    expect(of(' '.repeat(1_025 - meta.length) + meta)).toBe('windows-1252');
  });

  it('is what the XML declaration says, of XHTML', () => {
    const declared = html('<?xml version="1.0" encoding="Shift_JIS"?><html>');
    expect(charsetOf(declared, 'application/xhtml+xml', 'xhtml')).toBe('shift_jis');
    expect(charsetOf(html('<html><meta charset=gbk>'), 'application/xhtml+xml', 'xhtml')).toBe('gbk');
  });

  it('is found in any bytes', () => {
    fc.assert(
      fc.property(
        fc.uint8Array(),
        fc.constantFrom('html' as const, 'xhtml' as const, 'xml' as const, 'css' as const),
        (bytes, kind) => {
          expect(() => new TextDecoder(charsetOf(bytes, null, kind))).not.toThrow();
        },
      ),
    );
  });
});

describe('a page in', () => {
  it.each([
    ['windows-1252', '80', '%E2%82%AC'],
    ['gbk', 'd6d0', '%E4%B8%AD'],
    ['shift_jis', '93fa', '%E6%97%A5'],
    ['euc-kr', 'c7d1', '%ED%95%9C'],
    ['iso-2022-jp', '1b24424d351b2842', '%E8%A3%95'],
    ['koi8-r', 'c4', '%D0%B4'],
    ['utf-8', 'e4b8ad', '%E4%B8%AD'],
  ])('%s leads where it means', (charset, letter, encoded) => {
    const page = Buffer.concat([
      Buffer.from(`<meta charset=${charset}><a href="/`),
      Buffer.from(letter, 'hex'),
      Buffer.from('">'),
    ]);
    expect(read(page, { contentType: 'text/html' })).toMatchObject({
      charset,
      links: [{ url: `https://example.com/${encoded}` }],
    });
  });

  it.each([
    ['gbk', 'd6d0', '%D6%D0'],
    ['shift_jis', '93fa', '%93%FA'],
    ['utf-8', 'e4b8ad', '%E4%B8%AD'],
  ])('%s asks in its own bytes', (charset, letter, encoded) => {
    const page = Buffer.concat([
      Buffer.from(`<meta charset=${charset}><a href="/?q=`),
      Buffer.from(letter, 'hex'),
      Buffer.from('#top">'),
    ]);
    expect(read(page, { contentType: 'text/html' }).links).toMatchObject([
      { url: `https://example.com/?q=${encoded}` },
    ]);
  });

  it.each(['utf-16le', 'utf-16be'])('%s leads where it means', (charset) => {
    const bytes = Buffer.from('\ufeff<a href="/中">', 'utf16le');
    const page = charset === 'utf-16le' ? bytes : bytes.swap16();
    expect(read(page, { contentType: 'text/html' })).toMatchObject({
      charset,
      links: [{ url: 'https://example.com/%E4%B8%AD' }],
    });
  });

  it('wrong bytes is still read', () => {
    const page = Buffer.concat([Buffer.from('<a href="/'), Buffer.from('ff', 'hex'), Buffer.from('"><a href=/b>')]);
    expect(read(page).links.map(({ url }) => url)).toEqual(['https://example.com/%EF%BF%BD', 'https://example.com/b']);
  });
});
