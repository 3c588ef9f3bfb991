import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Benchmark, check, timedCase } from './benchmark.ts';
import { spawningCommitter } from './support/committers.ts';
import { type ContentFile, noise, postOf, type Site, siteFiles } from './support/content.ts';
import { makeFixture } from './support/fixture.ts';
import { startBackend, startDaemon } from './support/git-servers.ts';
import { repositoryOf } from './support/repositories.ts';
import { startServer } from './support/server.ts';
import { median, timed } from './support/statistics.ts';
import { gitLine, oidAt } from './support/stock-git.ts';

const mebibyte = 1024 * 1024;
const firstPost = 'src/content/posts/post-000000.md';

function* heavyFiles(site: Site, pictures: number): Generator<ContentFile> {
  yield* siteFiles(site);
  for (let at = 0; at < pictures; at += 1) {
    yield { path: `public/media/picture-${at}.bin`, content: noise(mebibyte, at) };
  }
}

const run = promisify(execFile);

/** A git client as a person has it, but for settings of the machine. */
const client = (home: string, args: readonly string[]) =>
  run('git', args, { env: { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' } });

/** Cloning and fetching by stock git from four servers of the same repository on this machine. */
export const clone: Benchmark = {
  name: 'clone',
  summary:
    'Clone of 150 MB and fetch of a commit over smart HTTP, beside local clone, git daemon and git http-backend.',
  async run(bench) {
    const site = { posts: bench.scaled(10_000), directories: 0 };
    const pictures = bench.scaled(140);
    const source = await repositoryOf(`heavy-${site.posts}-${pictures}`, () => [
      { branch: 'main', files: heavyFiles(site, pictures) },
    ]);
    const fixture = await makeFixture(await bench.directory(), { site: source });
    const { gitPath, gitDir, repository } = fixture.projects.site;
    const server = await startServer(fixture);
    bench.defer(server.stop);
    const below = path.dirname(gitDir);
    const authority = server.url.replace('://', `://token:${fixture.token}@`);
    const urls = [
      `${authority}${gitPath}`,
      `file://${gitDir}`,
      `${await startDaemon(bench, below)}/${repository}.git`,
      `${await startBackend(bench, below)}/${repository}.git`,
    ];
    const peers = ['`git clone --no-local`', '`git daemon`', '`git http-backend`'];
    const root = await bench.directory();
    bench.say('the servers run');
    const objects = async (dir: string) => (await gitLine(dir, ['rev-list', '--objects', '--all', '--count'])).trim();
    const wanted = await objects(gitDir);
    const clones: number[][] = urls.map(() => []);
    for (let round = -1; round < bench.scaled(7, 2); round += 1) {
      for (const [at, url] of urls.entries()) {
        const to = path.join(root, `clone-${at}`);
        await rm(to, { recursive: true, force: true });
        const milliseconds = await timed(() => client(root, ['clone', '--quiet', '--bare', url, to]));
        if (round >= 0) clones[at]?.push(milliseconds);
      }
      bench.say(`round ${round + 1} of clones is done`);
    }
    for (const at of urls.keys()) {
      const dir = path.join(root, `clone-${at}`);
      check((await oidAt(dir, 'main')) === source.head, `Clone ${at} has another head`);
      check((await objects(dir)) === wanted, `Clone ${at} lacks objects`);
    }
    const commit = spawningCommitter(gitDir);
    const fetches: number[][] = urls.map(() => []);
    for (let round = 0; round < bench.scaled(20, 2); round += 1) {
      await commit(firstPost, Buffer.from(`${postOf(0)}\nRound ${round}\n`), `Round ${round}`);
      const head = await oidAt(gitDir, 'main');
      for (const [at, url] of urls.entries()) {
        const dir = path.join(root, `clone-${at}`);
        const args = [`--git-dir=${dir}`, 'fetch', '--quiet', url, '+refs/heads/main:refs/heads/main'];
        fetches[at]?.push(await timed(() => client(root, args)));
        check((await oidAt(dir, 'main')) === head, `Fetch ${at} did not bring the commit`);
      }
    }
    const [ours = [], local = []] = clones;
    const beside = (all: readonly number[][]) => Object.fromEntries(peers.map((name, at) => [name, all[at + 1] ?? []]));
    const share = median(ours.map((milliseconds, round) => (100 * (local[round] ?? Number.NaN)) / milliseconds));
    return {
      cases: [
        timedCase(`bare clone of ${site.posts} posts and ${pictures} MiB of pictures`, ours, {
          beside: beside(clones),
        }),
        {
          name: 'its speed by that of a local clone, median of pairs',
          unit: '%',
          value: share,
          runs: ours.length,
          atLeast: 70,
        },
        timedCase('fetch of one new commit', fetches[0] ?? [], { beside: beside(fetches) }),
      ],
      notes: ['All clones are of the same repository on disk, taking turns; head and number of objects are compared.'],
    };
  },
};
