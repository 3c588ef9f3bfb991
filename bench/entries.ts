import { type Bench, type Benchmark, type Case, check, timedCase } from './benchmark.ts';
import { type Client, createClient } from './support/client.ts';
import { fileCount, pathOf, postOf, type Site, slugOf } from './support/content.ts';
import { type Fixture, makeFixture, type Project } from './support/fixture.ts';
import { getList, itemsOf, listPath, lists, perPage, repeat, totalOf } from './support/listing.ts';
import { siteRepository } from './support/repositories.ts';
import { readAllIsomorphic, spawningCommitter } from './support/rivals.ts';
import { type RunningServer, startServer } from './support/server.ts';
import { seeded, timed } from './support/statistics.ts';
import { runGit } from './support/stock-git.ts';

/** Several projects with the same content: what is kept is kept by repository, so each begins with nothing. */
type Fixtures = Fixture<'first' | 'second' | 'third'>;

const firstList = `${lists[0]}`;

/** The first page of each project, each time from a new process. */
async function firstPages({ defer }: Bench, fixture: Fixtures): Promise<number[]> {
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

/** Pages of a branch that differs in one file and was made by git itself, so that nobody has told the server. */
async function newBranches(bench: Bench, client: Client, { studio, gitDir }: Project, site: Site): Promise<number[]> {
  const samples: number[] = [];
  for (let at = 0; at < bench.scaled(10, 3); at += 1) {
    const branch = `branch-${at}`;
    await runGit(gitDir, ['branch', branch, 'main']);
    const changed = Buffer.from(postOf(at).replace(/^title: .*$/m, `title: "000 on branch ${at}"`));
    await spawningCommitter(gitDir, branch)(pathOf(at, site), changed, `Change ${at}`);
    const answer = await getList(client, listPath(studio, `branch=${branch}&sort=title`), site.posts);
    check(itemsOf(answer)[0]?.frontmatter.title === `000 on branch ${at}`, 'The changed entry is not the first');
    samples.push(answer.milliseconds);
  }
  return samples;
}

/** What a reader gets from a server that has seen the content once. */
async function warmCases(
  bench: Bench,
  [server, client]: [RunningServer, Client],
  project: Project,
  site: Site,
): Promise<Case[]> {
  const { studio, gitDir } = project;
  const random = seeded(7);
  const below = (limit: number) => Math.floor(random() * limit);
  const path = (list: string, page?: number) => listPath(studio, list, page);
  await getList(client, path('sort=size'), site.posts);
  const pages = new Map<string, number>();
  const fresh = await repeat(lists.length, server, async (at) => {
    const answer = await client.send(path(lists[at] ?? ''));
    pages.set(lists[at] ?? '', Math.ceil(totalOf(answer) / perPage));
    return answer;
  });
  const known = await repeat(bench.scaled(1_000), server, () => {
    const list = lists[below(lists.length)] ?? '';
    return client.send(path(list, 1 + below(pages.get(list) ?? 1)));
  });
  const tagged = path(firstList, 2);
  const { headers } = await client.send(tagged);
  const condition = { headers: { 'if-none-match': headers.etag ?? '' }, expect: 304 };
  const unchanged = await repeat(bench.scaled(300), server, () => client.send(tagged, condition));
  const entry = await repeat(bench.scaled(500), server, async () => {
    const number = below(site.posts);
    const answer = await client.send(`${studio}/collections/posts/${slugOf(number, site)}`);
    check(postOf(number).endsWith(JSON.parse(answer.body.toString('utf8')).body), `Entry ${number} came out wrong`);
    return answer;
  });
  const filetree = await repeat(bench.scaled(10), server, () => client.send(`${studio}/filetree`));
  const show: number[] = [];
  for (let at = 0; at < bench.scaled(50); at += 1) {
    const file = pathOf(below(site.posts), site);
    show.push(await timed(() => runGit(gitDir, ['show', `main:${file}`])));
  }
  const large = site.posts > 10_000;
  return [
    timedCase(`page of ${perPage}, sorted and filtered, order known`, known.waited, { atMost: large ? 8 : 5 }),
    timedCase('the same, time of the server alone', known.took, { atMost: 2 }),
    timedCase('page in an order nobody asked for before', fresh.waited),
    timedCase('page, If-None-Match, 304', unchanged.waited, { atMost: 2 }),
    timedCase('first page on a new branch, one file changed', await newBranches(bench, client, project, site), {
      atMost: 30,
    }),
    timedCase('one entry', entry.waited, { atMost: 5, beside: { '`git show` per call': show } }),
    timedCase('file tree with sizes', filetree.waited),
  ];
}

async function measure(bench: Bench, site: Site): Promise<Case[]> {
  const source = await siteRepository(site);
  const fixture = await makeFixture(await bench.directory(), { first: source, second: source, third: source });
  bench.say(`${site.posts} entries are there`);
  const { gitDir } = fixture.projects.first;
  let blobs = 0;
  const isomorphic = await timed(async () => {
    blobs = await readAllIsomorphic(gitDir);
  });
  check(blobs === fileCount(site), `isomorphic-git read ${blobs} blobs`);
  const cold = await firstPages(bench, fixture);
  const again = await firstPages(bench, fixture);
  bench.say('first pages are measured');
  const server = await startServer(fixture);
  bench.defer(server.stop);
  const client = createClient(server.url, fixture.token);
  bench.defer(client.close);
  const warm = await warmCases(bench, [server, client], fixture.projects.first, site);
  const value = await server.memory();
  await server.stop();
  const tenThousands = Math.max(1, site.posts / 10_000);
  const beside = { 'isomorphic-git only reads the files': [isomorphic] };
  const cases: Case[] = [
    timedCase('first page ever, new process', cold, { atMost: 1_200 * tenThousands, beside }),
    timedCase('first page after a restart', again, { beside }),
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
        'An order nobody asked for: the files are known, all entries are filtered and sorted.',
      ],
    };
  },
};
