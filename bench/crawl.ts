import type { Benchmark, Case, Peer } from './benchmark.ts';
import {
  type CrawlSetting,
  measureCrawls,
  ours,
  recrawl,
  type Sample,
  type Samples,
} from './support/crawls/crawl-rounds.ts';
import { porticoCrawls } from './support/crawls/portico-crawls.ts';
import { rivals } from './support/crawls/rival-crawlers.ts';
import { startSite } from './support/crawls/site.ts';
import { median } from './support/statistics.ts';

/** The figures of all rounds. */
function casesOf({ pages, others, portico }: CrawlSetting, samples: Samples): Case[] {
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
  // Those of one round are compared: the machine may be another one by the next.
  const timesOf = (name: string, other: string) => {
    const beside = samples.get(other) ?? [];
    return median(
      (samples.get(name) ?? []).map(({ seconds }, round) => seconds / (beside[round]?.seconds ?? Number.NaN)),
    );
  };
  const times = others
    .filter(({ name }) => !name.startsWith('wget'))
    .map(({ name }) => ({
      name: `${pages} pages, times the pages/s of ${name}`,
      unit: '×',
      value: timesOf(name, ours),
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
    {
      name: `${pages} pages, unchanged, time of the first crawl`,
      unit: '%',
      value: 100 * timesOf(recrawl, ours),
      runs,
      atMost: 40,
    },
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
    const cases: Case[] = [];
    for (const pages of bench.pages ?? [bench.scaled(1_000), bench.scaled(10_000)]) {
      // A small site is crawled in less than a second: what the machine does meanwhile counts for more.
      const rounds = bench.scaled(pages > 1_000 ? 3 : 5);
      const setting = { bench, site, others, pages, rounds, portico: await porticoCrawls(bench) };
      cases.push(...casesOf(setting, await measureCrawls(setting)));
    }
    return {
      cases,
      notes: [
        `${others.map(({ name, version }) => `${name} ${version}`).join(', ')}; 20 connections each but wget's one, no delay, robots.txt obeyed.`,
        'Pages of some 15 KiB with about 20 links and no assets, served from memory by a process of its own on the same machine.',
        'How many times as fast is the median of the rounds, in each of which everybody crawls the same site in turn.',
        'Time runs from the first request to the end: of the run for Portico, with its snapshot sealed and published, of the process for the others.',
        'Portico keeps its frontier in PostgreSQL and stores every body durably; Scrapy and Crawlee store nothing, wget writes files without a sync.',
        'Memory and processor time of Portico include its PostgreSQL. A recrawl transfers no bodies: every answer is 304.',
      ],
    };
  },
};
