import path from 'node:path';
import { type Bench, type Benchmark, type Case, check, timedCase } from './benchmark.ts';
import { calm } from './support/calm.ts';
import { createClient } from './support/client.ts';
import {
  type CommitFile,
  engineCommitter,
  httpCommitter,
  isomorphicCommitter,
  leastWrites,
  spawningCommitter,
} from './support/committers.ts';
import { pathOf, type Site, slugOf } from './support/content.ts';
import { copyOf, type Engine, openEngine } from './support/engine.ts';
import { makeFixture } from './support/fixture.ts';
import { type Repository, siteRepository } from './support/repositories.ts';
import { startServer } from './support/server.ts';
import { median, quantile, seeded, timed } from './support/statistics.ts';
import { countCommits, oidAt } from './support/stock-git.ts';
import { concurrentWriters } from './support/writers.ts';

const warmUp = 5;
const writers = 16;

/** Lets the ways of committing take turns at the same changes. @returns milliseconds of each way */
async function takeTurns(ways: readonly CommitFile[], site: Site, rounds: number): Promise<number[][]> {
  const random = seeded(3);
  const samples: number[][] = ways.map(() => []);
  for (let round = -warmUp; round < rounds; round += 1) {
    const number = Math.floor(random() * site.posts);
    const content = Buffer.from(`---\ntitle: ${slugOf(number, site)}\n---\n\nround ${round} ${'words '.repeat(300)}\n`);
    for (const [at, committer] of ways.entries()) {
      const milliseconds = await timed(() => committer(pathOf(number, site), content, `Round ${round}`));
      if (round >= 0) samples[at]?.push(milliseconds);
    }
  }
  return samples;
}

/** Commits of single files, four ways side by side; those that write the same content have to end in the same tree. */
async function single(
  bench: Bench,
  { site, source, label }: { site: Site; source: Repository; label: string },
  [engine, http]: readonly [Engine, CommitFile],
  atMost: number,
): Promise<Case[]> {
  const root = await bench.directory();
  const isomorphic = await copyOf(source, path.join(root, 'isomorphic'));
  const spawning = await copyOf(source, path.join(root, 'spawning'));
  const rivals = [isomorphicCommitter(isomorphic), spawningCommitter(spawning), leastWrites(root)];
  const ways = [engineCommitter(engine), http, ...rivals];
  const rounds = bench.scaled(60, 5);
  const [ours = [], overHttp = [], byIsomorphic = [], byGit = [], least = []] = await takeTurns(ways, site, rounds);
  const trees = await Promise.all([engine.gitDir, isomorphic, spawning].map((gitDir) => oidAt(gitDir, 'main^{tree}')));
  check(new Set(trees).size === 1 && (await countCommits(engine.gitDir)) > rounds, 'The ways end in different trees');
  const floor = { 'two files synced': least };
  const beside = { 'isomorphic-git, unsynced': byIsomorphic, 'a git process per step': byGit, ...floor };
  return [
    timedCase(`${label}, git engine`, ours, { beside, atMost }),
    timedCase(`${label}, PUT over HTTP`, overHttp, {
      atMost: putLimit(median(ours)),
      beside: { 'git engine': ours, ...floor },
    }),
  ];
}

/** What a PUT may take beside a commit of the engine measured in the same rounds, milliseconds. */
const putLimit = (engine: number) => Math.max(1.6 * engine, engine + 5);

/** Commits per second over HTTP, on a quiet machine or beside what the engine did in the same run on any other. */
const crowdLimit = (engine: number) => Math.min(110, 0.7 * engine);

/** Many writers at once on one branch; every commit has to be there. */
async function together(
  label: string,
  gitDir: string,
  site: Site,
  { committer, alone, each, atLeast }: { committer: CommitFile; alone: number; each: number; atLeast: number },
): Promise<Case[]> {
  const before = await countCommits(gitDir);
  const { waits, perSecond, unfairness } = await concurrentWriters(writers, each, (writer, turn) =>
    committer(pathOf(writer * each + turn, site), Buffer.from(`writer ${writer}, turn ${turn}\n`), `${writer}.${turn}`),
  );
  const made = (await countCommits(gitDir)) - before;
  check(made === writers * each, `${made} of ${writers * each} commits are there`);
  const name = `${writers} writers × ${each} on one branch, ${label}`;
  const runs = waits.flat().length;
  return [
    {
      name,
      unit: 'commits/s',
      value: perSecond,
      runs,
      atLeast,
      peers: [{ name: 'one writer', value: 1000 / alone }],
    },
    { name: `${name}: p99 of the waits`, unit: 'ms', value: quantile(waits.flat(), 0.99), runs, atMost: 1_000 },
    { name: `${name}: longest wait by the writer's own median`, unit: '×', value: unfairness, runs, atMost: 10 },
  ];
}

/** Committing one file into a large repository, beside what others do for the same, and many writers at once. */
export const commit: Benchmark = {
  name: 'commit',
  summary: 'One file into 10,000 and into 100,000, beside isomorphic-git and git processes; 16 writers at once.',
  async run(bench) {
    const sites = {
      flat: { posts: bench.scaled(10_000, 1_000), directories: 0 },
      sharded: { posts: bench.scaled(100_000), directories: 100 },
    };
    const sources = { flat: await siteRepository(sites.flat), sharded: await siteRepository(sites.sharded) };
    const { projects, ...fixture } = await makeFixture(await bench.directory(), sources);
    const server = await startServer(fixture);
    bench.defer(server.stop);
    const client = createClient(server.url, fixture.token);
    bench.defer(client.close);
    const flat = { label: `into ${sites.flat.posts} in one directory`, site: sites.flat, source: sources.flat };
    const sharded = { label: `into ${sites.sharded.posts} in 100`, site: sites.sharded, source: sources.sharded };
    bench.say('the repositories are made');
    const engine = await openEngine(bench, sources.flat);
    const http = httpCommitter(client, projects.flat.studio);
    const shardedHttp = httpCommitter(client, projects.sharded.studio);
    // The first save of a site has it indexed in the background, which takes seconds for each ten thousand entries.
    await http(pathOf(0, sites.flat), Buffer.alloc(0), 'First');
    await shardedHttp(pathOf(0, sites.sharded), Buffer.alloc(0), 'First');
    await calm(server.pid);
    bench.say('the sites are indexed');
    const cases = await single(bench, flat, [engine, http], 15);
    const [byEngine, byHttp] = cases.map(({ value }) => value);
    cases.push(...(await single(bench, sharded, [await openEngine(bench, sources.sharded), shardedHttp], 8)));
    bench.say('single commits are measured');
    const each = bench.scaled(50);
    const ours = { committer: engineCommitter(engine), alone: byEngine ?? 0, each, atLeast: 100 };
    const crowd = await together('git engine', engine.gitDir, sites.flat, ours);
    const atLeast = crowdLimit(crowd[0]?.value ?? 0);
    const overHttp = { committer: http, alone: byHttp ?? 0, each, atLeast };
    cases.push(...crowd, ...(await together('over HTTP', projects.flat.gitDir, sites.flat, overHttp)));
    return {
      cases,
      notes: [
        'The four take turns on copies of one repository and end in the same tree. Portico and the git processes sync every object and ref to disk; isomorphic-git does not.',
        'Writers wait for the answer to a commit before the next; all commits are in the history.',
      ],
    };
  },
};
