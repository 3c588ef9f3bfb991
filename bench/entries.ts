import type { Bench, Benchmark } from './benchmark.ts';
import { type Client, createClient } from './support/client.ts';
import { pathOf, slugOf, tags } from './support/content.ts';
import { type Fixture, makeFixture } from './support/fixture.ts';
import { readAllIsomorphic, runGit } from './support/rivals.ts';
import { startServer } from './support/server.ts';
import { median, seeded, spread, spreadColumns, timed } from './support/statistics.ts';

const posts = 10_000;
const perPage = 30;
const coldRuns = 3;

const sorts = ['-date', 'title', '-date,title', 'draft,-date'];
const filters = [
  'filter[draft][eq]=false',
  'filter[date][gte]=2020-01-01',
  ...tags.slice(0, 4).map((tag) => `filter[tags][contains]=${tag}`),
];
/** Every combination of an order and a filter, as a query. */
const lists = sorts.flatMap((sort) => filters.map((filter) => `sort=${sort}&${filter}`));

const listPath = (studio: string, list: string, page: number) =>
  `${studio}/collections/posts?${list}&per_page=${perPage}&page=${page}`;

const pickFrom = (random: () => number) => {
  const below = (limit: number) => Math.floor(random() * limit);
  return { below, slug: () => slugOf(below(posts)), list: () => lists[below(lists.length)] ?? '' };
};

/** The first page a process is asked for after its start. */
async function coldPages({ dataDir, environment, token, studio }: Fixture, { defer }: Bench): Promise<number[]> {
  const samples: number[] = [];
  for (let run = 0; run < coldRuns; run += 1) {
    const server = await startServer({ dataDir, environment });
    defer(server.stop);
    const client = createClient(server.url, token);
    // The credential is looked up beforehand: what is measured is the content.
    await client.send(`${studio}/branches`);
    samples.push((await client.send(listPath(studio, lists[0] ?? '', 1))).milliseconds);
    client.close();
    await server.stop();
  }
  return samples;
}

async function repeat(times: number, once: () => Promise<{ milliseconds: number }>): Promise<number[]> {
  const samples: number[] = [];
  for (let at = 0; at < times; at += 1) samples.push((await once()).milliseconds);
  return samples;
}

async function warm(client: Client, studio: string) {
  const { below, slug, list } = pickFrom(seeded(7));
  const fresh: number[] = [];
  const totals = new Map<string, number>();
  // The very first list reads every file; it is measured apart.
  await client.send(listPath(studio, '', 1));
  await client.send(listPath(studio, 'sort=size', 1));
  for (const one of lists) {
    const { milliseconds, headers } = await client.send(listPath(studio, one, 1));
    fresh.push(milliseconds);
    totals.set(one, Math.ceil(Number(headers['x-total-count']) / perPage));
  }
  const cached = await repeat(1_000, () => {
    const one = list();
    return client.send(listPath(studio, one, 1 + below(totals.get(one) ?? 1)));
  });
  const tagged = listPath(studio, lists[0] ?? '', 2);
  const { headers } = await client.send(tagged);
  const known = { headers: { 'if-none-match': headers.etag ?? '' }, expect: 304 };
  const unchanged = await repeat(300, () => client.send(tagged, known));
  const entry = await repeat(500, () => client.send(`${studio}/collections/posts/${slug()}`));
  const filetree = await repeat(10, () => client.send(`${studio}/filetree`));
  return { fresh, cached, unchanged, entry, filetree };
}

/** Reading content: what an editor waits for when it opens a list or an entry. */
export const entries: Benchmark = {
  name: 'entries',
  summary: 'A collection of 10,000 entries over HTTP: pages cold and warm, 304, one entry, the file tree, memory.',
  async run(bench) {
    const { defer, directory, say } = bench;
    const fixture = await makeFixture(await directory(), posts);
    const { dataDir, environment, token, studio, gitDir, files } = fixture;
    say('the repository is made');
    const cold = await coldPages(fixture, bench);
    say('cold pages are measured');
    const server = await startServer({ dataDir, environment });
    defer(server.stop);
    const client = createClient(server.url, token);
    defer(client.close);
    const found = await warm(client, studio);
    const memory = await server.memory();
    await server.stop();
    say('warm pages are measured');
    const { slug } = pickFrom(seeded(9));
    const show: number[] = [];
    for (let at = 0; at < 50; at += 1) {
      const file = pathOf(Number(slug().slice('post-'.length)));
      show.push(await timed(() => runGit(gitDir, ['show', `main:${file}`])));
    }
    let blobs = 0;
    const isomorphic = await timed(async () => {
      blobs = await readAllIsomorphic(gitDir);
    });
    if (blobs !== files.length) throw new Error(`isomorphic-git read ${blobs} of ${files.length} blobs`);
    const row = (name: string, samples: number[]) => [name, samples.length, ...spread(samples)];
    return {
      columns: ['over HTTP, token checked', 'runs', ...spreadColumns.map((name) => `${name} ms`)],
      rows: [
        row('page of 30, new process, nothing read yet', cold),
        row('page of 30, sorted and filtered, order known', found.cached),
        row('page of 30, sorted and filtered, new order', found.fresh),
        row('page, If-None-Match, 304', found.unchanged),
        row('one entry', found.entry),
        row('file tree with sizes', found.filetree),
        row('beside: one file by `git show`', show),
        row('beside: isomorphic-git reads all blobs', [isomorphic]),
      ],
      goals: [
        { name: 'page of 30, warm, median', value: median(found.cached), unit: 'ms', atMost: 5 },
        { name: 'page of 30, first time, median', value: median(cold), unit: 'ms', atMost: 1_200 },
        { name: 'memory of the server after the run', value: memory, unit: 'MiB', atMost: 250 },
      ],
      notes: [
        `${posts} Markdown files of ${Math.round(files.reduce((sum, { content }) => sum + content.length, 0) / files.length)} bytes on average in one directory; ${lists.length} lists (sort × filter), random pages.`,
        'A new order is the first request for a list whose files are known: all entries are filtered and sorted.',
      ],
    };
  },
};
