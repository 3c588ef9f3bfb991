import path from 'node:path';
import { type Benchmark, check, timedCase } from './benchmark.ts';
import { createClient } from './support/client.ts';
import { copyOf, openEngine } from './support/engine.ts';
import { makeFixture } from './support/fixture.ts';
import {
  engineMerge,
  httpMerge,
  isomorphicMerge,
  type Merge,
  spawningMerge,
  workTreeMerge,
} from './support/mergers.ts';
import { startServer } from './support/server.ts';
import { mergedFiles, type Sides, sidesRepository } from './support/sides.ts';
import { blobOid, listFiles, oidAt } from './support/stock-git.ts';

/** Merging branches, whole: from the request to the moved branch. */
export const merge: Benchmark = {
  name: 'merge',
  summary: 'Merges of one file a side and of 500 files a side with 100 field merges, beside git and isomorphic-git.',
  async run(bench) {
    const site = { posts: bench.scaled(10_000, 1_000), directories: 0 };
    const count = bench.scaled(500);
    const overlap = bench.scaled(100);
    const ones: Sides[] = Array.from({ length: bench.scaled(30, 4) }, (_, at) => ({
      ...{ name: `one-${at}`, ours: { from: at, count: 1 }, theirs: { from: 500 + at, count: 1 } },
    }));
    const manies: Sides[] = Array.from({ length: bench.scaled(6, 2) }, (_, at) => ({
      ...{ name: `many-${at}`, ours: { from: 0, count }, theirs: { from: count - overlap, count } },
    }));
    const source = await sidesRepository(site, [...ones, ...manies]);
    const fixture = await makeFixture(await bench.directory(), { site: source });
    const { studio, gitDir } = fixture.projects.site;
    const root = await bench.directory();
    const [isomorphic, spawning, tree] = await Promise.all(
      ['isomorphic', 'spawning', 'tree'].map((name) => copyOf(source, path.join(root, name))),
    );
    const workTree = await bench.directory();
    const server = await startServer(fixture);
    bench.defer(server.stop);
    const client = createClient(server.url, fixture.token);
    bench.defer(client.close);
    const engine = await openEngine(bench, source);
    const rivals: readonly Merge[] = [
      isomorphicMerge(isomorphic ?? ''),
      spawningMerge(spawning ?? ''),
      workTreeMerge(tree ?? '', workTree),
    ];
    await client.send(`${studio}/collections`);
    bench.say('the branches are there');

    /** All ways take turns; the server's result is compared file by file. The first of the pairs is not counted. */
    const takeTurns = async (ways: readonly Merge[], all: readonly Sides[]): Promise<number[][]> => {
      const before = await listFiles(gitDir, 'main');
      const samples: number[][] = ways.map(() => []);
      for (const [round, sides] of all.entries()) {
        for (const [at, way] of ways.entries()) {
          const milliseconds = await way(sides.name);
          if (round > 0) samples[at]?.push(milliseconds);
        }
        const wanted = new Map(before);
        for (const file of mergedFiles(site, sides)) wanted.set(file.path, blobOid(file.content));
        const found = await listFiles(gitDir, `${sides.name}-ours`);
        const wrong = [...wanted].filter(([file, oid]) => found.get(file) !== oid);
        check(
          wrong.length === 0 && found.size === wanted.size,
          `${sides.name}: ${wrong.length} files are merged wrong`,
        );
      }
      return samples;
    };
    const [byEngine = [], one = [], ...rest] = await takeTurns(
      [engineMerge(engine), httpMerge(client, studio), ...rivals],
      ones,
    );
    bench.say('merges of one file a side are measured');
    const trees = [engine.gitDir, gitDir, isomorphic, spawning, tree].map((dir) =>
      oidAt(dir ?? '', 'one-1-ours^{tree}'),
    );
    check(new Set(await Promise.all(trees)).size === 1, 'The ways to merge end in different trees');
    const [many = [], ...others] = await takeTurns([httpMerge(client, studio), ...rivals], manies);
    const named = (names: readonly string[], samples: readonly number[][]) =>
      Object.fromEntries(names.map((name, at) => [name, samples[at] ?? []]));
    const names = [
      'isomorphic-git, unsynced',
      '`git merge-tree`, `commit-tree`, `update-ref`',
      '`git merge` in a working tree',
    ];
    const left = [`isomorphic-git, ${overlap} files only taken from us`, '`git merge-tree`', '`git merge`'];
    const unmerged = left.map((name, at) => (at === 0 ? name : `${name}, ${overlap} conflicts left`));
    return {
      cases: [
        timedCase(`one file a side of ${site.posts}, git engine`, byEngine, { atMost: 15, beside: named(names, rest) }),
        timedCase('the same by POST /merge', one, { atMost: 15, beside: named(names, rest) }),
        timedCase(`${count} files a side, ${overlap} merged by field, POST /merge`, many, {
          beside: named(unmerged, others),
        }),
      ],
      notes: [
        'Every file of every merge by POST /merge is compared; merges of one file end in the same tree all five ways.',
        `In ${overlap} files one side changed the title and the other the date in the line below, which git leaves as a conflict.`,
      ],
    };
  },
};
