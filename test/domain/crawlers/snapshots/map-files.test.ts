import { describe, expect, it } from 'vitest';
import {
  type CapturedFile,
  manifestPath,
  mapFiles,
  safeSegment,
  shortHash,
} from '../../../../src/domain/crawlers/snapshots/import/map-files.ts';
import { importLinks, relativeLink } from '../../../../src/domain/crawlers/snapshots/import/write-import.operations.ts';
import { siteAddresses } from '../../../../src/domain/crawlers/snapshots/site-addresses.ts';
import { normalise } from '../../../../src/domain/crawlers/urls/normalise.ts';
import { nameProblem, pathProblem } from '../../../../src/domain/studio/path-rules.ts';
import { foldCase } from '../../../../src/lib/text.ts';
import { iterationsDuring } from '../../../support/loop-iterations.ts';
import fc from '../../../support/properties.ts';

const origin = 'https://www.example.com';
const cdn = 'https://cdn.example.net:8443';
const docs = 'https://docs.example.com';
const addresses = siteAddresses(origin, { tree: [origin, docs], others: [cdn] });

const file = (url: string, content_type = 'text/html', sha256 = shortHash(url)): CapturedFile => ({
  url: new URL(url, origin).href,
  content_type,
  sha256,
});
const mapped = async (...files: CapturedFile[]) => {
  const { files: found } = await mapFiles(files, addresses);
  return files.map(({ url }) => found.get(url));
};

describe('URLs and files', () => {
  it.each([
    ['/', 'text/html', 'index.html'],
    ['/a/', 'text/html', 'a/index.html'],
    ['/a', 'text/html; charset=utf-8', 'a/index.html'],
    ['/a.html', 'text/html', 'a.html'],
    ['/v1.2', 'text/html', 'v1.2/index.html'],
    ['/a.css', 'text/css', 'a.css'],
    ['/a', 'text/plain', 'a'],
    ['/feed/', 'application/rss+xml', 'feed/index'],
    ['/?p=1', 'text/html', `index~${shortHash('p=1')}.html`],
    ['/a.css?v=1', 'text/css', `a~${shortHash('v=1')}.css`],
    ['/a?b/c', 'text/html', `a/index~${shortHash('b/c')}.html`],
    ['/caf%C3%A9/', 'text/html', 'café/index.html'],
    ['/a%2Fb.png', 'image/png', 'a%2Fb.png'],
    ['/a:b*c.png', 'image/png', 'a%3Ab%2Ac.png'],
    ['/.git/config', 'text/plain', '%2E%67%69%74/config'],
    ['/.gitattributes', 'text/plain', '%2Egitattributes'],
    ['/gitmod~1/a.txt', 'text/plain', '%67itmod~1/a.txt'],
    ['/con.txt', 'text/plain', '%63on.txt'],
    ['/a//b.txt', 'text/plain', 'a/%2F/b.txt'],
    ['/a./b.txt', 'text/plain', 'a%2E/b.txt'],
    ['/%FF.bin', 'application/octet-stream', '%FF.bin'],
    ['/_Portico/snapshot.JSON', 'text/html', '%5FPortico/snapshot.JSON/index.html'],
    ['/_portico/snapshot.json/a.png', 'image/png', '%5Fportico/snapshot.json/a.png'],
    [
      '/_portico/snapshot.json',
      'application/json',
      `_portico/snapshot~${shortHash(`${origin}/_portico/snapshot.json`, 8)}.json`,
    ],
    ['/_portico/other.json', 'application/json', '_portico/other.json'],
    [`${docs}/guide`, 'text/html', 'guide/index.html'],
    [`${cdn}/lib.js`, 'text/javascript', '_hosts/cdn.example.net%3A8443/lib.js'],
  ])('%s (%s) is %s', async (url, type, path) => {
    expect(await mapped(file(url, type))).toEqual([path]);
  });

  it('/a stands beside /a/ where they differ, and is the same file where not', async () => {
    expect(await mapped(file('/a'), file('/a/'))).toEqual(['a.html', 'a/index.html']);
    expect(await mapped(file('/a', 'text/html', 'x'), file('/a/', 'text/html', 'x'))).toEqual([
      'a/index.html',
      'a/index.html',
    ]);
  });

  it('what some system takes for the same gets the hash of its URL', async () => {
    const about = `${origin}/about.txt`;
    expect(await mapped(file('/About.txt', 'text/plain'), file('/about.txt', 'text/plain'))).toEqual([
      'About.txt',
      `about~${shortHash(about)}.txt`,
    ]);
    expect(await mapped(file('/a', 'text/plain'), file('/a/b', 'text/plain'))).toEqual([
      `a~${shortHash(`${origin}/a`)}`,
      'a/b',
    ]);
    expect(await mapped(file(`/${manifestPath}`, 'application/json'))).toEqual([
      `_portico/snapshot~${shortHash(`${origin}/${manifestPath}`)}.json`,
    ]);
  });

  it('directories that some system takes for the same have one spelling', async () => {
    const pages = [file('/blog/b'), file('/Blog/a'), file('/BLOG/c/Caf%C3%A9/x'), file('/blog/C/cafe%CC%81/y')];
    expect(await mapped(...pages)).toEqual([
      'blog/b/index.html',
      'blog/a/index.html',
      'blog/c/Café/x/index.html',
      'blog/c/Café/y/index.html',
    ]);
    expect(await mapped(file('/_PORTICO/a'))).toEqual(['_portico/a/index.html']);
    expect(await mapped(file('/Blog', 'text/plain'), file('/blog/a'))).toEqual([
      `Blog~${shortHash(`${origin}/Blog`)}`,
      'blog/a/index.html',
    ]);
  });

  it('a new directory has the spelling of its first page, however another path sorts', async () => {
    const [first, second, third] = [file('/blog/b/Z/1'), file('/Blog/a'), file(`${docs}/BLOG/B/z/0`)];
    expect(await mapped(first, second, third)).toEqual([
      'blog/b/Z/1/index.html',
      'blog/a/index.html',
      'blog/b/Z/0/index.html',
    ]);
    expect((await mapped(second, third, first))[1]).toBe('Blog/B/z/0/index.html');
  });

  it('a directory that stands keeps its spelling, in each of them where it has two', async () => {
    const pages = [file('/Blog/a'), file('/BLOG/New/x'), file('/blog/new/y'), file('/blog/OLD/y'), file('/other')];
    const at = async (...standing: string[]) => {
      const { files } = await mapFiles(pages, addresses, standing);
      return pages.map(({ url }) => files.get(url)?.replace('/index.html', ''));
    };
    expect(await at('blog/z')).toEqual(['blog/a', 'blog/New/x', 'blog/New/y', 'blog/OLD/y', 'other']);
    expect(await at('Blog/z')).toEqual(['Blog/a', 'Blog/New/x', 'Blog/New/y', 'Blog/OLD/y', 'other']);
    expect(await at('Blog/z', 'blog/z')).toEqual(['Blog/a', 'Blog/New/x', 'blog/New/y', 'blog/OLD/y', 'other']);
    expect(await at('blog/z', 'Blog/old/y')).toEqual(['Blog/a', 'Blog/New/x', 'blog/New/y', 'Blog/old/y', 'other']);
    // What stands as a file is no directory.
    expect((await at('blog'))[0]).toBe('Blog/a');
  });

  it('of hosts that share a tree the first one wins', async () => {
    const { files, collisions } = await mapFiles([file('/a'), file(`${docs}/a`)], addresses);
    expect([...files.keys()]).toEqual([`${origin}/a`]);
    expect(collisions).toEqual([`${docs}/a`]);
  });

  it('gives way while thousands are mapped', async () => {
    const many = Array.from({ length: 2_000 }, (_, at) => file(`/${'a/'.repeat(40)}${at}`));
    const steps = iterationsDuring(async () => {
      const { owners } = await mapFiles(many, addresses);
      expect(owners.size).toBe(many.length);
    });
    expect(await steps).toBeGreaterThan(50);
  });

  const segment = fc.oneof(
    {
      arbitrary: fc.constantFrom(
        'a',
        'A',
        'index.html',
        'index',
        'b.css',
        'B.CSS',
        '',
        '.git',
        '%2e',
        'con',
        'nul.txt',
        '_portico',
        'snapshot.json',
        '_hosts',
        'a.html',
        'é',
        'e\u0301',
        'a~',
        'x.',
        'a%20',
      ),
      weight: 4,
    },
    { arbitrary: fc.string({ unit: 'grapheme', maxLength: 6 }), weight: 2 },
    { arbitrary: fc.constantFrom('x'.repeat(300), 'ü'.repeat(150), '漢'.repeat(100)), weight: 1 },
  );
  const url = fc
    .tuple(
      fc.constantFrom(origin, docs, cdn),
      fc.array(segment, { maxLength: 5 }),
      fc.option(fc.string({ maxLength: 4 }), { nil: null, freq: 2 }),
    )
    .map(([from, segments, query]) => {
      const path = segments
        .map((each) => (/^%/.test(each) ? each : encodeURI(each.toWellFormed()).replace(/[?#]/g, encodeURIComponent)))
        .join('/');
      return normalise(
        `${from}/${path}${query === null ? '' : `?${encodeURIComponent(query.toWellFormed())}`}`,
        origin,
        { stripParams: [] },
      );
    });

  it('no two URLs have one file, and every file can stand on every system', async () => {
    const captured = fc.uniqueArray(fc.tuple(url, fc.constantFrom('text/html', 'text/css', 'image/png')), {
      selector: ([address]) => address,
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(captured, async (given) => {
        const all = given.flatMap(([address, type]) => (address === null ? [] : [file(address, type)]));
        const earlier = await mapFiles(all.slice(all.length >> 1), addresses);
        const standing = [...earlier.owners.keys()];
        const { files, collisions } = await mapFiles(all, addresses, standing);
        expect(files.size + collisions.length).toBe(all.length);
        const keys = [...files.values()].map((path) => path.normalize('NFC').toLowerCase());
        expect(new Set(keys).size).toBe(keys.length);
        const folders = new Set(
          keys.flatMap((path) =>
            path
              .split('/')
              .slice(0, -1)
              .map((_, at, parts) => parts.slice(0, at + 1).join('/')),
          ),
        );
        const spellings = new Map([[foldCase('_portico'), '_portico']]);
        for (const path of [...standing, ...files.values()]) {
          const names = path.split('/');
          for (let depth = 1; depth < names.length; depth += 1) {
            const directory = names.slice(0, depth).join('/');
            const key = foldCase(directory);
            expect(directory).toBe(spellings.get(key) ?? directory);
            spellings.set(key, directory);
          }
        }
        for (const path of files.values()) {
          expect([path, pathProblem(path), nameProblem(path)]).toEqual([path, null, null]);
          expect(folders.has(path.normalize('NFC').toLowerCase())).toBe(false);
          expect(path.toLowerCase()).not.toBe(manifestPath);
          for (const part of path.split('/')) expect(Buffer.byteLength(part)).toBeLessThanOrEqual(220);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('segments are at most 200 bytes and never empty', () => {
    fc.assert(
      fc.property(segment, (text) => {
        const name = safeSegment(encodeURIComponent(text.toWellFormed()));
        expect(Buffer.byteLength(name)).toBeGreaterThan(0);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(210);
      }),
    );
  });
});

describe('links', () => {
  it.each([
    ['index.html', 'index.html', './'],
    ['index.html', 'a/index.html', 'a/'],
    ['a/index.html', 'index.html', '../'],
    ['a/index.html', 'a/b.css', 'b.css'],
    ['a/b/index.html', 'c/d é%.png', '../../c/d%20%C3%A9%25.png'],
    ['a.html', 'a/index.html', 'a/'],
    ['x.html', 'a%3Ab.png', 'a%253Ab.png'],
  ])('from %s to %s is %s', (from, to, link) => {
    expect(relativeLink(from, to)).toBe(link);
  });

  it('lead to files where there are some, to the site itself where not', () => {
    const files = new Map([
      [`${origin}/b`, 'b/index.html'],
      [`${origin}/a`, 'a/index.html'],
      [`${docs}/?x=1`, 'index~x.html'],
    ]);
    const map = importLinks(
      { origin, stripParams: ['utm_*'], fileOf: (address) => files.get(address) ?? null },
      'a/index.html',
    );
    const link = (text: string, base = `${origin}/a`) => map(text, new URL(base), 'link');
    expect(link('b#part')).toBe('../b/#part');
    expect(link('http://www.example.com/b?utm_source=x')).toBe('../b/');
    expect(link('//docs.example.com/?x=1')).toBe('../index~x.html');
    expect(link('missing')).toBe(`${origin}/missing`);
    expect(link('mailto:a@b')).toBe(null);
    expect(link('#part')).toBe(null);
    expect(link('#part', `${origin}/b`)).toBe('../b/#part');
    expect(map('/x/', new URL(origin), 'base')).toBe('');
  });
});
