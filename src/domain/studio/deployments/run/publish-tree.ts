import { forEachConcurrently } from '../../../../lib/concurrency.ts';
import type { Sha256 } from '../../../../ports/blobs.ts';
import type { Oid, Snapshot, TreeEntry, TreeFile } from '../../../../ports/git-records.ts';
import { Environment } from '../../environments/environment.entity.ts';
import { largestPointer, readLfsPointer } from '../../repository/lfs-pointer.ts';
import { Deployment } from '../deployment.entity.ts';
import { isServable, type ManifestEntry, neverPublished, OutputSize, readManifest } from '../manifest.ts';
import { type JobRun, notice } from './job-run.ts';
import { type KeptFile, outputDirectory, storeOutput } from './publish-output.ts';
import { type Run, StageFailure, type Work } from './stage.ts';

/** Links followed before a path counts as leading nowhere, as in Linux (path_resolution(7)). */
const mostLinks = 40;

/** Where a path of a commit really leads. `entry` is null for the root; `missing`: nowhere; `outside`: out of the repository. */
type Followed = { path: string; entry: TreeEntry | null } | 'missing' | 'outside';

/**
 * Follows the links of a path as a file system would, in the tree alone.
 * @param path relative to the root, '' for the root; may hold `.` and `..`
 */
async function followPath(tree: Snapshot, path: string): Promise<Followed> {
  const waiting = path.split('/').reverse();
  let at: string[] = [];
  let entry: TreeEntry | null = null;
  let links = 0;
  for (let segment = waiting.pop(); segment !== undefined; segment = waiting.pop()) {
    if (segment === '' || segment === '.') continue;
    if (entry !== null && entry.mode !== '40000') return 'missing';
    if (segment === '..') {
      if (at.length === 0) return 'outside';
      at = at.slice(0, -1);
      entry = at.length === 0 ? null : (await tree.lookup(at.join('/'))).entry;
      continue;
    }
    const next: TreeEntry | null = (await tree.lookup([...at, segment].join('/'))).entry;
    if (next === null) return 'missing';
    if (next.mode !== '120000') {
      at = [...at, segment];
      entry = next;
      continue;
    }
    const target = (await tree.blob(next.oid)).toString('utf8');
    if (target.startsWith('/')) return 'outside';
    links += 1;
    if (links > mostLinks) return 'missing';
    waiting.push(...target.split('/').reverse());
  }
  return { path: at.join('/'), entry };
}

/** The files of a directory of a commit, by what becomes of them; paths are relative to the directory. */
interface TreeOutput {
  /** Of the directory in the repository; links on the way are followed. */
  path: string;
  published: TreeFile[];
  /** Links that lead out of the repository. */
  leadOut: string[];
  /** Other links, and files whose names no URL can hold. */
  refused: string[];
  submodules: string[];
}

const isHidden = (path: string) =>
  path
    .split('/')
    .slice(0, -1)
    .some((name) => neverPublished.has(name));

const shown = (path: string) => (isServable(path) ? path : JSON.stringify(path));

/**
 * Lists what a directory of a commit holds to be published.
 * @throws StageFailure `output_missing` when it is none, leads out of the repository or holds no file
 */
async function listOutput(tree: Snapshot, directory: string): Promise<TreeOutput> {
  const found = await followPath(tree, directory);
  if (found === 'outside') throw new StageFailure('output_missing', `${directory} leads out of the repository`);
  const isDirectory = found !== 'missing' && (found.entry === null || found.entry.mode === '40000');
  if (!isDirectory) throw new StageFailure('output_missing', `There is no directory ${directory || '.'} in the commit`);
  const output: TreeOutput = { path: found.path, published: [], leadOut: [], refused: [], submodules: [] };
  for (const file of await tree.files(found.path)) {
    if (isHidden(file.path)) continue;
    if (file.mode === '160000') output.submodules.push(file.path);
    else if (file.mode === '120000') {
      const leadsTo = await followPath(tree, found.path === '' ? file.path : `${found.path}/${file.path}`);
      (leadsTo === 'outside' ? output.leadOut : output.refused).push(shown(file.path));
    } else if (isServable(file.path)) output.published.push(file);
    else output.refused.push(shown(file.path));
  }
  if (output.published.length === 0)
    throw new StageFailure('output_missing', `${directory || 'The root directory'} holds no file`);
  return output;
}

/** A content in the store; `size` in bytes. */
interface Kept {
  sha256: Sha256;
  size: number;
}

/** What the environment shows now: by object id of a blob, the content it was published as. */
interface PublishedBefore {
  /** Tree of the directory that was published. */
  tree: Oid | null;
  contents: ReadonlyMap<Oid, Kept>;
}

const nothing: PublishedBefore = { tree: null, contents: new Map() };

/** The tree of what was published, where the commit is still one of the repository's. */
async function treeOf({ git }: Run, { commit_sha, settings }: Deployment): Promise<[Oid, Snapshot, string] | null> {
  if (!(await git.isReachable(commit_sha))) return null;
  const tree = await git.snapshot(commit_sha);
  const found = await followPath(tree, outputDirectory(settings));
  if (typeof found === 'string') return null;
  const oid = await tree.treeOid(found.path);
  return oid === null ? null : [oid, tree, found.path];
}

/**
 * Finds out what of a tree need not be read again, because the environment shows it already: a static output holds the blobs of its
 * commit as they are. Only contents that are still kept are named, and those are made young.
 */
async function publishedBefore(run: Run): Promise<PublishedBefore> {
  const { services, row } = run;
  const em = services.orm.em.fork();
  const environment = await em.findOne(Environment, row.environment_id);
  const shown = await em.findOne(Deployment, environment?.published_deployment_id ?? 0);
  if (!shown?.manifest_sha256 || shown.settings.provider !== 'static') return nothing;
  const found = await treeOf(run, shown);
  if (found === null) return nothing;
  const [oid, tree, path] = found;
  const manifest = await readManifest(services.blobs, shown.manifest_sha256).catch(() => null);
  if (manifest === null) return nothing;
  const entries = new Map<string, ManifestEntry>(manifest.map((entry) => [entry[0], entry]));
  const gone = await services.blobs.missing(manifest.map(([, sha256]) => sha256));
  const contents = new Map<Oid, Kept>();
  for (const { path: name, oid: blob } of await tree.files(path)) {
    const [, sha256, size] = entries.get(name) ?? [];
    if (sha256 !== undefined && size !== undefined && !gone.has(sha256)) contents.set(blob, { sha256, size });
  }
  return { tree: oid, contents };
}

/** Contents put at the same time: small new ones become durable together. */
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
  await forEachConcurrently(tree.blobs(wanted), together, async ({ oid, content }) => {
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
