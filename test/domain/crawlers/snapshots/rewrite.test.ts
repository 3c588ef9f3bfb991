import { describe, expect, it } from 'vitest';
import { rewriteContent } from '../../../../src/domain/crawlers/snapshots/rewrite/rewrite-content.ts';
import {
  type Attribute,
  rewriteSrcset,
  rewriteTag,
} from '../../../../src/domain/crawlers/snapshots/rewrite/tag-links.ts';
import { siteAddresses } from '../../../../src/domain/crawlers/snapshots/site-addresses.ts';
import { siteLinks } from '../../../../src/domain/crawlers/snapshots/snapshot-site.ts';
import fc from '../../../support/properties.ts';

const origin = 'https://www.example.com';
const addresses = siteAddresses(origin, {
  tree: [origin, 'https://docs.example.com'],
  others: ['https://cdn.example.net'],
});
const map = siteLinks(addresses);
/** Before what was not UTF-8 and is now. */
const mark = '\ufeff';

async function* inChunks(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function rewrite(
  source: string | Buffer,
  {
    kind = 'html',
    charset = 'utf-8',
    url = `${origin}/a/`,
    size = 7,
  }: { kind?: 'html' | 'xhtml' | 'css'; charset?: string; url?: string; size?: number } = {},
) {
  const bytes = Buffer.from(source as string);
  const { content } = rewriteContent(kind, inChunks(bytes, size), bytes.length, { url: new URL(url), charset, map });
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks);
}
const html = async (source: string, options = {}) => (await rewrite(source, options)).toString();

it('looks once for how the content of a meta element leads on', () => {
  let reads = 0;
  const contents = Array.from({ length: 1_000 }, () => ({
    get name() {
      reads += 1;
      return 'content';
    },
    value: 'a',
  }));
  const picture: Attribute = { name: 'property', value: 'og:image' };
  const by = { map: (link: string) => `/${link}`, mapBase: () => null, css: (text: string) => text };
  expect(rewriteTag('meta', [...contents, picture], by)).toEqual([...contents.map(() => '/a'), null]);
  expect(reads).toBeLessThan(20_000);
});

describe('documents', () => {
  it.each([
    ['<a href="https://www.example.com/b?x=1#y">', '<a href="/b?x=1#y">'],
    ['<a href=https://www.example.com>', '<a href="/">'],
    ["<a href='//docs.example.com/g'>", '<a href="/g">'],
    ['<a href="\n https://WWW.example.com/b ">', '<a href="/b">'],
    ['<a href="&#104;ttps://www.example.com/?a=1&amp;b=2">', '<a href="/?a=1&#38;b=2">'],
    ['<a href="https://www.example.com//evil.test/">', '<a href="/.//evil.test/">'],
    ['<img src="https://cdn.example.net/i.png">', '<img src="/_hosts/cdn.example.net/i.png">'],
    ['<A HREF="http://www.example.com/b">', '<A HREF="/b">'],
    [
      '<img srcset="https://www.example.com/a,b.png 1x, /c.png 2x,https://www.example.com/d.png">',
      '<img srcset="/a,b.png 1x, /c.png 2x,/d.png">',
    ],
    ['<p style="background:url(https://www.example.com/i.png)">', '<p style="background:url(&#34;/i.png&#34;)">'],
    ['<style>@import "https://www.example.com/a.css";</style>', '<style>@import "/a.css";</style>'],
    [
      '<meta http-equiv="refresh" content="5; url=https://www.example.com/b">',
      '<meta http-equiv="refresh" content="5; url=/b">',
    ],
    ['<meta http-equiv="Content-Security-Policy" content="default-src x">z', 'z'],
    ['<base href="https://www.example.com/docs/"><a href="x">', '<base href="/docs/"><a href="x">'],
    [
      '<link rel=stylesheet href="https://www.example.com/a.css" integrity="sha384-x" crossorigin>',
      '<link rel=stylesheet href="/a.css"  crossorigin>',
    ],
    ['<object data="https://www.example.com/o"></object>', '<object data="/o"></object>'],
  ])('%s becomes %s', async (source, expected) => {
    for (const size of [1, 2, 1000]) expect(await html(source, { size })).toBe(expected);
  });

  it.each([
    '<a href="/b">',
    '<a href="b/../c">',
    '<a href="https://elsewhere.test/www.example.com">',
    '<a href="https://user@elsewhere.test/">',
    '<a href="mailto:a@www.example.com">',
    '<a href="#https://www.example.com/">',
    '<!-- <a href="https://www.example.com/b"> -->',
    '<script>const a = \'<a href="https://www.example.com/b">\';</script>',
    '<textarea><a href="https://www.example.com/b"></textarea>',
    '<p>https://www.example.com/b</p>',
    '<a title="https://www.example.com/b">',
    '<style>a{content:"https://www.example.com/b"}</style>',
    '<style>a{color:red',
    '<a href="https://www.example.com/b',
    '<a data-x=1 b',
    '<',
  ])('%s stays', async (source) => {
    for (const size of [1, 3, 1000]) expect(await html(source, { size })).toBe(source);
  });

  it('links of a host with a tree of its own lead below that', async () => {
    const url = 'https://cdn.example.net/x/page';
    expect(await html('<a href="/y"><a href="z"><a href="#t">', { url })).toBe(
      '<a href="/_hosts/cdn.example.net/y"><a href="/_hosts/cdn.example.net/x/z"><a href="#t">',
    );
  });

  it('bytes of any encoding pass, links among them change', async () => {
    const gbk = Buffer.concat([
      Buffer.from('<a title="'),
      Buffer.from([0xc4, 0xe3, 0xff, 0x80]),
      Buffer.from('" href="https://www.example.com/b">'),
    ]);
    const expected = Buffer.concat([
      Buffer.from('<a title="'),
      Buffer.from([0xc4, 0xe3, 0xff, 0x80]),
      Buffer.from('" href="/b">'),
    ]);
    expect(await rewrite(gbk, { charset: 'gbk' })).toEqual(expected);
    const path = Buffer.concat([
      Buffer.from('<a href="https://www.example.com/'),
      Buffer.from([0xc4, 0xe3]),
      Buffer.from('">'),
    ]);
    expect((await rewrite(path, { charset: 'gbk' })).toString()).toBe('<a href="/%E4%BD%A0">');
    const query = Buffer.from(path.toString('latin1').replace('com/', 'com/?q='), 'latin1');
    expect((await rewrite(query, { charset: 'gbk' })).toString()).toBe('<a href="/?q=%C4%E3">');
    const utf16 = Buffer.from('\ufeff<a href="https://www.example.com/ü">ü</a>', 'utf16le');
    expect((await rewrite(utf16, { charset: 'utf-16le' })).toString()).toBe(`${mark}<a href="/%C3%BC">ü</a>`);
  });

  it('what becomes UTF-8 says so by a byte order mark, whatever its own words are', async () => {
    const document = Buffer.from('<meta charset=utf-16><p>ü', 'utf16le');
    expect((await rewrite(document, { charset: 'utf-16le' })).toString()).toBe(`${mark}<meta charset=utf-16><p>ü`);
    const sheet = Buffer.from('\ufeff@import "https://www.example.com/ü.css";', 'utf16le').swap16();
    expect((await rewrite(sheet, { kind: 'css', charset: 'utf-16be' })).toString()).toBe(
      `${mark}@import "/%C3%BC.css";`,
    );
  });

  it('queries of a document that becomes UTF-8 are still sent in its own encoding', async () => {
    const japanese = (before: string, after: string) =>
      Buffer.concat([Buffer.from(before), Buffer.from('1b2442467c1b2842', 'hex'), Buffer.from(after)]);
    const within = (before: string, after: string) =>
      rewrite(japanese(before, after), { charset: 'iso-2022-jp' }).then(String);
    expect(await within('<a href="?q=', '">')).toBe(`${mark}<a href="?q=%1B$BF|%1B(B">`);
    expect(await within('<a href="https://elsewhere.test/?q=', '#top">')).toBe(
      `${mark}<a href="https://elsewhere.test/?q=%1B$BF|%1B(B#top">`,
    );
    expect(await within('<p style="background:url(i?', ')">')).toBe(
      `${mark}<p style="background:url(&#34;i?%1B$BF|%1B(B&#34;)">`,
    );
    expect(await within('<a href="&uuml;?q=', '#&uuml;">')).toBe(`${mark}<a href="%C3%BC?q=%1B$BF|%1B(B#%C3%BC">`);
    expect(await within('<a href="', '">')).toBe(`${mark}<a href="日">`);
    const utf16 = Buffer.from('\ufeff<a href="?q=ü">', 'utf16le');
    expect((await rewrite(utf16, { charset: 'utf-16le' })).toString()).toBe(`${mark}<a href="?q=ü">`);
  });

  it('what holds no link of the site goes out as it came, however it is cut', async () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '<',
        '>',
        '"',
        "'",
        '&',
        '</',
        '<!--',
        '-->',
        '<a href=',
        '<style>',
        '</style>',
        '<script>',
        '</script>',
        '<![CDATA[',
        '?>',
        ' ',
        '=',
        '&amp',
        'srcset=',
      ),
      fc.string({ unit: 'binary', maxLength: 5 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 1, max: 20 }), async (pieces, size) => {
        const bytes = Buffer.from(pieces.join(''), 'utf8');
        expect((await rewrite(bytes, { size })).equals(bytes)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe('sheets', () => {
  it.each([
    ['a{background:url(https://www.example.com/i.png)}', 'a{background:url("/i.png")}'],
    ['a{background:URL( "https://www.example.com/i(1).png" )}', 'a{background:URL( "/i(1).png" )}'],
    ['@import "https://www.example.com/a.css" layer(x);', '@import "/a.css" layer(x);'],
    ['@import url(https://www.example.com/a.css) print;', '@import url("/a.css") print;'],
    [
      'a{b:image-set("https://www.example.com/1.png" 1x, url(//docs.example.com/2.png) 2x)}',
      'a{b:image-set("/1.png" 1x, url("/2.png") 2x)}',
    ],
    ['a{b:url(\\68ttps://www.example.com/i)}', 'a{b:url("/i")}'],
    ['@namespace url(https://www.example.com/);', '@namespace url(https://www.example.com/);'],
    ['a{content:"https://www.example.com/"}', 'a{content:"https://www.example.com/"}'],
    ['/* url(https://www.example.com/) */', '/* url(https://www.example.com/) */'],
    ['a{b:url(i.png)}', 'a{b:url(i.png)}'],
    ['a{b:url(https://www.example.com/i', 'a{b:url("/i")'],
  ])('%s becomes %s', async (source, expected) => {
    expect((await rewrite(source, { kind: 'css' })).toString()).toBe(expected);
  });
});

describe('what would take long goes out as it came', () => {
  const mebibyte = 2 ** 20;
  const link = `${origin}/x`;
  const long = `${origin}/${'a'.repeat(5_000)}`;
  it.each([
    ['a sheet', 'css', 'a{b:url(https://www.example.com/x)}'.repeat((3 * mebibyte) / 32)],
    ['a style element', 'html', `<style>${`a{b:url(${link})}`.repeat((3 * mebibyte) / 32)}</style>`],
    ['a tag', 'html', `<a href="${link}" alt="${'a'.repeat(3 * mebibyte)}">`],
    ['an address', 'html', `<a href="${long}">`],
    ['a base', 'html', `<base href="${long}/"><a href=x>`],
    ['an address of a sheet', 'css', `a{b:url(${origin}/${'\\61'.repeat(5_000)})}`],
  ] as const)('%s', async (_, kind, text) => {
    const rewritten = await rewrite(text, { kind, size: 64 * 1024 });
    expect(rewritten.equals(Buffer.from(text))).toBe(true);
  });

  it('and nothing beside it', async () => {
    const text = `<a href="${long}"><a href="${link}"><style>a{b:url(${long}) url(${link})}</style>`;
    expect(await html(text)).toBe(text.replaceAll(`"${link}"`, '"/x"').replaceAll(`url(${link})`, 'url("/x")'));
  });
});

it('srcsets keep everything but their URLs', () => {
  expect(rewriteSrcset(' a.png 1x ,, b.png, c(,).png 2x (x,y) , d', (url) => url.toUpperCase())).toBe(
    ' A.PNG 1x ,, B.PNG, C(,).PNG 2x (x,y) , D',
  );
  expect(rewriteSrcset('', () => 'x')).toBe('');
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(rewriteSrcset(text, () => null)).toBe(text);
    }),
  );
});
