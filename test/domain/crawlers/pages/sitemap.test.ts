import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readSitemap } from '../../../../src/domain/crawlers/pages/read-sitemap.ts';
import type { SitemapItem, sitemapBounds } from '../../../../src/domain/crawlers/pages/sitemap-item.ts';
import fc from '../../../support/properties.ts';

const url = 'https://example.com/sitemap.xml';

async function* inChunks(bytes: Uint8Array, size = 16_384) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function all(items: AsyncIterable<SitemapItem>): Promise<SitemapItem[]> {
  const list: SitemapItem[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function read(
  content: string | Uint8Array,
  bounds?: typeof sitemapBounds,
  size?: number,
): Promise<SitemapItem[]> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return all(readSitemap(inChunks(bytes, size), url, { stripParams: [] }, bounds));
}

const short = (item: SitemapItem) =>
  item.kind === 'fault' ? `${item.fault} ${item.line}` : `${item.kind} ${item.url.replace('https://example.com', '')}`;
const brief = async (...given: Parameters<typeof read>) => (await read(...given)).map(short);

const namespace = 'http://www.sitemaps.org/schemas/sitemap/0.9';
const urlset = (inner: string, attributes = ` xmlns="${namespace}"`) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<urlset${attributes}>${inner}</urlset>`;
const loc = (path: string) => `<url><loc>https://example.com${path}</loc></url>`;

describe('forms', () => {
  it.each([
    ['urlset', urlset(loc('/a') + loc('/b')), ['page /a', 'page /b']],
    ['no namespace', urlset(loc('/a'), ''), ['page /a']],
    ['a wrong namespace', urlset(loc('/a'), ' xmlns="urn:x"'), ['page /a']],
    ['a prefix', '<s:urlset xmlns:s="urn:x"><s:url><s:loc>/a</s:loc></s:url></s:urlset>', ['page /a']],
    ['an undeclared prefix', '<s:urlset><s:url><s:loc>/a</s:loc></s:url></s:urlset>', ['page /a']],
    ['an index', '<sitemapindex><sitemap><loc>/a.xml</loc></sitemap></sitemapindex>', ['sitemap /a.xml']],
    [
      'blanks, entities and CDATA',
      urlset('<url><loc>\n /a?b=1&amp;c=2 </loc></url><url><loc><![CDATA[/d?e&f]]></loc></url>'),
      ['page /a?b=1&c=2', 'page /d?e&f'],
    ],
    [
      'images and languages beside',
      urlset('<url><loc>/a</loc><i:image><i:loc>/i.png</i:loc></i:image><x:link rel="alternate" href="/de"/></url>'),
      ['page /a'],
    ],
    ['images before', urlset('<url><i:image><i:loc>/i.png</i:loc></i:image><loc>/a</loc></url>'), ['page /a']],
    ['entries without an address', urlset('<url><lastmod>2026</lastmod></url><url><loc></loc></url>'), []],
    ['no web addresses', urlset('<url><loc>mailto:a@b.test</loc></url><url><loc>ftp://x/y</loc></url>'), []],
    [
      'foreign entries, as they are',
      urlset('<url><loc>https://other.test/a</loc></url>'),
      ['page https://other.test/a'],
    ],
    ['empty', urlset(''), []],
    [
      'RSS 2.0',
      '<rss version="2.0"><channel><link>/site</link><item><title>t</title><link>/a</link></item></channel></rss>',
      ['page /a'],
    ],
    ['RSS 1.0', '<rdf:RDF><channel><link>/s</link></channel><item><link>/a</link></item></rdf:RDF>', ['page /a']],
    [
      'Atom',
      '<feed><link href="/s"/><entry><link rel="edit" href="/e"/><link rel="alternate" href="/a"/></entry><entry><link href="/b"/></entry></feed>',
      ['page /a', 'page /b'],
    ],
    [
      'a list',
      'https://example.com/a\r\n\n  https://example.com/b  \nnonsense\nhttps://example.com/c',
      ['page /a', 'page /b', 'page /c'],
    ],
    ['a byte order mark', `\ufeff${urlset(loc('/a'))}`, ['page /a']],
    ['lines before it', `\n\n${urlset(loc('/a'))}`, ['page /a']],
    ['HTML', '<!doctype html><html><body><urls>', ['content 1']],
    ['another document', '<html xmlns="urn:x"><a href="/a"/></html>', ['content 1']],
    ['another XML document', '<opml><url><loc>/a</loc></url></opml>', ['content 1']],
    ['no addresses', 'hello\nworld', ['content 2']],
    ['nothing', '', ['content 1']],
    ['blanks', ' \n ', ['content 2']],
  ])('%s', async (_, text, expected) => {
    expect(await brief(text)).toEqual(expected);
    expect(await brief(text, undefined, 1)).toEqual(expected);
  });

  it('are unpacked by their bytes, once and twice, whatever they are called', async () => {
    const packed = gzipSync(urlset(loc('/a')));
    expect(await brief(packed)).toEqual(['page /a']);
    expect(await brief(gzipSync(packed))).toEqual(['page /a']);
    expect(await brief(gzipSync('https://example.com/a'), undefined, 1)).toEqual(['page /a']);
    expect(await brief(gzipSync(gzipSync(gzipSync(packed))))).toEqual(['gzip 1']);
  });

  it('are read in the encoding they say', async () => {
    const text = `<?xml version="1.0" encoding="ISO-8859-1"?><urlset>${loc('/ä')}</urlset>`;
    expect(await brief(Buffer.from(text, 'latin1'))).toEqual(['page /%C3%A4']);
    expect(await brief(Buffer.from(`\ufeff<urlset>${loc('/ä')}</urlset>`, 'utf16le'))).toEqual(['page /%C3%A4']);
  });
});

describe('dates', () => {
  it.each([
    ['2026-01-02', '2026-01-02T00:00:00.000Z'],
    ['2026-01-02T03:04:05+01:00', '2026-01-02T02:04:05.000Z'],
    [' 2026 ', '2026-01-01T00:00:00.000Z'],
    ['yesterday', undefined],
    ['2026-99-99', undefined],
    ['', undefined],
  ])('%j', async (text, expected) => {
    const [item] = await read(urlset(`<url><loc>/a</loc><lastmod>${text}</lastmod></url>`));
    expect(item?.kind === 'page' && item.lastmod?.toISOString()).toBe(expected);
  });

  it('come from feeds, too', async () => {
    const rss =
      '<rss><channel><item><link>/a</link><pubDate>Fri, 02 Jan 2026 03:04:05 GMT</pubDate></item></channel></rss>';
    const atom = '<feed><entry><link href="/a"/><updated>2026-01-02T03:04:05Z</updated></entry></feed>';
    for (const text of [rss, atom])
      expect(await read(text)).toMatchObject([{ lastmod: new Date('2026-01-02T03:04:05Z') }]);
  });
});

describe('bounds', () => {
  it('takes so many addresses and no more', async () => {
    const bounds = { urls: 3, bytes: 10_000 };
    expect(await brief(urlset(['/1', '/2', '/3'].map(loc).join('')), bounds)).toEqual([
      'page /1',
      'page /2',
      'page /3',
    ]);
    expect(await brief(urlset(['/1', '/2', '/3', '/4'].map(loc).join('')), bounds)).toEqual([
      'page /1',
      'page /2',
      'page /3',
      'too_many_urls 2',
    ]);
  });

  it('takes 50,000 of 60,000', async () => {
    const items = await read(gzipSync(urlset(Array.from({ length: 60_000 }, (_, index) => loc(`/${index}`)).join(''))));
    expect(items.length).toBe(50_001);
    expect(items.at(-1)).toMatchObject({ kind: 'fault', fault: 'too_many_urls' });
  });

  it('reads so many bytes and no more, unpacked', async () => {
    const text = urlset(loc('/a')) + ' '.repeat(100);
    const at = (bytes: number) => brief(gzipSync(text), { urls: 9, bytes });
    expect(await at(text.length)).toEqual(['page /a']);
    expect(await at(text.length - 1)).toEqual(['page /a', 'too_large 2']);
  });

  it('ends a bomb without unpacking it', async () => {
    const bomb = gzipSync(Buffer.alloc(60 * 1024 * 1024, ' '));
    expect(await brief(bomb)).toEqual(['too_large 1']);
  });

  it('reads no further than it is wanted', async () => {
    let given = 0;
    async function* endless() {
      yield Buffer.from(`<urlset>${' '.repeat(2_000)}`);
      for (;;) {
        given += 1;
        yield Buffer.from(loc(`/${given}`));
      }
    }
    for await (const item of readSitemap(endless(), url, { stripParams: [] })) if (short(item) === 'page /5') break;
    expect(given).toBe(5);
  });
});

describe('hostile files', () => {
  const count = 200;
  /** A file that repeats one text in pieces of about 16 KiB. @returns what was found, and how many pieces were read */
  async function repeat(start: string, repeated: string, end = '') {
    let pieces = 0;
    const piece = Buffer.from(repeated.repeat(Math.ceil(16_384 / repeated.length)));
    async function* file() {
      yield Buffer.from(start);
      for (; pieces < count; pieces += 1) yield piece;
      yield Buffer.from(end);
    }
    const items = await all(readSitemap(file(), url, { stripParams: [] }));
    return { found: items.map(short), pieces };
  }

  it.each([
    ['attributes of one name', '<urlset ', 'a="" '],
    ['an attribute without an end', '<urlset a="', 'a '],
    ['a name without an end', '<urlset><', 'a'],
    ['a closing tag without an end', '<urlset></a', ' '],
    ['declarations', '<!DOCTYPE urlset [', '<!ENTITY a "aaaa">'],
    ['quotes in a declaration', '<!DOCTYPE urlset [<!ENTITY a ', '""'],
  ])('are given up after 64 KiB of one tag: %s', async (_, start, repeated) => {
    const { found, pieces } = await repeat(start, repeated);
    expect(found).toEqual(['syntax 1']);
    expect(pieces).toBeLessThanOrEqual(5);
  });

  it.each([
    ['a comment', `<urlset>${loc('/a')}<!--`, '<url>- ', `-->${loc('/b')}</urlset>`],
    ['an instruction', `<urlset>${loc('/a')}<?x`, '?? ', `?>${loc('/b')}</urlset>`],
    ['CDATA', `<urlset>${loc('/a')}<x><![CDATA[`, ']] ', `]]></x>${loc('/b')}</urlset>`],
    ['text', `<urlset>${loc('/a')}<x>`, '&&& ]]', `</x>${loc('/b')}</urlset>`],
    ['an address', `<urlset>${loc('/a')}<url><loc>`, '/a&', `</loc></url>${loc('/b')}</urlset>`],
  ])('cost one pass of what is skipped: %s', async (_, start, repeated, end) => {
    expect(await repeat(start, repeated, end)).toEqual({ found: ['page /a', 'page /b'], pieces: count });
  });

  it('may have a tag of 65,535 characters, and none of more', async () => {
    const tag = (length: number) => `<urlset a="${'x'.repeat(length - 13)}">`;
    expect(tag(65_535).length + 1).toBe(65_536);
    expect(await brief(`${tag(65_536)}${loc('/a')}</urlset>`)).toEqual(['page /a']);
    expect(await brief(`${tag(65_537)}${loc('/a')}</urlset>`)).toEqual(['syntax 1']);
  });

  it('may have 2,000,000 tags, and no more', async () => {
    const file = (tags: number) => `<urlset>${'<a/>'.repeat(tags - 5)}${loc('/a')}`;
    expect((await read(file(2_000_000))).at(-1)).toMatchObject({ message: expect.stringContaining('ends inside') });
    expect((await read(file(2_000_001))).at(-1)).toMatchObject({ message: expect.stringContaining('2000000 tags') });
  });

  it('are read with a hundred iterations of the event loop between, though they come as one piece', async () => {
    let iterations = 0;
    const count = () => {
      iterations += 1;
      pending = setImmediate(count);
    };
    let pending = setImmediate(count);
    await all(readSitemap(inChunks(Buffer.alloc(4 * 1024 * 1024, ' '), 4 * 1024 * 1024), url, { stripParams: [] }));
    clearImmediate(pending);
    expect(iterations).toBeGreaterThanOrEqual(100);
  });

  it('have no references to what XML does not have, and plain ampersands', async () => {
    const at = (address: string) => brief(urlset(`<url><loc>${address}</loc></url>`));
    expect(await at('/a?b=1&c=2&#x26;d&#38;e&amp;lt;')).toEqual(['page /a?b=1&c=2&d&e&lt;']);
    for (const name of ['&b;', '&__proto__;', '&#x110000;', '&#0;', '&AMP;'])
      expect(await at(name)).toEqual(['syntax 2']);
  });
});

describe('broken files', () => {
  it('give what stands before the fault, and its line', async () => {
    const text = `<urlset>\n${loc('/a')}\n${loc('/b')}\n<url><loc>/c</wrong>`;
    expect(await brief(text)).toEqual(['page /a', 'page /b', 'syntax 4']);
    expect(await brief(`\n\n${text}`)).toEqual(['page /a', 'page /b', 'syntax 6']);
    expect(await brief(`<urlset>\n${loc('/a')}`)).toEqual(['page /a', 'syntax 2']);
  });

  it('give what was unpacked of a cut gzip', async () => {
    const packed = gzipSync(urlset(Array.from({ length: 5_000 }, (_, index) => loc(`/${index * 7919}`)).join('')));
    const items = await read(packed.subarray(0, packed.length / 2));
    expect(items.length).toBeGreaterThan(1_000);
    expect(items.at(-1)).toMatchObject({ kind: 'fault', fault: 'gzip' });
  });

  it('expand no entities and fetch nothing', async () => {
    const bomb = `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>\n<urlset>${loc('/a')}<url><loc>/&b;</loc></url></urlset>`;
    expect(await brief(bomb)).toEqual(['page /a', 'syntax 2']);
    const outside = `<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><urlset>${loc('/a')}<url><loc>/&f;</loc></url></urlset>`;
    const items = await read(outside);
    expect(items.map(short)).toEqual(['page /a', 'syntax 1']);
    expect(JSON.stringify(items)).not.toContain('root');
  });

  it('may not nest without end', async () => {
    expect(await brief(`<urlset>${loc('/a')}${'<a>'.repeat(98)}`)).toEqual(['page /a', 'syntax 1']);
    expect((await read(`<urlset>${'<a>'.repeat(100)}`)).at(-1)).toMatchObject({
      message: expect.stringContaining('100'),
    });
  });

  it('pass on the fault of their source', async () => {
    async function* broken() {
      yield gzipSync('<urlset>').subarray(0, 12);
      throw new Error('gone');
    }
    await expect(all(readSitemap(broken(), url, { stripParams: [] }))).rejects.toThrow('gone');
  });

  it('never throw', async () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '/',
      'urlset',
      'url',
      'loc',
      '<urlset>',
      '<url>',
      '<loc>',
      '</loc>',
      '</url>',
      '&',
      ';',
      '<!',
      '<?',
      ']]>',
      '/a',
      '\n',
      '"',
    );
    const text = fc.oneof(
      fc.array(piece).map((pieces) => pieces.join('')),
      fc.string({ unit: 'binary' }),
    );
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 20 }), async (content, size) => {
        const whole = await brief(content);
        expect(await brief(content, undefined, size)).toEqual(whole);
      }),
    );
  });
});

it('gives every address back, in order', async () => {
  const path = fc.nat().map((id) => `https://example.com/p${id % 97}?a=${id}&b=<`);
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  await fc.assert(
    fc.asyncProperty(fc.array(path), async (urls) => {
      const items = await read(urlset(urls.map((address) => `<url><loc>${escaped(address)}</loc></url>`).join('\n')));
      const again = await read(urls.concat(url).join('\n'));
      expect(again.slice(0, -1)).toEqual(items);
      expect(items.length).toBe(urls.length);
      expect(items.map(({ kind }) => kind)).toEqual(urls.map(() => 'page'));
    }),
    { numRuns: 50 },
  );
});
