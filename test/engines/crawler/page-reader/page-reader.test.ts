import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { readDocument } from '../../../../src/domain/crawlers/pages/read-document.ts';
import { type PageReaderOptions, SeparatePageReader } from '../../../../src/engines/crawler/page-reader.ts';
import type { PageReader, PageToRead } from '../../../../src/ports/page-reader.ts';

const readers: PageReader[] = [];
afterEach(async () => {
  await Promise.all(readers.splice(0).map((reader) => reader.close()));
});

function open(options?: PageReaderOptions): PageReader {
  const reader = new SeparatePageReader(options);
  readers.push(reader);
  return reader;
}

const page = (content: string | Uint8Array, more: Partial<PageToRead> = {}): PageToRead => ({
  bytes: typeof content === 'string' ? new TextEncoder().encode(content) : content,
  url: 'https://example.com/',
  contentType: 'text/html; charset=utf-8',
  kind: 'html',
  parserOn: true,
  stripParams: [],
  ...more,
});
/** Processes that this one has started. */
const children = () => readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean);
const words = (facts: { links: { url: string }[] }) =>
  facts.links.map(({ url }) => url.slice('https://example.com/'.length));

const immediate = (): PageReader => ({
  prepare: () => {},
  read: async (wanted) => readDocument(wanted),
  close: async () => {},
});

describe.each([
  ['in processes', () => open()],
  ['in this thread', immediate],
])('a page reader %s', (_, make) => {
  it('reads pages, sheets and manifests', async () => {
    const reader = make();
    const [html, css, manifest] = await Promise.all([
      reader.read(page('<a href="/x?utm_a=1"><img src=i>', { stripParams: ['utm_*'], origin: 'https://example.com' })),
      reader.read(page('a{b:url(c)}', { kind: 'css', contentType: null })),
      reader.read(page('{"start_url":"/s"}', { kind: 'manifest', contentType: null })),
    ]);
    expect(html).toMatchObject({
      charset: 'utf-8',
      links: [{ url: 'https://example.com/x', relation: 'a' }],
      faults: [],
    });
    expect(css.assets).toEqual([{ url: 'https://example.com/c', relation: 'style' }]);
    expect(words(manifest)).toEqual(['s']);
  });

  it('answers each of many calls with its own', async () => {
    const reader = make();
    const numbers = Array.from({ length: 100 }, (_, index) => index);
    const facts = await Promise.all(numbers.map((number) => reader.read(page(`<a href=${number}>`))));
    expect(facts.map(words)).toEqual(numbers.map((number) => [String(number)]));
  });

  it('resolves for whatever bytes', async () => {
    const reader = make();
    const facts = await Promise.all(Array.from({ length: 20 }, () => reader.read(page(randomBytes(10_000)))));
    expect(facts).toHaveLength(20);
  });

  it('obeys what the answer said', async () => {
    const facts = await make().read(page('<img src=x>', { parserOn: false, robotsTag: ['noindex', 'nofollow'] }));
    expect(facts).toMatchObject({ assets: [], robots: { noindex: true, nofollow: true, noarchive: false } });
  });

  it('reads large documents and parts of shared memory', async () => {
    const reader = make();
    const large = `${'x'.repeat(200_000)}<a href=y>`;
    const shared = Buffer.from(`<a href=before>${large}`);
    const before = shared.subarray(0, '<a href=before>'.length);
    const [whole, part] = await Promise.all([
      reader.read(page(large)),
      reader.read(page(shared.subarray(before.length))),
    ]);
    expect([words(whole), words(part), before.toString()]).toEqual([['y'], ['y'], '<a href=before>']);
  });
});

describe('processes', () => {
  const module = new URL('./stuck-reader.child.ts', import.meta.url);
  const stuck = { module, limit: 100, processes: 1 };

  it('that get lost are replaced, and what they had found is given', async () => {
    const reader = open(stuck);
    const [first, lost, next] = await Promise.all([
      reader.read(page('a')),
      reader.read(page('b c stuck d')),
      reader.read(page('e')),
    ]);
    expect([words(first), first.faults]).toEqual([['a'], []]);
    expect([words(lost), lost.faults]).toEqual([['b', 'c'], ['time']]);
    expect([words(next), next.faults]).toEqual([['e'], []]);
  });

  it('are lost again and again without losing anything else', async () => {
    const reader = open({ ...stuck, processes: 2 });
    const texts = Array.from({ length: 12 }, (_, index) => (index % 4 === 3 ? `w${index} stuck` : `w${index}`));
    const facts = await Promise.all(texts.map((text) => reader.read(page(text))));
    expect(facts.map(words)).toEqual(texts.map((_, index) => [`w${index}`]));
    expect(facts.map(({ faults }) => faults.length)).toEqual(texts.map((text) => Number(text.endsWith('stuck'))));
  });

  it('read documents of one caller after another, large ones, too, with small ones behind them', async () => {
    const reader = open(stuck);
    const order: string[] = [];
    const large = (word: string) => [`${word} ${'x'.repeat(100_000)}`, word] as const;
    const read = async ([text, word]: readonly [string, string], caller: string) => {
      await reader.read(page(text), caller);
      order.push(word);
    };
    const many = ['a1', 'a2', 'a3'].map((word) => read(large(word), 'a'));
    await Promise.all([...many, read(large('b1'), 'b'), read(['b2', 'b2'], 'b'), read(['c1', 'c1'], 'c')]);
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
  });

  it('start before the first document after prepare(), once', async () => {
    const reader = open(stuck);
    const before = new Set(children());
    const started = () => children().filter((pid) => !before.has(pid));
    reader.prepare();
    reader.prepare();
    const [pid] = started();
    expect(words(await reader.read(page('x')))).toEqual(['x']);
    expect(started()).toEqual([pid]);
  });

  it('die of a document for which their memory is too small, and nothing else does', async () => {
    const reader = open(stuck);
    const [lost, next] = await Promise.all([reader.read(page('a memory')), reader.read(page('b'))]);
    expect([words(lost), lost.faults, words(next)]).toEqual([['a'], ['time'], ['b']]);
  }, 60_000);

  it('that end by themselves are replaced', async () => {
    const reader = open(stuck);
    const [lost, next] = await Promise.all([reader.read(page('a exit')), reader.read(page('b'))]);
    expect([words(lost), lost.faults, words(next)]).toEqual([['a'], ['time'], ['b']]);
  });

  it('report a defect', async () => {
    const reader = open(stuck);
    await expect(reader.read(page('fail'))).rejects.toThrow('Reading https://example.com/: a defect');
    expect(words(await reader.read(page('b')))).toEqual(['b']);
  });

  it('that cannot begin fail their requests', async () => {
    const reader = open({ module: new URL('./missing.ts', import.meta.url), processes: 1 });
    await expect(reader.read(page('a'))).rejects.toThrow();
    await expect(reader.read(page('a'))).rejects.toThrow();
  });

  it('leave documents to their owner', async () => {
    const [small, large] = [page('<a href=x>'), page('x'.repeat(200_000))];
    await Promise.all([open().read(small), open().read(large)]);
    expect([small.bytes.byteLength, large.bytes.byteLength]).toEqual(['<a href=x>'.length, 200_000]);
  });

  it('end a document by themselves, with what was found', async () => {
    const text = `<a href=early>${'<a href=x><b>'.repeat(700_000)}<a href=late>`;
    const facts = await open({ limit: 20 }).read(page(text));
    expect(facts.faults).not.toEqual([]);
    expect(words(facts)).not.toContain('late');
  });

  it('are given back when there is nothing to do, and started again', async () => {
    const reader = open({ module, idle: 1 });
    for (const text of ['a', 'b', 'c']) {
      expect(words(await reader.read(page(text)))).toEqual([text]);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });

  it('cut what they read when the reader is closed, and read nothing more', async () => {
    const reader = open({ ...stuck, limit: 60_000 });
    const readings = [reader.read(page('a stuck')), reader.read(page('b')), reader.read(page('x'.repeat(100_000)))];
    await reader.close();
    for (const facts of await Promise.all(readings)) expect(facts.faults).toEqual(['time']);
    await expect(reader.read(page('c'))).rejects.toThrow('closed');
    await reader.close();
  });
});
