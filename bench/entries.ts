import { type Bench, type Benchmark, type Case, check, timedCase } from './benchmark.ts';
import { createClient } from './support/client.ts';
import { fileCount, type Site } from './support/content.ts';
import { type Fixture, makeFixture } from './support/fixture.ts';
import { untilIndexed } from './support/indexed.ts';
import { itemsOf, listPath, lists } from './support/listing.ts';
import { siteRepository } from './support/repositories.ts';
import { readAllIsomorphic } from './support/rivals.ts';
import { startServer } from './support/server.ts';
import { timed } from './support/statistics.ts';
import { warmCases } from './support/warm-reads.ts';

const firstList = `${lists[0]}`;

/** The first page of each project, each time from a new process. */
async function firstPages({ defer }: Bench, fixture: Fixture<string>): Promise<number[]> {
  const samples: number[] = [];
  for (const { studio } of Object.values(fixture.projects)) {
    const server = await startServer(fixture);
    defer(server.stop);
    const client = createClient(server.url, fixture.token);
    // The credential is looked up beforehand: what is measured is the content.
    await client.send(`${studio}/branches`);
    const answer = await client.send(listPath(studio, firstList));
    check(
      itemsOf(answer).every(({ frontmatter }) => frontmatter.draft === false),
      'A draft is on the page',
    );
    samples.push(answer.milliseconds);
    client.close();
    await server.stop();
  }
  return samples;
}

/** Lets a server store what it derives from the content of all projects, as it does when it runs for a while. */
async function fillTables({ defer }: Bench, fixture: Fixture<string>, { posts }: Site): Promise<void> {
  const server = await startServer(fixture);
  defer(server.stop);
  const client = createClient(server.url, fixture.token);
  for (const { studio } of Object.values(fixture.projects)) await client.send(listPath(studio, firstList));
  await untilIndexed(fixture.dataDir, posts * Object.keys(fixture.projects).length);
  client.close();
  await server.stop();
}

async function measure(bench: Bench, site: Site): Promise<Case[]> {
  const source = await siteRepository(site);
  // What is kept is kept by repository: each project with the same content begins with nothing.
  const names = site.posts > 10_000 ? ['first'] : ['first', 'second', 'third'];
  const repositories = Object.fromEntries(names.map((name) => [name, source]));
  const fixture = await makeFixture(await bench.directory(), repositories);
  const [first] = Object.values(fixture.projects);
  check(first !== undefined, 'There is no project');
  bench.say(`${site.posts} entries are there`);
  let blobs = 0;
  const isomorphic = await timed(async () => {
    blobs = await readAllIsomorphic(first.gitDir);
  });
  check(blobs === fileCount(site), `isomorphic-git read ${blobs} blobs`);
  const cold = await firstPages(bench, fixture);
  await fillTables(bench, fixture, site);
  const again = await firstPages(bench, fixture);
  bench.say('first pages are measured');
  const server = await startServer(fixture);
  bench.defer(server.stop);
  const client = createClient(server.url, fixture.token);
  bench.defer(client.close);
  const warm = await warmCases(bench, [server, client], first, site);
  const value = await server.memory();
  await server.stop();
  const tenThousands = Math.max(1, site.posts / 10_000);
  const beside = { 'isomorphic-git only reads the files': [isomorphic] };
  const cases: Case[] = [
    timedCase('first page ever, new process', cold, { atMost: 1_200 * tenThousands, beside }),
    timedCase('first page after a restart, tables filled', again, { beside }),
    ...warm,
    { name: 'memory of the server after that', unit: 'MiB', value, atMost: site.posts > 10_000 ? 900 : 250 },
  ];
  return cases.map((found) => ({ ...found, name: `${site.posts}: ${found.name}` }));
}

/** Reading content: what an editor waits for when it opens a list or an entry. */
export const entries: Benchmark = {
  name: 'entries',
  summary: 'A collection of 10,000 entries over HTTP: pages cold and warm, 304, one entry, the file tree, memory.',
  async run(bench) {
    const cases = await measure(bench, { posts: bench.scaled(10_000), directories: 0 });
    if (bench.large) cases.push(...(await measure(bench, { posts: bench.scaled(100_000), directories: 100 })));
    return {
      cases,
      notes: [
        `Over HTTP with the token checked, from another process; ${lists.length} lists (sort × filter), random pages.`,
        'A new order: the files are known, all entries are filtered and sorted.',
      ],
    };
  },
};
