import { expect, it } from 'vitest';
import { leavesOf, selectorOf } from '../../../../src/domain/studio/annotations/page-leaves.ts';

const shown = (html: string) => leavesOf(html).leaves.map(({ kind, text }) => [kind, text]);

it('cuts a page into runs of text by the elements that break lines, with images behind the run they are in', () => {
  const html = `<!doctype html><html><head><title>T</title></head><body><main>
    <h2 id="a">One <a class="anchor" href="#a">#1</a></h2>
    <p>Two <b>bold</b> <img alt="A bee" src="/bee.abc.png"> three</p>
    <ul><li>Four<ul><li><p>Five</p></li></ul></li></ul>
    <table><tr><td>6</td><th>seven</th></tr></table>
    <pre><code><span>go</span>(<div>8</div>)</code></pre>
    <dl><dt>Nine</dt></dl>Ten</main></body></html>`;
  expect(shown(html)).toEqual([
    ['heading', 'one'],
    ['paragraph', 'two bold three'],
    ['image', 'a bee'],
    ['list_item', 'four'],
    ['list_item', 'five'],
    ['table_cell', '6'],
    ['table_cell', 'seven'],
    ['code', 'go 8'],
    ['term', 'nine'],
    ['other', 'ten'],
  ]);
});

it('leaves out what readers do not see', () => {
  const html = `<p>Seen<span aria-hidden="true">no</span><span class="sr-only">no</span></p><script>no()</script><style>no</style>
    <template><p>no</p></template><p hidden>no</p><button>no</button><div class="visually-hidden"><p>no</p></div><svg><text>no</text></svg><p>Too</p>`;
  expect(shown(html)).toEqual([
    ['paragraph', 'seen'],
    ['paragraph', 'too'],
  ]);
});

it('compares text without signs, case and the forms that typography gives it', () => {
  const texts = shown('<p>“Bees” — it’s…  ＡＢＣ</p><p>"bees" -- it\'s... abc</p>').map(([, text]) => text);
  expect(texts).toEqual(['bees it s abc', 'bees it s abc']);
});

it('gives selectors that count what a browser adds', () => {
  const page = leavesOf(
    '<html><head></head><body><table><tr><td>a</td></tr><tr><td>b</td></tr></table><p>c</p></body></html>',
  );
  expect(page.leaves.map(({ element }) => selectorOf(page, element))).toEqual([
    'html > body > table:nth-child(1) > tbody:nth-child(1) > tr:nth-child(1) > td:nth-child(1)',
    'html > body > table:nth-child(1) > tbody:nth-child(1) > tr:nth-child(2) > td:nth-child(1)',
    'html > body > p:nth-child(2)',
  ]);
  const bare = leavesOf('<title>t</title><p>a</p><p>b</p>');
  expect(bare.leaves.map(({ element }) => selectorOf(bare, element))).toEqual([
    'body > p:nth-child(1)',
    'body > p:nth-child(2)',
  ]);
});

it('gives selectors of a bounded length', () => {
  const selectors = (html: string) => {
    const page = leavesOf(html);
    return page.leaves.map(({ element }) => selectorOf(page, element));
  };
  const long = `x-${'a'.repeat(50_000)}`;
  expect(selectors(`<body><p>a</p><${long}><p>b</p></${long}></body>`)).toEqual([
    'body > p:nth-child(1)',
    'body > :nth-child(2) > p:nth-child(1)',
  ]);
  expect(selectors('<body><a:b><p>a</p></a:b></body>')).toEqual(['body > :nth-child(1) > p:nth-child(1)']);
  const nested = (depth: number) => `<body>${'<div>'.repeat(depth)}<p>a</p>`;
  expect(selectors(nested(45))[0]).toMatch(/^body > (?:div:nth-child\(1\) > ){45}p:nth-child\(1\)$/);
  expect(selectors(nested(100_000))).toEqual([null]);
});

it('finds the address that a page gives itself', () => {
  expect(leavesOf('<head><link rel="canonical" href="https://example.org/a/"></head>').canonical).toBe(
    'https://example.org/a/',
  );
  expect(leavesOf('<p>a</p>').canonical).toBeNull();
});
