import { type Bench, type Benchmark, type Case, check, type Peer } from './benchmark.ts';
import { type PorticoCrawls, porticoCrawls } from './support/crawls/portico-crawls.ts';
import type { TreeUse } from './support/crawls/process-tree.ts';
import { type Rival, rivals } from './support/crawls/rival-crawlers.ts';
import { type BenchSite, startSite } from './support/crawls/site.ts';
import { median } from './support/statistics.ts';

/** One crawl by one crawler. */
interface Sample extends TreeUse {
  /** From the first request to the end of the crawl. */
  seconds: number;
  /** Requests that came to the site, robots.txt apart. */
  requests: number;
}

type Samples = Map<string, Sample[]>;

const ours = 'Portico';
const recrawl = 'recrawl';

interface Setting {
  bench: Bench;
  site: BenchSite;
  portico: PorticoCrawls;
  others: readonly Rival[];
  pages: number;
  rounds: number;
}

async function sampleOf(site: BenchSite, ended: number, use: TreeUse): Promise<Sample> {
  const { first, pages, unchanged } = await site.tally();
  return { ...use, seconds: (ended - first) / 1000, requests: pages + unchanged };
}

/** Everybody crawls the same site in turn, so that what else the machine does hits all. */
async function measure({ bench, site, portico, others, pages, rounds }: Setting): Promise<Samples> {
  const samples: Samples = new Map([ours, recrawl, ...others.map(({ name }) => name)].map((name) => [name, []]));
  const note = (name: string, sample: Sample): void => {
    samples.get(name)?.push(sample);
    bench.say(`${pages} pages, ${name}: ${Math.round(pages / sample.seconds)} pages/s`);
  };
  for (let round = 0; round < rounds; round += 1) {
    // Each round has texts of its own: a content that was stored before is found again sooner.
    await site.become(pages, pages + round);
    const first = await portico.crawl(site.origin);
    check(first.counts.html === pages, `Portico captured ${first.counts.html} of ${pages} pages`);
    const { repeated } = await site.tally();
    check(repeated === 0, `Portico asked ${repeated} times for what it had asked for`);
    note(ours, await sampleOf(site, first.ended, first));

    await site.become(0, 0);
    const second = await portico.crawl(site.origin, true);
    const { pages: sent, unchanged } = await site.tally();
    check(sent === 0 && unchanged === pages, `the recrawl had ${sent} bodies and ${unchanged} times 304`);
    note(recrawl, await sampleOf(site, second.ended, second));

    for (const rival of others) {
      await site.become(0, 0);
      const run = await rival.crawl(site.origin);
      const { pages: got } = await site.tally();
      check(got >= pages, `${rival.name} asked for ${got} of ${pages} pages`);
      note(rival.name, await sampleOf(site, run.ended, run));
    }
  }
  return samples;
}

function casesOf({ pages, others, portico }: Setting, samples: Samples): Case[] {
  const of = (name: string, figure: (sample: Sample) => number) => median((samples.get(name) ?? []).map(figure));
  const runs = samples.get(ours)?.length ?? 0;
  const speed = ({ seconds }: Sample) => pages / seconds;
  const row = (what: string, unit: string, figure: (sample: Sample) => number): Case => ({
    name: `${pages} pages, ${what}`,
    unit,
    value: of(ours, figure),
    runs,
    peers: others.map(({ name }): Peer => ({ name, value: of(name, figure) })),
  });
  const share = (100 * of(recrawl, ({ seconds }) => seconds)) / of(ours, ({ seconds }) => seconds);
  const times = others
    .filter(({ name }) => !name.startsWith('wget'))
    .map(({ name }) => ({
      name: `${pages} pages, times the pages/s of ${name}`,
      unit: '×',
      value: of(ours, speed) / of(name, speed),
      runs,
      atLeast: 3,
    }));
  return [
    row('pages captured', 'pages/s', speed),
    ...times,
    row('requests', 'requests/s', ({ requests, seconds }) => requests / seconds),
    row('processor time', 's', ({ cpu }) => cpu),
    row('most memory, all processes', 'MiB', ({ peak }) => peak),
    {
      name: `${pages} pages, growth of the server`,
      unit: 'MiB',
      value: of(ours, ({ peakOfFirst }) => peakOfFirst) - portico.idle,
      runs,
      atMost: 150,
    },
    {
      name: `${pages} pages, unchanged, recrawl`,
      unit: 'pages/s',
      value: of(recrawl, speed),
      runs,
      peers: [{ name: 'the first crawl', value: of(ours, speed) }],
    },
    { name: `${pages} pages, unchanged, time of the first crawl`, unit: '%', value: share, runs, atMost: 40 },
  ];
}

/** Crawls of generated sites, beside other crawlers on the same sites in the same run. */
export const crawl: Benchmark = {
  name: 'crawl',
  summary: 'Pages per second, processor time and memory of crawls, beside Scrapy, Crawlee and wget; recrawls.',
  minutes: 25,
  async run(bench) {
    const site = await startSite();
    bench.defer(site.stop);
    const others = await rivals(await bench.directory());
    const rounds = bench.scaled(3);
    const cases: Case[] = [];
    for (const pages of [bench.scaled(1_000), bench.scaled(10_000)]) {
      const setting = { bench, site, others, pages, rounds, portico: await porticoCrawls(bench) };
      cases.push(...casesOf(setting, await measure(setting)));
    }
    return {
      cases,
      notes: [
        `${others.map(({ name, version }) => `${name} ${version}`).join(', ')}; 20 connections each but wget's one, no delay, robots.txt obeyed.`,
        'Pages of some 15 KiB with about 20 links and no assets, served from memory by a process of its own on the same machine.',
        'Time runs from the first request to the end: of the run for Portico, with its snapshot sealed and published, of the process for the others.',
        'Portico keeps its frontier in PostgreSQL and stores every body durably; Scrapy and Crawlee store nothing, wget writes files without a sync.',
        'Memory and processor time of Portico include its PostgreSQL. A recrawl transfers no bodies: every answer is 304.',
      ],
    };
  },
};
