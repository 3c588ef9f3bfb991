import path from 'node:path';
import { type Benchmark, type Case, check, timedCase } from './benchmark.ts';
import { pathOf, postOf, type Site } from './support/content.ts';
import { copyOf, openEngine } from './support/engine.ts';
import { siteRepository } from './support/repositories.ts';
import { isomorphicReader } from './support/rivals.ts';
import { seeded } from './support/statistics.ts';
import { listFiles, runGit } from './support/stock-git.ts';

type ReadBlob = (oid: string) => Promise<Uint8Array>;

/** Reads blobs one after the other and holds each against what it has to be, outside of the time. */
async function readEach(read: ReadBlob, wanted: readonly { oid: string; content: Buffer }[]): Promise<number[]> {
  const samples: number[] = [];
  for (const { oid, content } of wanted) {
    const began = performance.now();
    const found = await read(oid);
    samples.push(performance.now() - began);
    check(content.equals(found), `Blob ${oid} came out wrong`);
  }
  return samples;
}

/** Reading one file by its object id, each only once so that no cache of contents answers. */
export const blob: Benchmark = {
  name: 'blob',
  summary: 'One blob by the persistent reader, beside isomorphic-git and `git cat-file` per call.',
  async run(bench) {
    const measure = async (site: Site, label: string, limit: Partial<Case>): Promise<Case> => {
      const source = await siteRepository(site);
      const { repository, gitDir } = await openEngine(bench, source);
      const copy = await copyOf(source, path.join(await bench.directory(), 'isomorphic'));
      const snapshot = await repository.snapshot(source.head);
      const oids = await listFiles(gitDir, 'main');
      const random = seeded(5);
      const numbers = [...new Set(Array.from({ length: 4_000 }, () => Math.floor(random() * site.posts)))];
      const wanted = numbers.map((number) => ({
        oid: oids.get(pathOf(number, site)) ?? '',
        content: Buffer.from(postOf(number)),
      }));
      const readIsomorphic = isomorphicReader(copy);
      // What opens packs and starts processes is not what one blob costs.
      for (const read of [(oid: string) => snapshot.blob(oid), readIsomorphic])
        await readEach(read, wanted.slice(0, 50));
      const rest = wanted.slice(50);
      const ours = await readEach((oid) => snapshot.blob(oid), rest);
      const byIsomorphic = await readEach(readIsomorphic, rest);
      const byProcess = await readEach(
        (oid) => runGit(gitDir, ['cat-file', 'blob', oid]),
        rest.slice(0, bench.scaled(100)),
      );
      const beside = { 'isomorphic-git, its cache kept': byIsomorphic, '`git cat-file` per call': byProcess };
      return timedCase(label, ours, { beside, ...limit });
    };
    const flat = { posts: bench.scaled(10_000), directories: 0 };
    const sharded = { posts: bench.scaled(100_000), directories: 100 };
    return {
      cases: [
        await measure(flat, `one of ${flat.posts} packed blobs`, { atMost: 0.2 }),
        await measure(sharded, `one of ${sharded.posts} packed blobs`, { atMost: 0.28 }),
      ],
      notes: ['Every content is compared with the generated file.'],
    };
  },
};
