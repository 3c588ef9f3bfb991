import { Parser } from 'htmlparser2';
import { readDocument } from '../src/domain/crawlers/pages/read-document.ts';
import { SeparatePageReader } from '../src/engines/crawler/page-reader.ts';
import type { PageToRead } from '../src/ports/page-reader.ts';
import { type Benchmark, type Case, check } from './benchmark.ts';
import { median } from './support/statistics.ts';

const kibibyte = 1024;
/** Documents requested at the same time. */
const atOnce = 64;

/** A page of documentation: navigation, contents, paragraphs with links, code, some pictures. */
function documentationPage(size: number): Buffer {
  const navigation = Array.from(
    { length: 40 },
    (_, index) =>
      `<li class="nav-item level-2"><a href="/docs/chapter-${index % 8}/page-${index}.html">Page ${index}</a></li>\n`,
  );
  const head = `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Chapter</title>
<link rel="stylesheet" href="/_static/theme.css"><link rel="icon" href="/favicon.ico"><link rel="next" href="page-2.html">
<link rel="canonical" href="https://docs.example.com/docs/page.html"><script src="/_static/app.js" defer></script></head>
<body><nav><ul>${navigation.join('')}</ul></nav><main>`;
  const section = (index: number) =>
    `<h2 id="part-${index}">Part ${index} <a class="headerlink" href="#part-${index}">¶</a></h2>
<p>Set <code class="literal"><span class="pre">option_${index}</span></code> to change how requests &amp; answers are logged; see also
<a class="reference internal" href="../guide/part-${index}.html#details">the guide</a> for what follows from it.</p>
<pre><span></span><span class="nb">print</span><span class="p">(</span><span class="s2">&quot;part ${index}&quot;</span><span class="p">)</span></pre>
<img src="/_images/figure-${index}.png" srcset="/_images/figure-${index}.png 1x, /_images/figure-${index}@2x.png 2x" alt="">\n`;
  const end = '</main><footer>Made with care.</footer></body></html>';
  const parts = [head];
  let length = head.length + end.length;
  for (let index = 0; length < size; index += 1) {
    parts.push(section(index));
    length += section(index).length;
  }
  return Buffer.from([...parts, end].join(''));
}

const sheet = (size: number): Buffer => {
  const rule = (index: number) =>
    `.block-${index} > a:hover{color:#336699;margin:0 ${index}px;background:url("../img/i${index}.svg") no-repeat}\n`;
  const rules: string[] = [];
  for (let length = 0; length < size; length += rule(rules.length).length) rules.push(rule(rules.length));
  return Buffer.from(rules.join(''));
};

/** How many times a second `work` is done. */
async function rate(count: number, work: (count: number) => Promise<void> | void): Promise<number> {
  const start = performance.now();
  await work(count);
  return (count * 1000) / (performance.now() - start);
}

/** What a crawl reads in a second: in a process as it does, here, and what the tokenizer alone would take. */
export const pages: Benchmark = {
  name: 'pages',
  summary: 'Documents per second a crawl reads, beside an HTML tokenizer without handlers.',
  async run({ defer, scaled, say }) {
    const rounds = scaled(5, 3);
    const page: PageToRead = {
      bytes: documentationPage(15 * kibibyte),
      url: 'https://docs.example.com/docs/page.html',
      contentType: 'text/html; charset=utf-8',
      kind: 'html',
      parserOn: true,
      stripParams: ['utm_*', 'gclid', 'fbclid'],
    };
    const css: PageToRead = { ...page, bytes: sheet(60 * kibibyte), kind: 'css', contentType: 'text/css' };
    const facts = readDocument(page);
    check(
      facts.links.length > 40 && facts.assets.length > 10 && facts.faults.length === 0,
      'the page is not read whole',
    );
    check(readDocument(css).assets.length > 500, 'the sheet is not read whole');
    const reader = new SeparatePageReader({ processes: 1 });
    defer(() => reader.close());

    const separate = (wanted: PageToRead) => async (count: number) => {
      let left = count;
      const one = async () => {
        for (; left > 0; left -= 1) await reader.read(wanted);
      };
      await Promise.all(Array.from({ length: atOnce }, one));
    };
    const ways = {
      process: separate(page),
      here: (count: number) => {
        for (let index = 0; index < count; index += 1) readDocument(page);
      },
      floor: (count: number) => {
        for (let index = 0; index < count; index += 1) new Parser({}).end(Buffer.from(page.bytes).toString('utf8'));
      },
      css: separate(css),
    };
    const rates: Record<keyof typeof ways, number[]> = { process: [], here: [], floor: [], css: [] };
    const names = ['process', 'here', 'floor', 'css'] as const;
    for (const name of names) await ways[name](200);
    for (let round = 0; round < rounds; round += 1) {
      for (const name of names) rates[name].push(await rate(scaled(1_000, 200), ways[name]));
      say(`round ${round + 1} of ${rounds}`);
    }
    const found = `${facts.links.length} links, ${facts.assets.length} assets`;
    const cases: Case[] = [
      {
        name: `page of ${Math.round(page.bytes.length / kibibyte)} KiB (${found}), one process`,
        unit: 'documents/s',
        value: median(rates.process),
        runs: rounds,
        peers: [
          { name: 'without one', value: median(rates.here) },
          { name: 'htmlparser2, no handlers', value: median(rates.floor) },
        ],
      },
      {
        name: `style sheet of ${Math.round(css.bytes.length / kibibyte)} KiB, one process`,
        unit: 'documents/s',
        value: median(rates.css),
        runs: rounds,
      },
    ];
    return { cases, notes: [`${atOnce} documents are requested at once; the ways take turns.`] };
  },
};
