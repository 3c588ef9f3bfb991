import { describe, expect, it } from 'vitest';
import { encodeQuery } from '../../../../src/domain/crawlers/urls/query-encoding.ts';
import fc from '../../../support/properties.ts';

describe('a query', () => {
  it.each([
    ['gbk', '/s?q=中文&b=1#中', '/s?q=%D6%D0%CE%C4&b=1#中'],
    ['gb2312', '/中?q=中', '/中?q=%D6%D0'],
    ['gbk', '?€', '?%80'],
    ['gbk', '?😀', '?%26%23128512%3B'],
    ['gb18030', '?😀', '?%949%FC6'],
    ['gb18030', '?ỳ', '?%816%887'],
    ['big5', '?q=中十', '?q=%A4%A4%A4Q'],
    ['euc-kr', '?q=한국', '?q=%C7%D1%B1%B9'],
    ['euc-jp', '?q=日本ｱ', '?q=%C6%FC%CB%DC%8E%B1'],
    ['shift_jis', '?q=日本ソｱ', '?q=%93%FA%96{%83\\%B1'],
    ['shift_jis', '?q=∵纊', '?q=%81%E6%FA\\'],
    ['iso-2022-jp', '?q=裕a', '?q=%1B$BM5%1B(Ba'],
    ['windows-1252', '?q=ü€', '?q=%FC%80'],
    ['iso-8859-2', '?q=ł', '?q=%B3'],
    ['koi8-r', '?q=д', '?q=%C4'],
    ['windows-1252', '?q=д', '?q=%26%231076%3B'],
  ])('in %s is sent in its bytes: %s', (charset, link, sent) => expect(encodeQuery(link, charset)).toBe(sent));

  it.each(['utf-8', 'utf-16le', 'replacement', 'klingon', null])('in %s is left to UTF-8', (charset) => {
    expect(encodeQuery('/s?q=中', charset)).toBe('/s?q=中');
  });

  it.each(['/a?b=c%20d', '/中', '#?中', '/a#b?中'])('without such characters is left alone: %s', (link) => {
    expect(encodeQuery(link, 'gbk')).toBe(link);
  });

  it('reads back as what was written, for all characters an encoding has', () => {
    const encodings = ['gbk', 'gb18030', 'big5', 'euc-kr', 'euc-jp', 'shift_jis', 'windows-1251', 'iso-8859-7'];
    fc.assert(
      fc.property(
        fc.constantFrom(...encodings),
        fc.array(fc.integer({ min: 0xa1, max: 0xfe }), { minLength: 2, maxLength: 12 }),
        (encoding, bytes) => {
          const decoder = new TextDecoder(encoding);
          const text = decoder.decode(Uint8Array.from(bytes)).replaceAll('\ufffd', '');
          const sent = encodeQuery(`?${text}`, encoding).slice(1);
          const back = sent.replace(/%([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
          const read = decoder.decode(Buffer.from(back, 'latin1'));
          expect(read.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))).toBe(text);
        },
      ),
    );
  });
});
