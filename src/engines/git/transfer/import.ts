import { join } from 'node:path';
import { newRefNameProblem } from '../../../domain/studio/ref-name.ts';
import { DomainError } from '../../../kernel/errors.ts';
import { storageFull } from '../../../kernel/unavailable.ts';
import type { Ref } from '../../../ports/git-records.ts';
import type { Imported, ImportProgress, ImportSource } from '../../../ports/git-transfer.ts';
import { syncDirectories } from '../durable-files.ts';
import type { SpawnOptions } from '../git-child.ts';
import { type GitProcesses, type Log, wallTime } from '../git-process.ts';
import { checkIncoming } from '../incoming/check-incoming.ts';
import type { Tip, TreeLimits } from '../incoming/limits.ts';
import { createLayout, hasLayout, readFormat, replaceLayout } from '../layout.ts';
import { formatOf, isOid, type ObjectFormat } from '../objects/object-id.ts';
import { RefFiles } from '../refs/ref-files.ts';
import type { GitRepository } from '../repository.ts';
import { incomingObjects } from '../upkeep/fsck.ts';
import { receiving } from '../upkeep/maintenance.ts';
import { mostFetched, mostFetchedRefs, type Reach, type UpstreamOptions, withReach } from './reach.ts';
import { mostRefs } from './upstream.ts';
import { failureOf, incomplete, isDamage, isIncomplete, isStorageFull, upstreamError } from './upstream-failure.ts';

/** Of git's progress, characters. What the source says without a line end may be of any length, and would be gone through anew with each piece. */
const longestLine = 200;

/**
 * Reads the progress `git fetch --progress` writes to stderr: lines such as `Receiving objects:  45% (9/20), 1.2 MiB | …`, rewritten in
 * place with carriage returns and cut anywhere.
 */
class ProgressReader {
  readonly #report: (progress: ImportProgress) => void;
  /** The first line about a ref that was passed over, see `isIncomplete`. Those about all others come after it, as long as they may be. */
  passedOver: string | null = null;
  #rest = '';
  #last: ImportProgress = { phase: 'connecting', received_objects: 0, total_objects: 0 };

  constructor(report: (progress: ImportProgress) => void) {
    this.#report = report;
    report(this.#last);
  }

  phase(phase: ImportProgress['phase']): void {
    this.#set({ ...this.#last, phase });
  }

  read(text: string): void {
    const lines = (this.#rest + text).split(/[\r\n]/);
    this.#rest = (lines.pop() ?? '').slice(0, longestLine);
    for (const line of lines) this.#line(line);
  }

  #line(line: string): void {
    if (isIncomplete(line)) this.passedOver ??= line;
    const receiving = /^Receiving objects: +\d+% \((\d+)\/(\d+)\)/.exec(line);
    if (receiving !== null) {
      this.#set({ phase: 'receiving', received_objects: Number(receiving[1]), total_objects: Number(receiving[2]) });
    } else if (line.startsWith('Resolving deltas:') && this.#last.phase !== 'resolving') this.phase('resolving');
  }

  #set(progress: ImportProgress): void {
    this.#last = progress;
    this.#report(progress);
  }
}

/** Where fetched refs wait until all is checked; clients never see them. */
const aside = 'refs/portico/import';

interface Import {
  processes: GitProcesses;
  repository: GitRepository;
  log: Log;
  upstream: UpstreamOptions;
  limits: TreeLimits;
  source: ImportSource;
}

interface Remote {
  format: ObjectFormat;
  /** Short name; null when the source's HEAD names no branch, or one that cannot have its name here. */
  head: string | null;
  /** Full names of all refs. */
  refs: ReadonlySet<string>;
}

/** Fetches all branches and tags of a source, or the branches it names, aside, checks them, and makes them the repository's in one transaction. */
export function importRepository(job: Import): Promise<Imported> {
  return withReach(job.source, job.upstream, (way) => importBy(job, way));
}

async function importBy(job: Import, way: Reach): Promise<Imported> {
  const { processes, repository, source, limits } = job;
  const { gitDir } = repository;
  const signal = source.signal ?? new AbortController().signal;
  const progress = new ProgressReader(source.onProgress ?? (() => {}));
  const remote = await askRemote(job, way);
  checkBranches(source, remote);
  checkCount(job, wantedOf(source, remote));
  await prepare(repository, remote);
  await receiving(gitDir, spawnOptions(job, way).mostFile, () => fetchAside(job, way, progress));
  progress.phase('checking');
  const fetched = await repository.refs.list(aside);
  await checkFetched(job, fetched);
  const usable = fetched.filter(({ name }) => isUsable(shortName(name)));
  await checkIncoming({ processes, gitDir, env: {}, signal }, usable.map(tipOf), { scope: 'held' }, limits);
  signal.throwIfAborted();
  progress.phase('finishing');
  return { ...(await publish(job, fetched, remote.head)), left_out: leftOut(source, remote) };
}

/** @throws DomainError `not_found` naming the first branch that the source does not have */
function checkBranches({ branches = [] }: ImportSource, { refs }: Remote): void {
  const missing = branches.find((branch) => !refs.has(`refs/heads/${branch}`));
  if (missing !== undefined) throw new DomainError('not_found', `branches: the source has no branch ${missing}`);
}

/** How many refs of the source are to be fetched. */
const wantedOf = ({ branches }: ImportSource, { refs }: Remote): number =>
  branches ? new Set(branches).size : [...refs].filter((ref) => /^refs\/(?:heads|tags)\//.test(ref)).length;

/** @throws DomainError `too_large` for more refs than another host may send; a path is the operator's own */
function checkCount({ source, upstream }: Pick<Import, 'source' | 'upstream'>, count: number): void {
  const most = mostFetchedRefs(upstream);
  if (source.kind === 'path' || count <= most) return;
  throw new DomainError(
    'too_large',
    `The source has more than ${most.toLocaleString('en')} branches and tags to import; delete some there, or name the branches to import`,
  );
}

/** Counts what was fetched without names of branches: the source may have listed fewer. @throws DomainError `too_large` */
async function checkFetched(job: Import, fetched: readonly Ref[]): Promise<void> {
  if (job.source.branches !== undefined) return;
  try {
    checkCount(job, fetched.length);
  } catch (error) {
    await dropAside(job);
    throw error;
  }
}

const isUsable = (name: string) => newRefNameProblem(name) === null;

/** Requested refs of the source whose names are not allowed here. */
function leftOut({ branches }: ImportSource, { refs }: Remote): string[] {
  const wanted = branches && new Set(branches.map((branch) => `refs/heads/${branch}`));
  return [...refs].filter((ref) => {
    const name = /^refs\/(?:heads|tags)\/(.*)$/su.exec(ref)?.[1];
    return name !== undefined && !isUsable(name) && (wanted?.has(ref) ?? true);
  });
}

/** What is fetched of a source: its branches and tags, or the branches it names. */
function refspecs({ branches }: ImportSource): string[] {
  if (branches === undefined) return [`+refs/heads/*:${aside}/heads/*`, `+refs/tags/*:${aside}/tags/*`];
  return [...new Set(branches)].map((branch) => `+refs/heads/${branch}:${aside}/heads/${branch}`);
}

function spawnOptions({ source: { signal, kind }, upstream }: Import, way: Reach): SpawnOptions {
  const { fetchCpu: cpu } = upstream;
  const options = { ...(signal !== undefined && { signal }), ...(cpu !== undefined && { cpu }) };
  // A path is the operator's own.
  const bound = kind === 'path' ? {} : { mostFile: mostFetched(upstream), outgoing: true };
  return { config: way.config, env: way.env, timeout: wallTime.fetch, ...bound, ...options };
}

/** The source's default branch and hash, from `ls-remote --symref`: lines `ref: <target> TAB HEAD` and `<oid> TAB <ref>`. */
async function askRemote(job: Import, way: Reach): Promise<Remote> {
  const options = { ...spawnOptions(job, way), timeout: wallTime.read, mostOutput: mostRefs };
  const { code, stdout, stderr } = await job.processes.runNow(
    ['ls-remote', '--symref', '--end-of-options', way.url],
    options,
  );
  if (code !== 0) throw failed(job, stderr);
  const text = stdout.toString('utf8');
  const oid = text.split('\n').find((line) => isOid(line.split('\t')[0] ?? ''));
  const names = text.split('\n').flatMap((line) => line.split('\t')[1] ?? []);
  const head = /^ref: refs\/heads\/(.+)\tHEAD$/m.exec(text)?.[1];
  return {
    // What a tag leads to has a line of its own.
    refs: new Set(names.filter((name) => !name.endsWith('^{}'))),
    format: oid === undefined ? 'sha1' : formatOf(oid.split('\t')[0] ?? ''),
    head: head !== undefined && isUsable(head) ? head : null,
  };
}

/** An empty repository of the source's format; one that an earlier attempt left is used again with what it has received. */
async function prepare(repository: GitRepository, remote: Remote): Promise<void> {
  const { gitDir } = repository;
  const head = remote.head ?? 'main';
  if (await hasLayout(gitDir)) {
    if (!(await isEmpty(gitDir))) throw notEmpty();
    if ((await readFormat(gitDir)) === remote.format) return;
    if (!(await replaceLayout(gitDir, head, remote.format, isEmpty))) throw notEmpty();
  } else await createLayout(gitDir, head, remote.format);
}

const notEmpty = (cause?: unknown) => new DomainError('already_exists', 'The repository is not empty', { cause });

/** Of a branch that git does not make, since the source has no commit there; null: something else was refused. */
function withoutCommit(cause: unknown): DomainError | null {
  const branch = /non-commit object [0-9a-f]+ to branch 'refs\/heads\/(.+)'/.exec(String(cause))?.[1];
  if (branch === undefined) return null;
  return new DomainError('validation_failed', `The branch ${branch} of the source holds no commit`, { cause });
}

async function isEmpty(gitDir: string): Promise<boolean> {
  const refs = new RefFiles(gitDir);
  return (await refs.list('refs/heads')).length === 0 && (await refs.list('refs/tags')).length === 0;
}

async function fetchAside(job: Import, way: Reach, progress: ProgressReader): Promise<void> {
  const { gitDir } = job.repository;
  const options = spawnOptions(job, way);
  const { code, stderr } = await job.processes.runNow(
    [
      'fetch',
      '--progress',
      '--prune',
      '--no-tags',
      '--no-write-fetch-head',
      '--no-auto-maintenance',
      '--no-recurse-submodules',
      '--end-of-options',
      way.url,
      ...refspecs(job.source),
    ],
    {
      ...options,
      gitDir,
      config: [...(options.config ?? []), ...incomingObjects('fetch')],
      onStderr: (text) => progress.read(text),
    },
  );
  if (code !== 0) throw failed(job, stderr);
  if (progress.passedOver !== null) throw failed(job, progress.passedOver);
}

/** git's words go to the log; the caller gets ours. */
function failed({ source, log }: Import, stderr: string): DomainError {
  log.warn({ stderr }, 'a repository could not be imported');
  if (isStorageFull(stderr)) return storageFull(new Error(stderr));
  if (isIncomplete(stderr)) return new DomainError('validation_failed', `The source ${incomplete}`);
  if (isDamage(stderr)) return new DomainError('validation_failed', 'The source contains damaged or unsafe objects');
  if (source.kind === 'path')
    return new DomainError('invalid_request', 'url: there is no readable git repository at this path');
  return upstreamError(failureOf(stderr));
}

/** Of a branch or tag that waits aside. */
const shortName = (name: string) => name.slice(aside.length).replace(/^\/(?:heads|tags)\//, '');

function tipOf({ name, oid }: Ref): Tip {
  return { name: shortName(name), oid };
}

/** All refs appear in one transaction. HEAD is set first: until a branch exists it only names the first one. */
async function publish(job: Import, fetched: readonly Ref[], head: string | null): Promise<Omit<Imported, 'left_out'>> {
  const { repository, source } = job;
  const { gitDir } = repository;
  // An earlier attempt may have fetched refs that are no longer wanted.
  const names = source.branches && new Set(source.branches.map((branch) => `${aside}/heads/${branch}`));
  const wanted = fetched.filter(({ name }) => isUsable(shortName(name)) && (names?.has(name) ?? true));
  const branches = wanted.filter(({ name }) => name.startsWith(`${aside}/heads/`)).map(({ name }) => shortName(name));
  const likely = source.branches ?? ['main', 'master', ...branches];
  const chosen = [head, ...likely].find((name) => name != null && branches.includes(name));
  const default_branch = chosen ?? head ?? 'main';
  const before = await repository.defaultBranch();
  await repository.setDefaultBranch(default_branch);
  if (fetched.length > 0) {
    const moves = [
      ...wanted.map(({ name, oid }) => ({ ref: `refs${name.slice(aside.length)}`, to: oid, from: null })),
      ...wanted.map(({ name, oid }) => ({ ref: name, to: null, from: oid })),
    ];
    await repository.updater.commit(moves).catch(async (cause: unknown) => {
      await repository.setDefaultBranch(before);
      throw (await isEmpty(gitDir)) ? (withoutCommit(cause) ?? cause) : notEmpty(cause);
    });
    await tidy(job);
    await syncDirectories([gitDir, join(gitDir, 'refs/heads'), join(gitDir, 'refs/tags')]);
  }
  return { default_branch, branches: branches.length };
}

/** What may take long, and fail, when all is imported already. */
async function tidy(job: Import): Promise<void> {
  const { processes, repository, log } = job;
  try {
    await dropAside(job);
    // Thousands of branches are one file then, not thousands.
    await processes.output(['pack-refs', '--all'], { gitDir: repository.gitDir, timeout: wallTime.fetch });
  } catch (err) {
    log.warn({ err }, 'the refs of an import were not packed');
  }
}

/** Removes unwanted refs. By git alone: names that are no UTF-8 pass through as their bytes. */
async function dropAside({ processes, repository: { gitDir } }: Import): Promise<void> {
  const options = { gitDir, timeout: wallTime.fetch };
  const input = await processes.output(['for-each-ref', '--format=delete %(refname)', aside], options);
  if (input.length > 0) await processes.output(['update-ref', '--stdin'], { ...options, input });
}
