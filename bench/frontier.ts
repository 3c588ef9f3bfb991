import { type Benchmark, type Case, timedCase } from './benchmark.ts';
import { startFrontier } from './support/crawls/frontier-child.ts';

/** URLs of one batch. */
const batch = 100;
/** New URLs on each page. */
const linksEach = 10;

/** A frontier grows to a million URLs, and is worked on at that size. */
export const frontier: Benchmark = {
  name: 'frontier',
  summary: 'Claims, completions and new URLs of a crawl whose frontier holds a million; memory of the process.',
  minutes: 20,
  async run(bench) {
    const most = bench.scaled(1_000_000);
    const frontier = await startFrontier(bench, 10 * batch);
    await frontier.request({ kind: 'batch', links: 0 });
    const cases: Case[] = [];
    const warm = most / 10;
    let warmMemory = 0;
    let growing = 0;
    const rounds: number[] = [];
    while (frontier.urls < most) {
      const milliseconds = await frontier.request({ kind: 'batch', links: linksEach });
      growing += milliseconds;
      rounds.push(milliseconds);
      if (warmMemory === 0 && frontier.urls >= warm) warmMemory = await frontier.request({ kind: 'memory' });
      if (rounds.length % 100 === 0) bench.say(`${frontier.urls} URLs`);
    }
    const fullMemory = await frontier.request({ kind: 'memory' });
    cases.push({
      name: `growing to ${most} URLs, new ones`,
      unit: 'URLs/s',
      value: (rounds.length * batch * linksEach * 1000) / growing,
      runs: rounds.length,
    });
    cases.push(timedCase('  of it, a round: 100 completed, 1,000 found, 100 claimed', rounds));
    const steady: number[] = [];
    for (let round = 0; round < bench.scaled(200); round += 1)
      steady.push(await frontier.request({ kind: 'batch', links: 0 }));
    const steadyCase = timedCase(`at ${most} URLs, a round: 100 completed, 100 claimed`, steady);
    cases.push(steadyCase, {
      name: '  p95 of it',
      unit: 'ms',
      value: steadyCase.p95 ?? Number.NaN,
      runs: steady.length,
      atMost: 60,
    });
    cases.push({
      name: '  pages a second by it',
      unit: 'pages/s',
      value: (steady.length * batch * 1000) / steady.reduce((sum, each) => sum + each, 0),
    });
    const counting = await frontier.request({ kind: 'count' });
    cases.push({ name: `counting ${most} URLs again, as a take-over does`, unit: 'ms', value: counting });
    cases.push({
      name: `memory at ${most} URLs, of that at a tenth`,
      unit: '%',
      value: (100 * fullMemory) / warmMemory,
      atMost: 115,
      peers: [{ name: 'MiB at a tenth', value: warmMemory }],
    });
    return {
      cases,
      notes: [
        'Each round is the transaction of a slice: outcomes, links, new URLs, counters, the next claim. Pages are made up, nothing is fetched.',
        'Memory is the resident memory of a process with the options of `npm start`, after a collection, without PostgreSQL.',
      ],
    };
  },
};
