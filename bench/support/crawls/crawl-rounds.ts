import { type Bench, check } from '../../benchmark.ts';
import type { PorticoCrawls } from './portico-crawls.ts';
import type { TreeUse } from './process-tree.ts';
import type { Rival } from './rival-crawlers.ts';
import type { BenchSite } from './site.ts';

/** One crawl by one crawler. */
export interface Sample extends TreeUse {
  /** From the first request to the end of the crawl. */
  seconds: number;
  /** Requests that came to the site, robots.txt apart. */
  requests: number;
}

/** By the name of the crawler. */
export type Samples = Map<string, Sample[]>;

export const ours = 'Portico';
export const recrawl = 'recrawl';

/** What is measured, on which site. */
export interface CrawlSetting {
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
export async function measureCrawls({ bench, site, portico, others, pages, rounds }: CrawlSetting): Promise<Samples> {
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
    check(repeated === 0, `Portico requested ${repeated} times for what it had asked for`);
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
