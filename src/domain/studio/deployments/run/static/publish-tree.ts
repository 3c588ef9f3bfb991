import { fewAtOnce } from '../../../../few-at-once.ts';
import type { Oid, Snapshot, TreeFile } from '../../../../ports/git-records.ts';
import { largestPointer, readLfsPointer } from '../../../repository/lfs-pointer.ts';
import { OutputSize } from '../../output-limits.ts';
import type { JobRun } from '../job-run.ts';
import { notice } from '../notice.ts';
import { type Run, StageFailure, type Work } from '../stage.ts';
import { type KeptFile, storeOutput } from '../store-output.ts';
import { listOutput } from './list-output.ts';
import { outputDirectory } from './output-directory.ts';
import { type Kept, type PublishedBefore, publishedBefore } from './published-before.ts';

/** Contents put at the same time: those that are small and new become durable together. */
const together = 100;

interface Found {
  tree: Snapshot;
  files: readonly TreeFile[];
  before: PublishedBefore;
}

/** Sizes by object id; of what is published already they are known. */
async function sizesOf({ git }: Run, { files, before }: Found): Promise<Map<Oid, number>> {
  const known = new Map([...before.contents].map(([oid, { size }]) => [oid, size]));
  const unknown = [...new Set(files.map(({ oid }) => oid))].filter((oid) => !known.has(oid));
  for (const [at, size] of (await git.sizes(unknown)).entries()) known.set(unknown[at] ?? '', size ?? 0);
  return known;
}

/** Finds what is to be published, and tells of what is not. Reads the small files alone. */
async function find(run: Run, job: JobRun): Promise<Found> {
  const { git, row, signal } = run;
  const [tree, before] = await Promise.all([git.snapshot(row.commit_sha), publishedBefore(run)]);
  const { path, published: files, ...left } = await listOutput(tree, outputDirectory(row.settings));
  const found = { tree, files, before };
  const sizes = await sizesOf(run, found);
  const sized = files.map((file) => ({ ...file, size: sizes.get(file.oid) ?? 0 }));
  const total = new OutputSize();
  for (const file of sized) {
    const tooLarge = total.add(file.path, file.size);
    if (tooLarge) throw new StageFailure('output_too_large', tooLarge.detail);
  }
  const pointers: string[] = [];
  const small = sized.filter(({ size }) => size <= largestPointer);
  let at = 0;
  for await (const { content } of tree.blobs(small.map(({ oid }) => oid))) {
    signal.throwIfAborted();
    const name = small[at++]?.path ?? '';
    if (readLfsPointer(content)) pointers.push(name);
  }
  job.log.line(`${files.length} files, ${total.bytes} bytes of commit ${row.commit_sha} on ${row.branch}`);
  if (before.tree !== null && before.tree === (await tree.treeOid(path)))
    job.log.line('The same tree as what is published');
  notice(run, job, 'link_left_out', 'Left out, because the link leads out of the repository', left.leadOut);
  notice(run, job, 'not_published', 'Not published, because they are links or no plain files', left.refused);
  notice(run, job, 'submodule_not_fetched', 'Submodules are not fetched', left.submodules);
  notice(run, job, 'lfs_pointer', 'Still Git LFS pointers', pointers);
  return found;
}

/** Keeps the contents that are not published already, each read once, from git into the store. */
async function keep({ services, signal }: Run, { tree, files, before }: Found): Promise<KeptFile[]> {
  const news = new Map<Oid, Kept & { isNew: boolean }>();
  const wanted = [...new Set(files.map(({ oid }) => oid))].filter((oid) => !before.contents.has(oid));
  await fewAtOnce(tree.blobs(wanted), together, async ({ oid, content }) => {
    signal.throwIfAborted();
    news.set(oid, await services.blobs.put(content));
  });
  return files.map(({ path, oid }) => {
    const kept = news.get(oid) ?? before.contents.get(oid);
    if (!kept) throw new Error(`${path} was not read`);
    return { path, sha256: kept.sha256, size: kept.size, isNew: news.get(oid)?.isNew ?? false };
  });
}

/**
 * The work of a deployment that publishes a directory of the commit as it is: from git's objects straight into the store, without a
 * workspace, and so without anything of the repository on a file system. What the environment shows already is not read again.
 */
export function treeWork(run: Run): Work {
  let found: Found | undefined;
  return {
    stages: {
      prepare: (job) =>
        job.step(`Read the files of ${run.row.commit_sha.slice(0, 7)}`, async () => {
          found = await find(run, job);
        }),
    },
    keep: (job) =>
      job.step('Publish', async () => {
        if (!found) throw new Error('a tree is published after it was read');
        return storeOutput(run, job, await keep(run, found));
      }),
  };
}
