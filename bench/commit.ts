import { cp } from 'node:fs/promises';
import path from 'node:path';
import type { GitStore } from '../src/domain/ports/git.ts';
import { createGitStore } from '../src/engines/git/store.ts';
import { createLog } from '../src/log.ts';
import type { Benchmark } from './benchmark.ts';
import { type Client, createClient } from './support/client.ts';
import { pathOf, slugOf } from './support/content.ts';
import { makeFixture } from './support/fixture.ts';
import { type CommitFile, isomorphicCommitter, runGit, spawningCommitter } from './support/rivals.ts';
import { startServer } from './support/server.ts';
import { median, seeded, spread, spreadColumns, timed } from './support/statistics.ts';
import { concurrentWriters, type Writing } from './support/writers.ts';

const posts = 10_000;
const rounds = 60;
const warmUp = 5;
const crowd = { writers: 16, each: 25 };

function engineCommitter(store: GitStore, id: string): CommitFile {
  const repository = store.open(id);
  return async (file, content, message) => {
    await repository.write({
      branch: 'main',
      author: { name: 'Bench', email: 'bench@localhost' },
      plan: async () => ({ changes: [{ path: file, content }], message, result: null }),
    });
  };
}

/** Saves the title of an entry as an editor does. */
const httpCommitter =
  (client: Client, studio: string): CommitFile =>
  async (file, _content, message) => {
    const slug = path.basename(file, '.md');
    await client.send(`${studio}/collections/posts/${slug}`, {
      method: 'PUT',
      body: { frontmatter: { title: `${slug}: ${message}` }, message },
    });
  };

const countCommits = async (gitDir: string) => Number(await runGit(gitDir, ['rev-list', '--count', 'refs/heads/main']));

/** Has many writers commit at once and checks that every commit is there. */
async function writeTogether(gitDir: string, committer: CommitFile): Promise<Writing> {
  const before = await countCommits(gitDir);
  const writing = await concurrentWriters(crowd.writers, crowd.each, (writer, turn) =>
    committer(pathOf(writer * 100 + turn), Buffer.from(`writer ${writer}, turn ${turn}\n`), `${writer}.${turn}`),
  );
  const made = (await countCommits(gitDir)) - before;
  if (made !== crowd.writers * crowd.each)
    throw new Error(`${made} of ${crowd.writers * crowd.each} commits are there`);
  return writing;
}

/** Committing one entry into a large repository, beside what others do for the same, and many writers at once. */
export const commit: Benchmark = {
  name: 'commit',
  summary: 'One entry committed among 10,000, beside isomorphic-git and git processes, and 16 writers at once.',
  async run({ defer, directory, say }) {
    const root = await directory();
    const { dataDir, environment, token, studio, repository, gitDir } = await makeFixture(root, posts);
    const copy = async (name: string) => {
      const copied = path.join(root, name, 'git', `${repository}.git`);
      await cp(gitDir, copied, { recursive: true });
      return copied;
    };
    const engineDir = await copy('engine');
    const store = createGitStore({
      dataDir: path.join(root, 'engine'),
      log: createLog({ level: 'silent', redactHeaders: [] }),
      committer: { name: 'Portico', email: 'portico@localhost' },
      now: () => new Date(),
      resolveUpstream: () => Promise.reject(new Error('nothing is fetched here')),
    });
    defer(() => store.close());
    await store.check();
    const server = await startServer({ dataDir, environment });
    defer(server.stop);
    const client = createClient(server.url, token);
    defer(client.close);
    const engine = engineCommitter(store, repository);
    const http = httpCommitter(client, studio);
    const ways: readonly [string, CommitFile][] = [
      ['Portico, git engine only', engine],
      ['Portico, PUT over HTTP', http],
      ['isomorphic-git', isomorphicCommitter(await copy('isomorphic'))],
      ['a git process per step', spawningCommitter(await copy('spawning'))],
    ];
    say('four repositories are made');
    const samples = new Map(ways.map(([name]) => [name, [] as number[]]));
    const random = seeded(3);
    for (let round = -warmUp; round < rounds; round += 1) {
      const number = 2_000 + Math.floor(random() * (posts - 2_000));
      const content = Buffer.from(`---\ntitle: ${slugOf(number)}\n---\n\nround ${round} ${'words '.repeat(300)}\n`);
      for (const [name, committer] of ways) {
        const milliseconds = await timed(() => committer(pathOf(number), content, `Round ${round}`));
        if (round >= 0) samples.get(name)?.push(milliseconds);
      }
    }
    say('single commits are measured');
    const together = { engine: await writeTogether(engineDir, engine), http: await writeTogether(gitDir, http) };
    const { writers, each } = crowd;
    const row = (name: string, { waits, perSecond }: Writing) => [
      `${name}, ${writers} writers: ${Math.round(perSecond)} commits/s`,
      waits.flat().length,
      ...spread(waits.flat()),
    ];
    const of = (name: string) => median(samples.get(name) ?? []);
    return {
      columns: ['one entry among 10,000', 'commits', ...spreadColumns.map((name) => `${name} ms`)],
      rows: [
        ...[...samples].map(([name, found]) => [name, found.length, ...spread(found)]),
        row('git engine only', together.engine),
        row('over HTTP', together.http),
      ],
      goals: [
        { name: 'git engine, median', value: of('Portico, git engine only'), unit: 'ms', atMost: 20 },
        { name: 'over HTTP, median', value: of('Portico, PUT over HTTP'), unit: 'ms', atMost: 20 },
        ...Object.entries(together).map(([name, { unfairness }]) => ({
          ...{ name: `longest wait of a writer by its own median, worst of ${writers} (${name})`, value: unfairness },
          ...{ unit: '×', atMost: 10 },
        })),
      ],
      notes: [
        'The four take turns on copies of one repository. Portico and the git processes sync every object and ref to disk; isomorphic-git does not.',
        `${writers} writers on one branch, ${each} commits each, every one waiting for its answer: all ${writers * each} commits are in the history both times.`,
      ],
    };
  },
};
